// People who sign in at a provider of identities: their first account, their keys, an account that is connected, and what others try.
//
// node provider.mjs WELKIN PROVIDER [FOLDER]
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { startBrowser } from "../web-push/browser.mjs";
import { People, until } from "../people.mjs";
import { addAuthenticator } from "./passkeys.mjs";
import { personAt } from "./person.mjs";
import { filesOf } from "./stored.mjs";
import { terminalAt } from "./terminal.mjs";

const [program, providerProgram, pictures] = process.argv.slice(2);
const container = "iCloud.com.example.provider";
const password = "correct horse battery";
const say = (text) => console.log(`  ${text}`);
if (pictures) mkdirSync(pictures, { recursive: true });

const freePort = () => new Promise((done) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => done(port));
  });
});

const claims = {
  "ada-at-work": { email: "ada@example.com", email_verified: true, name: "Ada Lovelace" },
  "eve-at-work": { email: "grace@example.com", email_verified: true, name: "Eve" },
  "zoe-at-work": {},
  "kim-at-work": {},
};
const [port, providerPort] = [await freePort(), await freePort()];
const base = `http://localhost:${port}`;
const issuer = `http://127.0.0.1:${providerPort}`;
const people = new People(resolve(program), "", container, { variables: {} });
const { folder } = people;
writeFileSync(`${folder}/secret`, "the-clouds-secret-at-the-provider\n", { mode: 0o600 });
people.serve = ["--public-url", base, "--oidc-issuer", issuer, "--oidc-client-id", "welkin", "--oidc-client-secret-file", `${folder}/secret`, "--oidc-name", "Example Work"];
people.base = `http://127.0.0.1:${port}`;
setTimeout(() => fail(new Error("the check takes longer than ten minutes")), 600_000).unref();

async function fail(error) {
  console.error(error);
  await people.end();
  process.exit(1);
}

