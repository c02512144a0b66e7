// Uses a cloud through each proxy of deploy/proxy as people and their devices do.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { until } from "../people.mjs";
import { proxies } from "./proxies.mjs";

const program = resolve(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "check-proxies-"));
const container = "iCloud.com.example.notes";
const email = "ada@example.com";
const host = "cloud.example.com";
const fileBytes = 48_000_000;
const authority = `${folder}/authority.pem`;
const variables = {
  ...process.env, XDG_DATA_HOME: `${folder}/share`, XDG_CONFIG_HOME: `${folder}/config`, HOME: folder, WELKIN_CONFIG: "",
  CLOUDKIT_CA_FILE: authority,
};
const running = [];
const say = (text) => console.log(`  ${text}`);
setTimeout(() => finish(new Error("nothing happened for ten minutes")), 600_000).unref();

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.kill();
  await ended;
}

async function finish(error) {
  if (error) console.error(error);
  for (const child of running.reverse()) await stop(child);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  process.exit(error ? 1 : 0);
}

function start(command, words, options = {}) {
  const child = spawn(command, words, { env: variables, stdio: ["ignore", "pipe", "pipe"], ...options });
  running.push(child);
  child.output = "";
  child.stdout.on("data", (part) => { child.output += part; });
  child.stderr.on("data", (part) => { child.output += part; });
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
  const [cloudPort, port] = [await freePort(), await freePort()];
  const base = `https://localhost:${port}`;
  const data = `${folder}/${name}-data`;
  const cloud = start(program, [
    "serve", "--data", data, "--port", String(cloudPort), "--behind-proxy", "--public-url", base, "--log-level", "warning",
  ]);
  await until("a listening cloud", () => cloud.output.includes("listening on "));
  const places = { folder, host, name, port, cloudPort, address: `http://127.0.0.1:${cloudPort}` };
  let server = start(...proxy.command(places));
  await until("the proxy", async () => {
    assert.equal(server.exitCode, null, server.output);
    return send(`${base}/health`, { method: "GET" }).then((answer) => answer.status === 200, () => false);
  });
  say("GET /health is 200 over HTTPS");

  const welkin = (...words) => execFileSync(program, words, { env: variables, stdio: ["ignore", "pipe", "pipe"] });
  const password = `${folder}/password`;
  writeFileSync(password, "correct horse battery\n", { mode: 0o600 });
  welkin("account", "add", email, "--password-file", password, "--data", data);
  const { token } = JSON.parse(welkin("token", "create", container, "--json", "--data", data));
  const devices = {};
  for (const device of ["phone", "laptop"]) {
    const profile = `${name}-${device}`;
    welkin(
      "login", "--endpoint", base, "--container", container, "--api-token", token, "--email", email, "--profile", profile,
      "--password-file", password);
    const credentials = JSON.parse(readFileSync(`${folder}/share/welkin/profiles/${profile}/credentials.json`));
    devices[device] = credentials.containers.find((entry) => entry.container === container).webAuthToken;
  }
  say("the framework signs two devices in");

  const ask = async (device, path, body) => {
    const query = new URLSearchParams({ ckAPIToken: token, ckWebAuthToken: devices[device] });
    const answer = await send(`${base}${path}?${query}`, {
      headers: { "Content-Type": "application/json", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http" },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200, answer.body.toString());
    return JSON.parse(answer.body);
  };
  const database = `/database/1/${container}/development/private`;
  const save = (record, type = "create") =>
    ask("phone", `${database}/records/modify`, { operations: [{ operationType: type, record }] });
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

  // The proxy replaces what clients say about addresses: otherwise anyone could pass for another in the limits of sign-ins.
  const log = proxy.logs(places).map((path) => readFileSync(path, "utf8")).join("");
  for (const secret of [token, devices.phone, devices.laptop]) {
    for (const form of [secret, encodeURIComponent(secret), secret.slice(0, 24)]) {
      assert(!log.includes(form) && !server.output.includes(form), "the proxy logs a token");
    }
  }
  say(`the proxy's log has no token (${log.length} characters)`);

  await stop(cloud);
  const down = await send(`${base}/health`, { method: "GET" });
  assert(down.status >= 502 && down.status <= 504, String(down.status));
  say(`without the cloud the proxy answers ${down.status}, which apps repeat`);
  await stop(server);
}

try {
  makeCertificate();
  for (const [name, proxy] of Object.entries(proxies)) await check(name, proxy);
  await finish();
} catch (error) {
  await finish(error);
}
