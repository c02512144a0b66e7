// Runs welkin.js, its encryption and the share page in Chromium, beside a device that runs the Swift framework.
//
// node check.mjs WELKIN BROWSER_PEER [--live] [--screenshots FOLDER] [PART…]
//   --live: takes the scripts from the sources, and not from the program, for work on them.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { createServer } from "node:http";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startBrowser } from "../web-push/browser.mjs";
import { checkAccess } from "./access.mjs";
import { checkAccount } from "./account.mjs";
import { checkApproval } from "./approval.mjs";
import { checkClient } from "./client.mjs";
import { checkEncryption } from "./encryption.mjs";
import { checkPasskeys } from "./passkeys.mjs";
import { checkReplay } from "./replay.mjs";
import { checkSharePage } from "./share-page.mjs";
import { checkStored } from "./stored.mjs";
import { checkWindow } from "./window.mjs";
import { removeFolder } from "../folders.mjs";

const words = process.argv.slice(2);
const isLive = words.includes("--live");
const folderOption = words.indexOf("--screenshots");
const screenshots = folderOption >= 0 ? resolve(words.splice(folderOption, 2)[1]) : null;
const [program, peerProgram, ...parts] = words.filter((word) => !word.startsWith("--"));
const sources = fileURLToPath(new URL("../../..", import.meta.url));
const content = join(sources, "Sources/CloudKitHTTP/Pages/Content");
const folder = mkdtempSync(join(tmpdir(), "check-browser-"));
const logFile = `${folder}/log`;
const container = "iCloud.com.example.browser";
const password = "correct horse battery";
const variables = { ...process.env, XDG_DATA_HOME: `${folder}/share`, XDG_CONFIG_HOME: `${folder}/config`, XDG_CACHE_HOME: `${folder}/cache`, HOME: folder };
writeFileSync(`${folder}/password`, password + "\n", { mode: 0o600 });

const say = (text) => console.log(`  ${text}`);
const running = [];
setTimeout(() => fail(new Error("the check takes longer than fifteen minutes")), 900_000).unref();

let report = () => {};
function fail(error) {
  console.error(error);
  report();
  finish(1);
}

async function stop(child) {
  const ended = new Promise((done) => child.once("exit", done));
  if (child.exitCode === null && child.kill()) await ended;
}

async function finish(status) {
  for (const child of running) await stop(child);
  removeFolder(folder);
  process.exit(status);
}

/** Waits for something to be true. */
async function until(what, look, tries = 400) {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const found = await look();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`this did not happen: ${what}`);
}

const onDevice = new Set(["login", "keychain", "share", "status"]);
const welkin = (...given) =>
  execFileSync(resolve(program), [...given, ...(onDevice.has(given[0]) ? [] : ["--data", `${folder}/data`])], { env: variables, encoding: "utf8" });

async function startCloud(port = 0, ...options) {
  const log = openSync(logFile, "a");
  const cloud = spawn(resolve(program), ["serve", "--data", `${folder}/data`, "--port", String(port), "--log-level", "trace", ...options], { env: variables, stdio: ["ignore", "pipe", log] });
  closeSync(log);
  running.push(cloud);
  let output = "";
  cloud.stdout.on("data", (part) => { output += part; });
  const base = await until("a listening cloud", () => output.match(/listening on (\S+)/)?.[1]);
  return { cloud, base };
}

/** A device with the Swift framework. */
function startPeer(environment) {
  const peer = spawn(resolve(peerProgram), [], { env: { ...variables, ...environment }, stdio: ["pipe", "pipe", "inherit"] });
  running.push(peer);
  const waiting = [];
  let rest = "";
  peer.stdout.on("data", (part) => {
    const lines = (rest + part).split("\n");
    rest = lines.pop();
    for (const line of lines) waiting.shift()(JSON.parse(line));
  });
  peer.on("exit", () => waiting.splice(0).forEach((done) => done({ error: "the device ended" })));
  return async (...command) => {
    const answer = await new Promise((done) => {
      waiting.push(done);
      peer.stdin.write(`${command.join("\t")}\n`);
    });
    if (answer.error) throw new Error(`${command[0]}: ${answer.error}`);
    return answer;
  };
}

