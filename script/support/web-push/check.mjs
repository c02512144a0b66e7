// Checks that a save on another device shows a notification in a real browser whose page is closed.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startBrowser } from "./browser.mjs";
import { startPushService } from "./push-service.mjs";
import { removeFolder } from "../folders.mjs";

const program = resolve(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "check-web-push-"));
const container = "iCloud.com.example.push";
const email = "ada@example.com";
const password = "correct horse battery";
const variables = { ...process.env, XDG_DATA_HOME: `${folder}/share`, XDG_CONFIG_HOME: `${folder}/config`, HOME: folder };
writeFileSync(`${folder}/password`, password + "\n", { mode: 0o600 });

const say = (text) => console.log(`  ${text}`);
const running = [];
setTimeout(() => fail(new Error("nothing happened for two minutes")), 120_000).unref();

function fail(error) {
  console.error(error);
  finish(1);
}

async function finish(status) {
  for (const process of running) {
    const ended = new Promise((done) => process.once("exit", done));
    if (process.exitCode === null && process.kill()) await ended;
  }
  removeFolder(folder);
  process.exit(status);
}

async function until(what, look) {
  for (let tries = 0; tries < 400; tries += 1) {
    const found = await look();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`nothing came: ${what}`);
}

const welkin = (...words) =>
  execFileSync(program, [...words, ...(words[0] === "login" ? [] : ["--data", `${folder}/data`])], { env: variables });

async function startCloud(pushService) {
  const cloud = spawn(program, [
    "serve", "--data", `${folder}/data`, "--port", "0", "--web-push", "on", "--web-push-allow-host", pushService.host,
    "--log-level", "warning",
  ], { env: variables, stdio: ["ignore", "pipe", "inherit"] });
  running.push(cloud);
  let output = "";
  cloud.stdout.on("data", (part) => { output += part; });
  return until("a listening cloud", () => output.match(/listening on (\S+)/)?.[1]);
}

async function main() {
  const pushService = await startPushService(folder);
  const base = await startCloud(pushService);
  welkin("account", "add", email, "--password-file", `${folder}/password`);
  const { token } = JSON.parse(welkin("token", "create", container, "--json"));
  welkin(
    "login", "--endpoint", base, "--container", container, "--api-token", token, "--email", email, "--profile", "phone",
    "--password-file", `${folder}/password`);
  const credentials = JSON.parse(readFileSync(`${folder}/share/welkin/profiles/phone/credentials.json`));
  const phone = credentials.containers.find((entry) => entry.container === container);
  const tokens = new URLSearchParams({ ckAPIToken: token, ckWebAuthToken: phone.webAuthToken });
  const ask = async (endpoint, body) => {
    const path = `/database/1/${container}/development/private/${endpoint}?${tokens}`;
    const answer = await fetch(base + path, { method: "POST", body: JSON.stringify(body) });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    assert.ok(!text.includes("serverErrorCode"), text);
  };
  const save = (name, title) => ask("records/modify", {
    zoneID: { zoneName: "Notes" },
    operations: [{ operationType: "create", record: { recordName: name, recordType: "Note", fields: { title: { value: title } } } }],
  });
  await ask("zones/modify", { operations: [{ operationType: "create", zone: { zoneID: { zoneName: "Notes" } } }] });
  await save("first", "Nothing");
  await ask("subscriptions/modify", {
    operations: [{
      operationType: "create",
      subscription: {
        subscriptionID: "notes", subscriptionType: "query", query: { recordType: "Note" }, firesOn: ["create"],
        notificationInfo: { titleLocalizationKey: "New note: %@", titleLocalizationArgs: ["title"], alertBody: "Grüße 🎉" },
      },
    }],
  });
  say("a cloud, an account, a phone, a subscription");

  const browser = startBrowser(folder, pushService.browserOptions);
  running.push(browser.process);
  await browser.send("Browser.grantPermissions", { origin: base, permissions: ["notifications"] });
  const address = `${base}/notifications?container=${container}&environment=development&ckAPIToken=${token}`;
  const change = (body) => {
    const request = JSON.parse(body);
    const subscription = request.push?.subscription;
    if (subscription) subscription.endpoint = pushService.endpoint(subscription.endpoint);
    return JSON.stringify(request);
  };
  const openPage = () => browser.open(address, { path: ["/tokens/create", "/tokens/register"], change });
  const message = (page) => page.run(`document.getElementById("message").textContent`);
  const shows = (page, text) => until(text, async () => (await message(page)).includes(text))
    .catch(async (error) => { throw new Error(`${error.message}; the page says: ${await message(page)}`); });
  const signIn = async (page) => {
    await shows(page, "Sign in");
    await page.run(`{
      const form = document.getElementById("sign-in");
      form.elements.email.value = ${JSON.stringify(email)};
      form.elements.password.value = ${JSON.stringify(password)};
      form.requestSubmit();
    }`);
  };
  const notifications = (page) => page.run(`{
    const registration = await navigator.serviceWorker.getRegistration("/notifications");
    return (await registration.getNotifications()).map(({ title, body, tag }) => ({ title, body, tag }));
  }`);

  let page = await openPage();
  await signIn(page);
  await shows(page, "Notifications are off.");
  await page.run(`document.getElementById("switch").click()`);
  await shows(page, "Notifications are on.");
  say("signed in on the page, turned notifications on: the browser made a subscription and the cloud has it");

  await save("second", "Milk");
  const [shown] = await until("a notification", async () => {
    const list = await notifications(page);
    return list.length === 1 ? list : undefined;
  });
  assert.deepEqual(shown, { title: "New note: Milk", body: "Grüße 🎉", tag: `${container}/notes/Notes/second` });
  assert.equal(pushService.received.length, 1);
  assert.ok(!pushService.received[0].body.includes("Milk"));
  say("a save on the phone: the push service saw sealed bytes, the browser opened them and shows the notification");

  await page.close();
  await save("third", "Bread");
  await until("the message", () => pushService.received.length === 2);
  page = await openPage();
  await until("the notification that came while no page was open", async () =>
    (await notifications(page)).some(({ title }) => title === "New note: Bread"));
  say("a save while no page is open: shown as well");

  await signIn(page);
  await shows(page, "Notifications are on.");
  await page.run(`document.getElementById("switch").click()`);
  await shows(page, "Notifications are off.");
  await save("fourth", "Nobody");
  const metrics = await (await fetch(`${base}/metrics`)).text();
  assert.match(metrics, /welkin_notifications_dropped_total\{reason="noOtherDevice"\} 1\n/);
  assert.equal(pushService.received.length, 2);
  say("turned off: nothing is sent any more");
}

await main().then(() => finish(0), fail);
