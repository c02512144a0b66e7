// Operates the Console in a real browser and looks at every page of it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startBrowser } from "../web-push/browser.mjs";
import { removeFolder } from "../folders.mjs";

const program = resolve(process.argv[2]);
const pictures = process.argv[3] && resolve(process.argv[3]);
const folder = mkdtempSync(join(tmpdir(), "check-console-"));
const container = "iCloud.com.example.app";
const email = "ada@example.com";
const variables = { ...process.env, XDG_DATA_HOME: `${folder}/share`, XDG_CONFIG_HOME: `${folder}/config`, HOME: folder };
writeFileSync(`${folder}/password`, "correct horse battery\n", { mode: 0o600 });
if (pictures) mkdirSync(pictures, { recursive: true });

const say = (text) => console.log(`  ${text}`);
const running = [];
setTimeout(() => fail(new Error("the check took more than five minutes")), 300_000).unref();

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
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`nothing came: ${what}`);
}

const welkin = (...words) =>
  execFileSync(program, [...words, ...(["login", "consent"].includes(words[0]) ? [] : ["--data", `${folder}/data`])], { env: variables });

async function startCloud() {
  const cloud = spawn(program, ["serve", "--data", `${folder}/data`, "--port", "0", "--log-level", "warning"],
    { env: variables, stdio: ["ignore", "pipe", "inherit"] });
  running.push(cloud);
  let output = "";
  cloud.stdout.on("data", (part) => { output += part; });
  return until("a listening cloud", () => output.match(/listening on (\S+)/)?.[1]);
}

// Texts that would do harm if they became markup.
const hostile = `<img src=x onerror="document.title='broken'">'"&amp;`;

async function fill(base) {
  welkin("account", "add", email, "--password-file", `${folder}/password`);
  const { token } = JSON.parse(welkin("token", "create", container, "--json"));
  welkin("login", "--endpoint", base, "--container", container, "--api-token", token, "--email", email, "--profile", "phone",
    "--password-file", `${folder}/password`);
  const credentials = JSON.parse(readFileSync(`${folder}/share/welkin/profiles/phone/credentials.json`));
  const phone = credentials.containers.find((entry) => entry.container === container);
  const tokens = new URLSearchParams({ ckAPIToken: token, ckWebAuthToken: phone.webAuthToken });
  const ask = async (database, endpoint, body) => {
    const path = `/database/1/${container}/development/${database}/${endpoint}?${tokens}`;
    const answer = await fetch(base + path, { method: "POST", body: JSON.stringify(body) });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    assert.ok(!text.includes("serverErrorCode"), text);
    return JSON.parse(text);
  };
  const record = (recordName, recordType, fields) => ({ operationType: "create", record: { recordName, recordType, fields } });
  const value = (value, type) => ({ value, type });
  const city = (number) => record(`city-${String(number).padStart(3, "0")}`, "City", {
    name: value(`City ${number}`, "STRING"), population: value(1000 * number, "INT64"),
    place: value({ latitude: 50 + number / 100, longitude: 10 }, "LOCATION"), founded: value(1_700_000_000_000 + number, "TIMESTAMP"),
    tags: value(["large", "old"], "STRING_LIST"), capital: value({ recordName: "city-001", action: "NONE" }, "REFERENCE"),
  });
  await ask("public", "records/modify", { operations: [1, ...Array.from({ length: 60 }, (_, index) => index + 2)].map(city) });
  await ask("public", "records/modify", { operations: [record(`bad ${hostile}`, "City", { name: value(hostile, "STRING") })] });
  await ask("private", "zones/modify", { operations: ["Notes", "Drafts", "Old & odd"].map((zoneName) => ({ operationType: "create", zone: { zoneID: { zoneName } } })) });
  const note = (number) => record(`note-${number}`, "Note", { title: value(`Secret title ${number}`, "STRING"), body: value("Dear diary", "STRING") });
  await ask("private", "records/modify", { zoneID: { zoneName: "Notes" }, operations: Array.from({ length: 120 }, (_, index) => note(index + 1)) });
  await ask("private", "records/modify", { zoneID: { zoneName: "Notes" }, operations: [{ operationType: "forceDelete", record: { recordName: "note-7" } }] });
  await ask("private", "records/modify", { zoneID: { zoneName: "Drafts" }, operations: [record("draft-1", "Note", { title: value("A draft", "STRING") })] });
  await ask("private", "subscriptions/modify", { operations: [{ operationType: "create", subscription: { subscriptionID: "all-notes", subscriptionType: "zone", zoneID: { zoneName: "Notes" }, zoneWide: false } }] });
  return { user: (await ask("private", "users/caller", {})).userRecordName };
}

