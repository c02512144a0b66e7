// Uses a cloud through each proxy of deploy/proxy as people and their devices do.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { People, until } from "../people.mjs";
import { proxies } from "./proxies.mjs";
import { removeFolder } from "../folders.mjs";

const program = resolve(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "check-proxies-"));
const container = "iCloud.com.example.notes";
const host = "cloud.example.com";
const fileBytes = 48_000_000;
const authority = `${folder}/authority.pem`;
/** What is ended at the end, the last first. */
const running = [];
const say = (text) => console.log(`  ${text}`);
setTimeout(() => finish(new Error("nothing happened for ten minutes")), 600_000).unref();

async function finish(error) {
  if (error) console.error(error);
  for (const end of running.reverse()) await end();
  removeFolder(folder);
  process.exit(error ? 1 : 0);
}

/** Starts a proxy; its `output` is everything that it prints. */
function start(command, words, env) {
  const child = spawn(command, words, { env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((done) => child.once("exit", done));
  running.push(() => { child.kill(); return ended; });
  child.output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => { child.output += part; });
  return child;
}

/** Returns a port that nothing listens on. */
async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Makes an authority and a certificate of the host; browsers and devices get such certificates by ACME. */
function makeCertificate() {
  const openssl = (...words) => execFileSync("openssl", words, { stdio: "ignore" });
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  openssl("req", "-x509", ...curve, "-subj", "/CN=Test authority", "-keyout", `${folder}/authority.key`, "-out", authority);
  openssl("req", ...curve, "-subj", `/CN=${host}`, "-keyout", `${folder}/privkey.pem`, "-out", `${folder}/request.pem`);
  writeFileSync(`${folder}/names`, "subjectAltName=DNS:localhost,IP:127.0.0.1");
  openssl(
    "x509", "-req", "-in", `${folder}/request.pem`, "-CA", authority, "-CAkey", `${folder}/authority.key`, "-CAcreateserial",
    "-days", "2", "-extfile", `${folder}/names`, "-out", `${folder}/fullchain.pem`);
}

/** Sends a request through the proxy; resolves with status, headers and body. */
function send(address, { method = "POST", headers = {}, body } = {}) {
  return new Promise((done, fail) => {
    const request = httpsRequest(address, { method, headers, ca: readFileSync(authority) }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }));
      answer.on("error", fail);
    });
    request.on("error", fail);
    request.end(body);
  });
}