/** Pages of another origin than the cloud's. */
async function startApp(host = "127.0.0.1") {
  const server = createServer((request, response) => {
    const isScript = ["/vectors.mjs", "/access-page.mjs"].includes(request.url);
    const file = isScript && join(sources, "script/support/browser", request.url);
    response.setHeader("Content-Type", file ? "text/javascript" : "text/html");
    response.end(file ? readFileSync(file) : "<!doctype html><title>App</title><link rel=icon href=data:,><div id=apple-sign-in-button></div><div id=apple-sign-out-button></div>");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref();
  return `http://${host}:${server.address().port}`;
}

/** Opens pages, and notes what they request and report. */
function pages(browser, base) {
  const seen = { requests: [], problems: [], failures: [] };
  const scripts = Object.fromEntries(readdirSync(content).filter((name) => /\.(js|css)$/.test(name)).map((name) => [name, name]));
  async function answerLive({ requestId, request, responseStatusCode, responseHeaders }, call) {
    const name = scripts[new URL(request.url).pathname.split("/").at(-1)];
    if (responseStatusCode === undefined || (!name && !/\/share\/|\/account$/.test(request.url))) return call("Fetch.continueRequest", { requestId });
    let body;
    if (name) {
      body = readFileSync(join(content, name));
    } else {
      const answer = await call("Fetch.getResponseBody", { requestId });
      body = Buffer.from(Buffer.from(answer.body, answer.base64Encoded ? "base64" : "utf8").toString().replaceAll(/ integrity="[^"]*"/g, ""));
    }
    const headers = responseHeaders.filter((header) => !/content-length/i.test(header.name));
    return call("Fetch.fulfillRequest", { requestId, responseCode: responseStatusCode, responseHeaders: headers, body: body.toString("base64") });
  }
  async function open(url, { context, width = 1280, height = 900, isDark = false, origin } = {}) {
    const page = await browser.open(url, {
      browserContextId: context,
      prepare: async (call) => {
        await call("Network.enable", { maxPostDataSize: 1 << 24 });
        await call("Runtime.enable");
        await call("Log.enable");
        await call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 500 });
        await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: isDark ? "dark" : "light" }] });
        if (isLive) {
          const hosts = ["127.0.0.1", "localhost", "cloud.test"].map((host) => base.replace("127.0.0.1", host));
          const paths = ["welkin/*", "style.css", "sign-in.js", "share/*", "account"];
          await call("Fetch.enable", { patterns: hosts.flatMap((host) => paths.map((path) => ({ urlPattern: `${host}/${path}`, requestStage: "Response" }))) });
        }
      },
      watch: ({ method, params }, call) => {
        if (method === "Fetch.requestPaused") answerLive(params, call).catch((error) => seen.problems.push(String(error)));
        if (method === "Network.loadingFailed" && !params.canceled) seen.failures.push(`${params.errorText} ${params.blockedReason ?? ""} ${params.corsErrorStatus?.corsError ?? ""}`);
        if (method === "Network.requestWillBeSent") seen.requests.push({ url: params.request.url, headers: JSON.stringify(params.request.headers), body: params.request.postData || "", fragment: params.request.urlFragment });
        if (method === "Runtime.exceptionThrown") seen.problems.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
        if (method === "Runtime.consoleAPICalled" && params.type === "error") seen.problems.push(JSON.stringify(params.args));
        // A refusal of the cloud is expected where a check asks for one; the browser reports each.
        if (method === "Log.entryAdded" && params.entry.level === "error" && params.entry.source !== "network") seen.problems.push(params.entry.text);
      },
    });
    void origin;
    return page;
  }
  const shoot = async (page, name, isWhole = true) => {
    if (!screenshots) return;
    mkdirSync(screenshots, { recursive: true });
    const { data } = await page.call("Page.captureScreenshot", { captureBeyondViewport: isWhole });
    writeFileSync(join(screenshots, `${name}.png`), Buffer.from(data, "base64"));
  };
  return { open, shoot, seen };
}