/** A page of the browser that reports what goes wrong in it. */
async function openPage(browser, base) {
  const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params) => browser.send(method, params, sessionId);
  const problems = [];
  let loads = 0;
  browser.listen((message) => {
    if (message.sessionId !== sessionId) return;
    if (message.method === "Page.loadEventFired") loads += 1;
    if (message.method === "Runtime.exceptionThrown") problems.push(message.params.exceptionDetails.text);
    if (message.method === "Log.entryAdded" && message.params.entry.level === "error") {
      // A form that was refused on purpose answers with its status.
      if (!/status of (4\d\d)/.test(message.params.entry.text)) problems.push(message.params.entry.text);
    }
  });
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await call(`${domain}.enable`);
  const page = {
    problems, call,
    async run(expression) {
      const answer = await call("Runtime.evaluate", {
        expression: `(async () => ${expression})()`, awaitPromise: true, returnByValue: true, userGesture: true });
      if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? "exception");
      return answer.result.value;
    },
    /** Does something that loads another page, and waits for that. */
    async after(act) {
      const before = loads;
      await act();
      await until("a loaded page", () => loads > before);
    },
    go: (path) => page.after(() => call("Page.navigate", { url: path.startsWith("http") ? path : base + path })),
    text: () => page.run("document.body.innerText"),
    click: (text) => page.after(() => page.run(`{
      const found = [...document.querySelectorAll("main a, main button, nav a, header button, summary")].find((each) => each.innerText.trim() === ${JSON.stringify(text)});
      if (!found) throw new Error("there is no " + ${JSON.stringify(text)});
      found.click();
    }`)),
    write: (name, text) => page.run(`{
      const field = document.querySelector("main [name=" + JSON.stringify(${JSON.stringify(name)}) + "]");
      field.value = ${JSON.stringify(text)};
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }`),
    submit: (text) => page.click(text),
    async press(key, code = key, text = undefined) {
      for (const type of ["keyDown", "keyUp"]) {
        await call("Input.dispatchKeyEvent", { type, key, code, text: type === "keyDown" ? text : undefined,
          windowsVirtualKeyCode: { Tab: 9, Enter: 13 }[key] ?? 0 });
      }
    },
    async type(text) { await call("Input.insertText", { text }); },
    async picture(name, width, scheme) {
      await call("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 });
      await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      const overflow = await page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide at ${width}`);
      if (!pictures) return;
      const height = Math.min(2400, await page.run("document.documentElement.scrollHeight"));
      const { data } = await call("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } });
      writeFileSync(`${pictures}/${name}-${width}-${scheme}.png`, Buffer.from(data, "base64"));
    },
  };
  return page;
}

/** Looks at a page in all sizes and colours, and checks what a screen reader needs. */
async function look(page, name) {
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"]) await page.picture(name, width, scheme);
  }
  const findings = await page.run(`{
    const findings = [];
    const labelled = (field) => field.labels?.length || field.getAttribute("aria-label");
    for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) if (!labelled(field)) findings.push("no label: " + field.name);
    for (const table of document.querySelectorAll("table")) {
      if (!table.caption?.textContent.trim()) findings.push("a table without caption");
      for (const head of table.querySelectorAll("th")) if (!head.scope) findings.push("a heading without scope");
    }
    if (document.querySelectorAll("h1").length !== 1) findings.push("headings of level 1: " + document.querySelectorAll("h1").length);
    if (!document.querySelector("main") || !document.querySelector(".skip") || !document.documentElement.lang) findings.push("no landmarks");
    for (const link of document.querySelectorAll("a")) if (!link.innerText.trim()) findings.push("a link without text");
    const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
    for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) findings.push("twice: #" + id);
    for (const each of document.querySelectorAll("[aria-describedby], [aria-labelledby]")) {
      const id = each.getAttribute("aria-describedby") ?? each.getAttribute("aria-labelledby");
      if (!document.getElementById(id)) findings.push("nothing is #" + id);
    }
    const luminance = (colour) => {
      const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => { const value = part / 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; });
      return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const behind = (element) => {
      for (let each = element; each; each = each.parentElement) {
        const colour = getComputedStyle(each).backgroundColor;
        if (!/, 0\\)$/.test(colour)) return colour;
      }
      return getComputedStyle(document.documentElement).backgroundColor;
    };
    for (const element of document.querySelectorAll("body *")) {
      if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) || !element.getClientRects().length) continue;
      const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
      const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      if (contrast < 4.5) findings.push("contrast " + contrast.toFixed(2) + ": " + element.innerText.slice(0, 30));
    }
    return [...new Set(findings)];
  }`);
  assert.deepEqual(findings, [], name);
  assert.notEqual(await page.run("document.title"), "broken", `${name}: a text became markup`);
  assert.deepEqual(page.problems, [], name);
  say(`looked at ${name}`);
}

async function main() {
  const base = await startCloud();
  assert.equal((await fetch(`${base}/console`)).status, 404, "there is a Console without operators");
  const { user } = await fill(base);
  const token = welkin("admin", "token", "create", "--name", "check").toString().match(/[0-9a-f]{64}/)[0];
  const browser = startBrowser(folder, []);
  running.push(browser.process);
  const page = await openPage(browser, base);
  const place = `/console/containers/${container}/development`;
  const data = `${place}/data`;

  // By keyboard alone.
  await page.go("/console");
  await look(page, "sign-in");
  await page.type("wrong");
  await page.after(() => page.press("Enter", "Enter", "\r"));
  assert.match(await page.text(), /wrong operator's token/);
  await look(page, "sign-in-refused");
  await page.type(token);
  await page.after(() => page.press("Enter", "Enter", "\r"));
  assert.match(await page.text(), /Containers/);
  await look(page, "containers");
  await page.press("Tab", "Tab");
  assert.equal(await page.run("document.activeElement.innerText"), "Skip to the content");
  await page.press("Enter", "Enter", "\r");
  let steps = 0;
  while (await page.run("document.activeElement.innerText") !== container) {
    await page.press("Tab", "Tab");
    assert.ok((steps += 1) < 20, "the container cannot be reached by keyboard");
    assert.ok(await page.run("getComputedStyle(document.activeElement).outlineStyle !== 'none'"), "the focus cannot be seen");
  }
  await page.after(() => page.press("Enter", "Enter", "\r"));
  await look(page, "container");

  await page.click("Data");
  await look(page, "data");
  await page.click("Query City");
  await look(page, "query");
  await page.write("filter-field-0", "population");
  await page.write("filter-comparator-0", "GREATER_THAN");
  await page.write("filter-value-0", "2000");
  await page.write("sort-field-0", "population");
  await page.submit("Run");
  assert.match(await page.text(), /city-003/);
  await look(page, "results");
  await page.submit("Next page");
  assert.match(await page.text(), /city-061/);
  await page.go(`${data}/query?type=City`);
  await page.submit("Run");
  assert.match(await page.text(), /not marked (queryable|indexable)/);
  await look(page, "missing-index");
  await page.run(`document.querySelector("main form[aria-label='Missing index'] button").click()`);
  await until("the index", async () => {
    await page.go(`${data}/query?type=City`);
    await page.submit("Run");
    return (await page.text()).includes("city-001");
  });
  await page.go(`${data}/record?name=city-002`);
  await look(page, "record");
  await page.click("city-001");
  assert.match(await page.text(), /City 1/);
  await page.go(`${data}/record?name=${encodeURIComponent(`bad ${hostile}`)}`);
  await look(page, "record-hostile");
  await page.go(`${data}/edit?name=city-002`);
  await look(page, "edit");
  await page.write("field-value-2", "New name");
  await page.submit("Save");
  assert.match(await page.text(), /The record is saved[\s\S]*New name/);
  await page.go(`${data}/edit`);
  await page.write("type", "City");
  await page.write("name", "made");
  await page.write("field-name-0", "name");
  await page.write("field-value-0", "Made here");
  await page.submit("Create");
  assert.match(await page.text(), /Made here/);
  await page.click("Delete…");
  await look(page, "delete");
  await page.submit("Delete");
  assert.match(await page.text(), /The record is deleted/);
  await look(page, "records");

  const owner = new URLSearchParams({ user });
  await page.go(`${data}?${owner}`);
  await look(page, "private");
  await page.go(`${data}/record?${owner}&zone=Notes&name=note-1`);
  assert.ok(!(await page.text()).includes("Secret title"), "a private value is shown");
  await look(page, "private-record");
  await page.go(`${place}/zones`);
  await look(page, "zones");
  await page.go(`${place}/zones?${owner}`);
  assert.match(await page.text(), /all-notes/);
  await look(page, "zones-of-user");
  await page.go(`${place}/zones/zone?${owner}&zone=Notes`);
  await look(page, "zone");
  await page.submit("More changes");
  const newest = await page.run(`[...document.querySelectorAll("dt")].find((each) => each.innerText === "Newest token").nextElementSibling.innerText`);
  await page.submit("Expire the zone's tokens");
  assert.match(await page.text(), /Tokens from before have expired/);
  await page.write("token", newest);
  await page.submit("Show changes");
  assert.match(await page.text(), /client knowledge differs/);
  await look(page, "expired-token");
  await page.click("Purge the zone…");
  await look(page, "purge");
  await page.write("confirmation", "Other");
  await page.submit("Purge");
  assert.match(await page.text(), /not that of the zone/);
  await page.write("confirmation", "Notes");
  await page.submit("Purge");
  assert.match(await page.text(), /The zone is purged/);

  // With the consent of the person: what the cloud can read, and what devices sealed as sealed.
  const consent = welkin("consent", "create", "--endpoint", base, "--container", container, "--profile", "phone", "--for", "1h").toString().trim();
  await page.go(`${data}?${owner}`);
  await page.run(`document.querySelector("summary").click()`);
  await page.write("token", consent);
  await page.submit("Show values");
  assert.match(await page.text(), /values of this database are shown/);
  await look(page, "private-consent");
  await page.go(`${data}/record?${owner}&zone=Drafts&name=draft-1`);
  assert.match(await page.text(), /A draft/);
  assert.ok(!(await page.text()).includes("Edit"), "a consent for reading lets change");
  await look(page, "private-record-consent");
  welkin("consent", "revoke", "all", "--endpoint", base, "--container", container, "--profile", "phone");
  await page.go(`${data}/record?${owner}&zone=Drafts&name=draft-1`);
  assert.ok(!(await page.text()).includes("A draft"), "a consent that was taken back still counts");

  // What the steps above have left behind, in the log too.
  welkin("fault", "order", "throttle", container, "--seconds", "600", "--email", email);
  for (const [name, path] of Object.entries({
    schema: `${place}/schema`, "schema-type": `${place}/schema/types/City`, "schema-text": `${place}/schema/text`,
    "schema-deployment": `/console/containers/${container}/production/schema/deployment`, "schema-reset": `${place}/schema/reset`,
    tokens: `${place}/tokens`, faults: `${place}/faults`, people: "/console/people", operators: "/console/operators",
    alerts: "/console/alerts", "logs-of-container": `${place}/logs`, "telemetry-of-container": `${place}/telemetry`, telemetry: "/console/telemetry",
  })) {
    await page.go(path);
    await look(page, name);
  }
  await until("an entry of the log", async () => {
    await page.go("/console/logs?failed=on");
    return page.run(`document.querySelector("main tbody a") !== null`);
  });
  await look(page, "logs");
  await page.after(() => page.run(`document.querySelector("main tbody a").click()`));
  await look(page, "logged-request");
  await page.go("/console/people");
  await page.after(() => page.run(`document.querySelector("main tbody a").click()`));
  await look(page, "account");

  // Without script.
  await page.call("Emulation.setScriptExecutionDisabled", { value: true });
  await page.go("/console");
  assert.match(await page.text(), /Containers/);
  await page.call("Emulation.setScriptExecutionDisabled", { value: false });
  await page.go("/console/nothing");
  await look(page, "not-found");
  await page.click("Sign out");
  await page.go("/console");
  assert.match(await page.text(), /Operator's token/);

  // By account, for one container.
  welkin("account", "operator", email, "on", "--container", container);
  await page.go(`${data}/record?name=city-002`);
  await look(page, "sign-in-account");
  await page.run(`document.querySelector("form[data-sign-in] [name=email]").value = ${JSON.stringify(email)}`);
  await page.run(`document.getElementById("password").value = "correct horse battery"`);
  await page.click("Sign in with the account");
  assert.match(await page.text(), /New name/);
  await page.go("/console");
  await look(page, "containers-of-account");
  assert.deepEqual(page.problems, []);
  say("the Console works");
}

main().then(() => finish(0), fail);