async function check(name, proxy) {
  console.log(`\n${name}`);
  const port = await freePort();
  const base = `https://localhost:${port}`;
  const people = new People(program, undefined, container, {
    endpoint: base, serve: ["--behind-proxy", "--public-url", base], variables: { CLOUDKIT_CA_FILE: authority },
  });
  running.push(() => people.end());
  await people.start();
  const places = { folder, host, port, cloudPort: new URL(people.base).port };
  const server = start(...proxy.command(places), people.variables);
  await until("the proxy", async () => {
    assert.equal(server.exitCode, null, server.output);
    return send(`${base}/health`, { method: "GET" }).then((answer) => answer.status === 200, () => false);
  });
  say("GET /health is 200 over HTTPS");

  people.add("ada", "phone", "laptop");
  say("the framework signs two devices in");

  const ask = async (device, path, body) => {
    const answer = await send(`${base}${path}?${people.tokens(device)}`, {
      headers: { "Content-Type": "application/json", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http" },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200, answer.body.toString());
    return JSON.parse(answer.body);
  };
  const database = `/database/1/${container}/development/private`;
  const save = (record) => ask("phone", `${database}/records/modify`, { operations: [{ operationType: "create", record }] });
  const zone = { zoneName: "Notes" };
  await ask("phone", `${database}/zones/modify`, { operations: [{ operationType: "create", zone: { zoneID: zone } }] });
  await ask("laptop", `${database}/subscriptions/modify`, {
    operations: [{ operationType: "create", subscription: { subscriptionID: "all", subscriptionType: "zone", zoneID: zone } }],
  });
  const { webcourierURL } = await ask("laptop", `/device/1/${container}/development/tokens/create`, {
    apnsEnvironment: "development", clientId: "laptop",
  });
  assert(webcourierURL.startsWith(`${base}/courier/`), webcourierURL);

  const waiting = send(webcourierURL, { method: "GET" });
  await save({ recordName: "first", recordType: "Note", zoneID: zone, fields: { text: { value: "Hello" } } });
  const notification = await waiting;
  assert.equal(notification.status, 200);
  assert(notification.body.toString().includes("Notes"), notification.body.toString());
  say("a save on one device reaches another that waits");

  const file = randomBytes(fileBytes);
  const { tokens } = await ask("phone", `${database}/assets/upload`, {
    zoneID: zone, tokens: [{ recordType: "Note", recordName: "second", fieldName: "file" }],
  });
  // In pieces, as the framework sends large files.
  let offset = 0;
  let last;
  for (const end of [fileBytes / 3, (2 * fileBytes) / 3, fileBytes]) {
    last = await send(tokens[0].url, {
      method: "PATCH", body: file.subarray(offset, end),
      headers: { "Upload-Offset": String(offset), "Upload-Length": String(fileBytes), "Content-Length": String(end - offset) },
    });
    assert(last.status < 300, `${last.status} ${last.body}`);
    offset = end;
  }
  const { singleFile } = JSON.parse(last.body);
  await save({
    recordName: "second", recordType: "Note", zoneID: zone, fields: { file: { value: singleFile, type: "ASSETID" } },
  });
  const told = await send(webcourierURL, { method: "GET" });
  assert.equal(told.status, 200);
  const began = Date.now();
  const silence = send(webcourierURL, { method: "GET" }).then((answer) => ({ ...answer, seconds: (Date.now() - began) / 1000 }));
  const { records } = await ask("laptop", `${database}/records/lookup`, { zoneID: zone, records: [{ recordName: "second" }] });
  const { downloadURL } = records[0].fields.file.value;
  assert(downloadURL.startsWith(base), downloadURL);
  const loaded = await send(downloadURL.replace("${f}", "file"), { method: "GET" });
  const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
  assert.equal(digest(loaded.body), digest(file));
  const part = await send(downloadURL.replace("${f}", "file"), { method: "GET", headers: { Range: "bytes=1000-1999" } });
  assert.equal(part.status, 206);
  assert(part.body.equals(file.subarray(1000, 2000)));
  say(`a file of ${fileBytes / 1_000_000} MB goes up in pieces and comes down, whole and in part`);

  const refused = await send(`${base}${database}/records/lookup?ckAPIToken=wrong`, { body: "{}" });
  assert([401, 421].includes(refused.status), `${refused.status} ${refused.body}`);
  const answer = await silence;
  assert([200, 204].includes(answer.status), `${answer.status} ${answer.body}`);
  assert(answer.seconds > 20, `the silence ended after ${answer.seconds} s`);
  say(`a request that waits is answered after ${answer.seconds.toFixed(0)} s`);

  const log = proxy.logs(places).map((path) => readFileSync(path, "utf8")).join("");
  const secrets = ["phone", "laptop"].flatMap((device) => [...people.tokens(device).values()]);
  for (const secret of secrets) {
    for (const form of [secret, encodeURIComponent(secret), secret.slice(0, 24)]) {
      assert(!log.includes(form) && !server.output.includes(form), "the proxy logs a token");
    }
  }
  say(`the proxy's log has no token (${log.length} characters)`);

  await people.stopCloud();
  const down = await send(`${base}/health`, { method: "GET" });
  assert(down.status >= 502 && down.status <= 504, String(down.status));
  say(`without the cloud the proxy answers ${down.status}, which apps repeat`);
}

try {
  makeCertificate();
  for (const [name, proxy] of Object.entries(proxies)) await check(name, proxy);
  await finish();
} catch (error) {
  await finish(error);
}