async function main() {
  const started = Date.now();
  let { base, cloud } = await startCloud();
  /** Stops the cloud, and starts it again on its port after a step. */
  const restart = async (meanwhile) => {
    await stop(cloud);
    await meanwhile();
    ({ cloud } = await startCloud(new URL(base).port));
  };
  const app = await startApp();
  const people = { ada: "ada@example.com", grace: "grace@example.com", mary: "mary@example.com", eve: "eve@example.com" };
  for (const [name, email] of Object.entries(people)) {
    welkin("account", "add", email, "--name", { ada: "Ada Lovelace", grace: "Grace Hopper", mary: "Mary Shelley", eve: "Eve" }[name], "--password-file", `${folder}/password`);
  }
  const { token } = JSON.parse(welkin("token", "create", container, "--origin", app, "--json"));
  const device = (name) => ["--endpoint", base, "--container", container, "--profile", name];
  for (const [name, email] of Object.entries(people)) {
    welkin("login", ...device(name), "--api-token", token, "--email", email, "--password-file", `${folder}/password`);
  }
  const environment = (profile) => ({ CLOUDKIT_ENDPOINT: base, CLOUDKIT_CONTAINER: container, CLOUDKIT_ENVIRONMENT: "development", CLOUDKIT_API_TOKEN: token, CLOUDKIT_PROFILE: profile });
  say(`a cloud, four accounts, each with a device (${Math.round((Date.now() - started) / 1000)} seconds)`);

  const browser = startBrowser(folder, ["--disable-background-networking", "--host-resolver-rules=MAP cloud.test 127.0.0.1", "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"]);
  running.push(browser.process);
  const context = async () => (await browser.send("Target.createBrowserContext")).browserContextId;
  const { open, shoot, seen } = pages(browser, base);
  report = () => console.error(readFileSync(logFile, "utf8").split("\n").filter((line) => / (warning|error|critical) /.test(line)).slice(-20).join("\n"), { problems: seen.problems, failures: seen.failures, last: seen.requests.slice(-8).map(({ url }) => url) });
  const check = {
    assert, browser, isLive, base, restart, secrets: new Set([password]), startApp, variables, app, token, container, people, password, say, until, welkin, device, open, shoot, seen, context, folder, logFile, running, startCloud, program: resolve(program), operator: welkin,
    ada: startPeer(environment("ada")), sources, readFileSync,
    peer: (profile, endpoint = base) => startPeer({ ...environment(profile), CLOUDKIT_ENDPOINT: endpoint }),
    /** Signs a further device of Ada's in, by another address of the cloud. */
    signInDevice: (profile, endpoint) => promisify(execFile)(
      resolve(program), ["login", "--endpoint", endpoint, "--container", container, "--profile", profile, "--api-token", token, "--email", people.ada, "--password-file", `${folder}/password`], { env: variables }),
    /** A page of another origin with welkin.js, `kit`, and its encryption, `encryption`. */
    async appPage(pageContext) {
      const page = await open(`${app}/`, { context: pageContext });
      await page.run(`{
        window.library = await import("${base}/welkin/1/welkin.js");
        window.encryption = await import("${base}/welkin/1/welkin-encryption.js");
        window.setUp = (more = {}) => {
          library.CloudKit.configure({ endpoint: "${base}", containers: [{ containerIdentifier: "${container}", environment: "development", apiTokenAuth: { apiToken: "${token}" }, ...more }] });
          window.container = library.CloudKit.getDefaultContainer();
          window.db = container.privateCloudDatabase;
          return container;
        };
        window.failure = async (promise) => promise.then(() => "no error", (error) => error.ckErrorCode || String(error));
      }`);
      return page;
    },
    signIn: (page, email, more = "{ encryption }") => page.run(`{
      setUp(${more});
      await container.signIn({ email: ${JSON.stringify(email)}, password: ${JSON.stringify(password)} });
      return { user: container._connection.user.userRecordName, hasKeys: container.hasKeys };
    }`),
  };
  const all = { client: checkClient, replay: checkReplay, encryption: checkEncryption, window: checkWindow, share: checkSharePage, access: checkAccess, account: checkAccount, passkeys: checkPasskeys, approval: checkApproval };
  for (const [name, body] of Object.entries(all)) {
    if (parts.length > 0 && !parts.includes(name)) continue;
    await body(check);
    assert.deepEqual(seen.problems, [], "the pages reported errors");
  }
  await stop(cloud);
  checkStored(check);
  say(`${seen.requests.length} requests seen, ${Math.round((Date.now() - started) / 1000)} seconds`);
}

await main().then(() => finish(0), fail);