async function main() {
  const provider = spawn(resolve(providerProgram), ["--port", String(providerPort), ...Object.entries(claims).flatMap(([sub, more]) => ["--user-claims", JSON.stringify({ sub, ...more })])],
    { stdio: ["ignore", "ignore", "ignore"], env: { ...process.env, PYTHONWARNINGS: "ignore" } });
  people.running.push(provider);
  await until("a provider", () => fetch(`${issuer}/.well-known/openid-configuration`).then(({ ok }) => ok, () => false));
  await people.start();
  people.operator("account", "add", "grace@example.com", "--password-file", `${folder}/password`);
  const token = people.variables.CLOUDKIT_API_TOKEN;

  const browser = startBrowser(folder, ["--disable-background-networking"]);
  people.running.push(browser.process);
  const seen = [];
  const problems = [];
  async function open(url, { width = 1280, isDark = false } = {}) {
    const { browserContextId } = await browser.send("Target.createBrowserContext");
    return browser.open(url, {
      browserContextId,
      prepare: async (call) => {
        await call("Network.enable", { maxPostDataSize: 1 << 24 });
        await call("Runtime.enable");
        await call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 });
        await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: isDark ? "dark" : "light" }] });
      },
      watch: ({ method, params }) => {
        if (method === "Network.requestWillBeSent") seen.push({ url: params.request.url, body: params.request.postData || "" });
        if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
      },
    });
  }
  const shoot = async (page, name) => {
    if (!pictures) return;
    const { data } = await page.call("Page.captureScreenshot", { captureBeyondViewport: true });
    writeFileSync(join(pictures, `${name}.png`), Buffer.from(data, "base64"));
  };
  const { text, message, shows, says, click, signIn, ...person } = personAt({ until, password });
  const submit = async (page, id, values) => {
    await until(`the form ${id}`, () => page.run(`Boolean(document.getElementById(${JSON.stringify(id)}))`).catch(() => false));
    await person.submit(page, id, values);
  };
  const isReady = (page) => until("all parts", () => page.run(`document.querySelectorAll("#shares h3").length === 2`).catch(() => false)).catch(async (error) => {
    throw new Error(`${error.message}; it says: ${await message(page)}; it shows: ${await text(page)}`);
  });
  /** Goes to the provider, signs in there as one of its people, and comes back. */
  async function through(page, subject, back = "/account") {
    await until("the button", () => page.run(`Boolean(document.getElementById("use-provider"))`).catch(() => false));
    await click(page, "#use-provider");
    await until("the provider", () => page.run(`location.origin === ${JSON.stringify(issuer)} && Boolean(document.querySelector("[name=sub]"))`).catch(() => false));
    await page.run(`{ const field = document.querySelector("[name=sub]"); field.value = ${JSON.stringify(subject)}; field.form.requestSubmit() }`);
    await until("the way back", () => page.run(`location.origin === ${JSON.stringify(base)} && location.pathname === ${JSON.stringify(back)} && document.readyState === "complete"`).catch(() => false));
  }

  // The first sign-in makes the account, and its keys, in the page.
  let page = await open(`${base}/account`);
  await addAuthenticator(page, true);
  await through(page, "ada-at-work");
  await shows(page, "Example Work knows you as ada@example.com");
  await shoot(page, "provider-1-newcomer-1280-light");
  await submit(page, "make-account", {});
  await until("the words", () => page.run(`document.querySelectorAll("#words-made li").length === 12`).catch(() => false));
  const words = await page.run(`[...document.querySelectorAll("#words-made li")].map((item) => item.textContent).join(" ")`);
  await isReady(page);
  await shows(page, "ada@example.com is proved to be yours");
  await shoot(page, "provider-2-words-1280-light");
  await click(page, "#words-done");
  await submit(page, "add-passkey", { name: "Laptop" });
  await says(page, /opens your encrypted data/);
  say("a person of the provider made an account: keys and words in the page, a passkey without typing anything");

  // The provider's word opens nothing; the passkey and the words do.
  await click(page, "#sign-out");
  await says(page, /signed out/);
  await through(page, "ada-at-work");
  await shows(page, "what signed you in computes no key");
  await shoot(page, "provider-3-without-keys-1280-light");
  await submit(page, "open-keys", {});
  await says(page, /Your encrypted data is open in this page/);
  await submit(page, "change-password", { wanted: password, again: password });
  await says(page, /The password is set/);
  people.variables.CLOUDKIT_ENDPOINT = people.base;
  const login = execFileSync(resolve(program), ["login", "--endpoint", people.base, "--container", container, "--api-token", token, "--email", "ada@example.com", "--profile", "ada", "--password-file", `${folder}/password`, "--json"],
    { env: people.variables, encoding: "utf8" });
  assert.doesNotMatch(login, /recoveryWords/, "the device opened the keys that the page had made");
  await page.close();

  page = await open(`${base}/account`, { width: 390, isDark: true });
  await through(page, "ada-at-work");
  await submit(page, "open-keys", { agreed: "wrong" });
  await says(page, /does not open with this password|Wrong password/);
  await submit(page, "open-keys", { agreed: password });
  await says(page, /Your encrypted data is open in this page/);
  await shoot(page, "provider-4-390-dark");
  assert.ok(await page.run(`document.documentElement.scrollWidth <= innerWidth`), "nothing is wider than the page");
  await page.close();
  say("the word of the provider signs in and opens nothing; passkey and password open, also on a device");

  // An address leads to nobody's account; its owner connects the provider.
  page = await open(`${base}/account`);
  await through(page, "eve-at-work");
  await submit(page, "make-account", {});
  await says(page, /There is an account for this address already/);
  await click(page, "#connect-own");
  await signIn(page, "grace@example.com");
  await isReady(page);
  await shows(page, "You came back from Example Work");
  await submit(page, "connect", { agreed: "wrong" });
  await says(page, /Wrong password/);
  await submit(page, "connect", { agreed: password });
  await says(page, /You can sign in with Example Work from now on/);
  await click(page, "#sign-out");
  await says(page, /signed out/);
  await through(page, "eve-at-work");
  await isReady(page);
  await shows(page, "Signed in as grace@example.com");
  await page.close();
  // A person without an address types one, which is not proved.
  page = await open(`${base}/account`);
  await through(page, "zoe-at-work");
  await submit(page, "make-account", { email: "zoe@example.com", name: "Zoe" });
  await until("the words", () => page.run(`document.querySelectorAll("#words-made li").length === 12`).catch(() => false));
  await isReady(page);
  say("an address of another's account leads to nothing; its owner connects the provider; a person without an address");

  // Another browser of this person, who has no password, gets the keys from the first one.
  const other = await open(`${base}/account`, { width: 390 });
  await through(other, "zoe-at-work");
  await isReady(other);
  await shows(other, "what signed you in computes no key");
  await click(other, "#ask-device");
  await says(other, /Waiting for the other device/);
  await click(page, "#look-again");
  await until("the request", () => page.run(`Boolean(document.querySelector("#devices article button"))`));
  await click(page, "#devices article button");
  await submit(page, "agree-approval", {});
  const shownCode = async (from, part) => {
    await until("a code", () => from.run(`Boolean(document.querySelector("#${part} .code"))`));
    return from.run(`document.querySelector("#${part} .code").textContent`);
  };
  await submit(page, "type-code", { digits: await shownCode(other, "open") });
  await submit(other, "confirm-keys", { digits: await shownCode(page, "devices") });
  await says(other, /Your encrypted data is open in this page/);
  await says(page, /has opened your keys/);
  await shoot(other, "provider-5-keys-from-another-browser-390-light");
  await other.close();
  await page.close();
  say("a browser of a person without a password got the keys from another one");

  // The window of an app, and what was not begun here.
  page = await open(`${base}/sign-in?container=${container}&environment=development&ckAPIToken=${token}`);
  await through(page, "ada-at-work", "/sign-in");
  await says(page, /You are signed in/);
  await page.close();
  page = await open(`${base}/provider?code=stolen&state=stolen`);
  await says(page, /not begun in this tab/);
  assert.equal(await page.run(`location.search`), "", "the code is not in the address");
  await page.close();
  page = await open(`${base}/account`);
  await until("the button", () => page.run(`Boolean(document.getElementById("use-provider"))`));
  await click(page, "#use-provider");
  await until("the provider", () => page.run(`Boolean(document.querySelector("[value=deny]"))`).catch(() => false));
  await click(page, "[value=deny]");
  await says(page, /Example Work did not sign you in \(access_denied\)/);
  await page.close();
  say("the window of an app; a code from elsewhere and a refusal say so");

  // Devices: the browser comes back to a program, and another device gives the keys.
  const terminal = terminalAt({ program: resolve(program), variables: () => people.variables, running: people.running, until });
  const failed = (device, pattern) => device.fails(pattern);
  const succeeded = async (device, pattern) => assert.ok(!(await device.succeeds(pattern)).includes(words), "recovery words are shown");
  /** Follows the address that a program shows, and signs in or refuses there. */
  const visit = async (device, subject) => {
    const [url] = await device.shows(/https?:\/\/\S+state=\S+/);
    // The provider of this check leaves out the state when it refuses (RFC 6749, §4.1.2.1, requires it).
    const refusal = new URLSearchParams({ error: "access_denied", state: new URL(url).searchParams.get("state") });
    const browsing = await open(subject ? url : `${base}/provider?${refusal}`);
    if (subject) {
      await until("the provider", () => browsing.run(`Boolean(document.querySelector("[name=sub]"))`).catch(() => false));
      await browsing.run(`{ const field = document.querySelector("[name=sub]"); field.value = ${JSON.stringify(subject)}; field.form.requestSubmit() }`);
    }
    let shown = "";
    const isOver = async () => (shown = await browsing.run(`location + " " + document.body.textContent`).catch(String)).includes("Go on in the terminal");
    await until("the end in the browser", isOver).catch((error) => { throw new Error(`${error.message}; the page shows: ${shown.replace(/\s+/g, " ").slice(0, 500)}`); });
    await browsing.close();
    return new URL(url);
  };
  await failed(terminal("x", "login"), /Give --email, or --provider/);
  await failed(terminal("x", "login", "--provider", "--email", "ada@example.com"), /Give --email, or --provider/);
  await failed(terminal("x", "login", "--email", "ada@example.com", "--without-keys"), /need --provider/);
  let device = terminal("x", "login", "--provider");
  await visit(device, null);
  await failed(device, /did not sign you in \(access_denied\)/);
  device = terminal("x", "login", "--provider");
  await visit(device, "kim-at-work");
  await failed(device, /no account at this cloud yet/);
  // Others on the machine bring nothing, and do not end the waiting.
  device = terminal("tablet", "login", "--provider", "--without-keys");
  const [departure] = await device.shows(/https?:\/\/\S+state=\S+/);
  const state = new URL(departure).searchParams.get("state");
  const returning = `http://127.0.0.1:${state.split("~")[1]}`;
  for (const path of ["/", "/?state=other&code=stolen", `/?state=${encodeURIComponent(state)}&state=other&code=stolen`, `/other?state=${encodeURIComponent(state)}&code=stolen`]) {
    assert.equal((await fetch(returning + path)).status, 404, path);
  }
  await visit(device, "ada-at-work");
  await succeeded(device, /ada@example.com/);
  device = terminal("x", "login", "--provider", "--without-keys");
  const forged = new URL((await device.shows(/https?:\/\/\S+state=\S+/))[0]).searchParams.get("state");
  assert.equal((await fetch(`http://127.0.0.1:${forged.split("~")[1]}/?${new URLSearchParams({ state: forged, code: "stolen" })}`)).status, 200);
  await failed(device, /./);
  say("welkin login --provider: signed in through the browser; a refusal, a stranger, other states and a stolen code say so");

  // Keys from the device that has them.
  await failed(terminal("ada", "devices", "approve"), /No device waits/);
  device = terminal("tablet", "keychain", "request");
  await device.shows(/Approve on a device/);
  let giver = terminal("ada", "devices", "approve");
  const code = (await device.shows(/Type there: (\d{3} \d{3})/))[1];
  await giver.shows(/The code that .* shows: /);
  giver.type("000");
  giver.type(code);
  const confirmation = (await giver.shows(/Type there: (\d{3} \d{3})/))[1];
  await device.shows(/shows now: /);
  device.type(confirmation.replace(" ", ""));
  await succeeded(device, /open here/);
  await succeeded(giver, /has opened the keys/);
  await failed(terminal("tablet", "keychain", "request"), /has the account's keys already/);
  // Sign-in and approval in one; a refusal; a wrong code on either side.
  device = terminal("phone", "login", "--provider");
  await visit(device, "ada-at-work");
  await device.shows(/Approve on a device/);
  await succeeded(terminal("tablet", "devices", "approve", "--refuse"), /Refused/);
  await failed(device, /has refused/);
  await failed(terminal("phone", "keychain", "request"), /has refused this one/);
  device = terminal("desk", "login", "--provider", "--without-keys");
  await visit(device, "ada-at-work");
  await device.ended;
  device = terminal("desk", "keychain", "request");
  await device.shows(/Approve on a device/);
  giver = terminal("tablet", "devices", "approve");
  const shown = (await device.shows(/Type there: (\d{3} \d{3})/))[1];
  giver.type(shown);
  await giver.shows(/Type there: (\d{3} \d{3})/);
  for (const wrong of ["", "1", "yes"]) device.type(wrong);
  await failed(device, /codes differ/);
  giver.child.kill();
  device = terminal("desk", "keychain", "request");
  await device.shows(/Approve on a device/);
  giver = terminal("tablet", "devices", "approve");
  await device.shows(/Type there/);
  for (const wrong of ["", "1", "yes"]) giver.type(wrong);
  await failed(giver, /codes differ/);
  await failed(device, /has refused/);
  // Recovery words.
  writeFileSync(`${folder}/words`, `${words}\n`, { mode: 0o600 });
  writeFileSync(`${folder}/wrong-words`, "abandon about\n", { mode: 0o600 });
  device = terminal("watch", "login", "--provider", "--words-file", `${folder}/wrong-words`);
  await visit(device, "ada-at-work");
  await failed(device, /12 words/);
  device = terminal("watch", "login", "--provider", "--words-file", `${folder}/words`);
  await visit(device, "ada-at-work");
  await succeeded(device, /ada@example.com/);
  await failed(terminal("watch", "keychain", "request"), /has the account's keys already/);
  // Where no browser may have keys, none asks for them.
  await succeeded(terminal("ada", "keychain", "web", "off"), /./);
  page = await open(`${base}/account`);
  await through(page, "ada-at-work");
  await isReady(page);
  await shows(page, "You let no browser read encrypted data");
  assert.ok(!(await page.run(`Boolean(document.getElementById("ask-device"))`)), "the page cannot ask");
  await page.close();
  say("keys from another device after two typed codes, or by the recovery words; a refusal and wrong codes give nothing");

  assert.deepEqual(problems, [], "the pages reported errors");
  const secrets = { words, password, "the cloud's secret": "the-clouds-secret-at-the-provider" };
  for (const [what, secret] of Object.entries(secrets)) {
    for (const { url, body } of seen) assert.ok(!url.includes(encodeURIComponent(secret)) && !body.includes(secret), `${what} is in a request to ${url}`);
  }
  for (const { name, text } of filesOf(join(folder, "data"))) {
    for (const [what, secret] of Object.entries(secrets)) assert.ok(!text.includes(secret), `${what} is in ${name}`);
  }
  say(`${seen.length} requests, none with a secret; none is in the cloud's files`);
}

await main().then(async () => {
  await people.end();
  process.exit(0);
}, fail);
