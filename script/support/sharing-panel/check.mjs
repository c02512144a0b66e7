// Operates the sharing panel of an app in a real browser, with the keyboard alone, and looks at every state of it.
//
// node check.mjs WELKIN SHOPPING_DEMO [FOLDER]
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { startBrowser } from "../web-push/browser.mjs";
import { People, until } from "./people.mjs";

const [welkin, app] = process.argv.slice(2, 4).map((path) => resolve(path));
const pictures = process.argv[4] && resolve(process.argv[4]);
if (pictures) mkdirSync(pictures, { recursive: true });
const say = (text) => console.log(`  ${text}`);
const people = new People(welkin, app, "iCloud.org.welkin.shopping");
setTimeout(() => fail(new Error("the check took more than five minutes")), 300_000).unref();

async function fail(error) {
  console.error(error);
  await people.end();
  process.exit(1);
}

/** A tab of the browser, used by keyboard. */
async function openTab(browser, address) {
  const problems = [];
  const requests = [];
  const page = await browser.open(address, {
    prepare: async (call) => { for (const domain of ["Runtime", "Log", "Network"]) await call(`${domain}.enable`); },
    watch: ({ method, params }) => {
      if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(params.entry.text);
      if (method === "Network.requestWillBeSent") requests.push(params.request.url);
    },
  });
  const keys = { Tab: 9, Enter: 13, " ": 32, ArrowDown: 40, ArrowUp: 38, Escape: 27, Home: 36 };
  const tab = {
    ...page, problems, requests,
    async press(key, modifiers = 0) {
      const text = { Enter: "\r", " ": " " }[key];
      const common = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: keys[key], modifiers };
      await page.call("Input.dispatchKeyEvent", { ...common, type: text ? "keyDown" : "rawKeyDown", text });
      await page.call("Input.dispatchKeyEvent", { ...common, type: "keyUp" });
    },
    type: (text) => page.call("Input.insertText", { text }),
    focused: () => page.run("document.activeElement.id"),
    /** Goes on with Tab until an element has the focus, which has to be seen. */
    async reach(id) {
      for (let step = 0; step < 80; step += 1) {
        const focused = await tab.focused();
        if (typeof id === "string" ? focused === id : id.test(focused)) {
          assert.ok(await page.run("getComputedStyle(document.activeElement).outlineStyle !== 'none'"), `the focus on ${focused} cannot be seen`);
          return;
        }
        await tab.press("Tab");
      }
      throw new Error(`${id} cannot be reached by keyboard`);
    },
    text: () => page.run("document.body.innerText"),
    shows: (text) => until(`the panel shows ${text}`, async () => (await tab.text()).includes(text)),
  };
  return tab;
}

/** Looks at the panel in all sizes and colours, and checks what a screen reader needs. */
async function look(tab, name) {
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"]) {
      await tab.call("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 });
      await tab.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      const overflow = await tab.run("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide at ${width}`);
      assert.deepEqual(await tab.run(`(${findings})()`), [], `${name} at ${width}, ${scheme}`);
      if (!pictures) continue;
      const height = Math.max(800, Math.min(2400, await tab.run("document.documentElement.scrollHeight")));
      const { data } = await tab.call("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } });
      writeFileSync(`${pictures}/${name}-${width}-${scheme}.png`, Buffer.from(data, "base64"));
    }
  }
  await tab.call("Emulation.setDeviceMetricsOverride", { width: 1280, height: 800, deviceScaleFactor: 1, mobile: false });
  assert.deepEqual(tab.problems, [], name);
  say(`looked at ${name}`);
}

/** Runs in the page: what people with little sight, or none, would miss. */
function findings() {
  const found = [];
  const isSeen = (element) => element.getClientRects().length > 0;
  for (const field of document.querySelectorAll("input, select, textarea")) {
    if (isSeen(field) && !field.labels?.length && !field.getAttribute("aria-label")) found.push(`no label: ${field.id}`);
  }
  for (const button of document.querySelectorAll("button, summary, select, input")) {
    if (!isSeen(button)) continue;
    const box = (button.closest("label") ?? button).getBoundingClientRect();
    if (box.height < 44) found.push(`only ${box.height} pixels high: ${button.id || button.innerText}`);
    if (button.tagName === "BUTTON" && !button.innerText.trim()) found.push(`a button without text: ${button.id}`);
  }
  if (document.querySelectorAll("h1").length !== 1 || !document.querySelector("main") || !document.documentElement.lang) found.push("no landmarks");
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`twice: #${id}`);
  for (const each of document.querySelectorAll("[aria-describedby], [aria-labelledby]")) {
    const id = each.getAttribute("aria-describedby") ?? each.getAttribute("aria-labelledby");
    if (!document.getElementById(id)) found.push(`nothing is #${id}`);
  }
  const luminance = (colour) => {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map((part) => { const value = part / 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!/, 0\)$/.test(colour)) return colour;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) || (element.tagName === "INPUT" && element.value);
    if (!hasText || !isSeen(element)) continue;
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: ${element.innerText.slice(0, 30)}`);
  }
  return [...new Set(found)];
}

async function main() {
  await people.start();
  for (const name of ["ada", "ben", "cat"]) people.add(name);
  people.run("ada", "add", "Milk", "Bread");
  const browser = startBrowser(people.folder, []);
  people.running.push(browser.process);

  // Something new is shared with a person.
  const first = await people.present("ada");
  assert.match(first.address, /^http:\/\/127\.0\.0\.1:\d+\/#[0-9a-f]{64}$/);
  let tab = await openTab(browser, first.address);
  await tab.shows("Not shared yet");
  assert.equal(await tab.run("location.href.includes('#')"), false, "the address keeps its secret");
  assert.equal(await tab.focused(), "addresses");
  await look(tab, "new");
  await tab.type("ben");
  await tab.press("Enter");
  await tab.shows("is no e-mail address");
  await look(tab, "refused-address");
  assert.equal(await tab.run("document.getElementById('addresses').value"), "ben", "what was typed is lost");
  await tab.run("document.getElementById('title').focus()");
  await tab.reach("addresses");
  // A field that is reached with Tab is selected, so that typing replaces what it has.
  await tab.type("ben@example.com, +44 1632 960083");
  await tab.reach("start-button");
  await tab.press("Enter");
  await tab.shows("It is shared with ben@example.com and +441632960083.");
  await look(tab, "shared");

  // A second tab, and another browser that saw the address, get nothing.
  const second = await openTab(browser, first.address);
  await second.shows("This link was used");
  await look({ ...second, problems: [] }, "used-link");
  await second.close();
  const bare = await openTab(browser, first.address.split("#")[0]);
  await bare.shows("This panel is not open here");
  await bare.close();
  await tab.call("Page.bringToFront");

  // The link lets Ben in; the panel shows it by itself.
  const link = await tab.run("document.getElementById('link-address').value");
  assert.match(people.join("ben", link), /joined: Groceries/);
  await tab.shows("Takes part");
  await tab.reach(/^permission-/);
  await tab.press("ArrowUp");
  await tab.shows("can only view now");
  await tab.reach(/^inviting-/);
  await tab.press(" ");
  await tab.shows("may invite others now");
  await tab.reach("one-time-button");
  await tab.press("Enter");
  await tab.shows("The one-time link is in the list.");
  await tab.run("document.getElementById('title').focus()");
  await tab.reach("code-summary");
  await look(tab, "people");

  // Cat asks for access.
  await tab.reach("requests-allowed");
  await tab.press(" ");
  await tab.shows("People with the link can ask for access.");
  await people.ask("cat", link);
  await tab.shows("Let in");
  await look(tab, "request");
  await tab.run("document.getElementById('title').focus()");
  await tab.reach(/^block-/);
  await tab.press("Enter");
  await until("a question", () => tab.run("document.getElementById('question').open"));
  assert.equal(await tab.focused(), "question-no");
  await look(tab, "question");
  await tab.press("Escape");
  assert.match(await tab.focused(), /^block-/, "the focus is lost behind a question");
  await tab.reach(/^block-/);
  await tab.press("Enter");
  await until("a question", () => tab.run("document.getElementById('question').open"));
  await tab.reach("question-yes");
  await tab.press("Enter");
  await tab.shows("is blocked");
  await tab.shows("Unblock");

  // The QR code, and everyone with the link.
  await tab.run("document.getElementById('title').focus()");
  await tab.run("document.getElementById('code').open = true");
  await look(tab, "code");
  await tab.reach("access-select");
  await tab.press("ArrowDown");
  await until("a question", () => tab.run("document.getElementById('question').open"));
  await tab.reach("question-yes");
  await tab.press("Enter");
  await tab.shows("Anyone with the link can view.");
  await look(tab, "public");

  // A tab that is loaded again goes on.
  await tab.reload();
  await tab.shows("Shared by you");
  await tab.reach("done-button");
  await tab.press("Enter");
  await until("the app's end", () => Promise.race([first.ended.then(() => true), new Promise((done) => setTimeout(done, 25))]));
  say("the app ended with the panel");

  // A member's panel is that of a member; the owner's ends the share.
  const last = await people.present("ada");
  tab = await openTab(browser, last.address);
  await tab.shows("Shared by you");
  await tab.reach("end-button");
  await tab.press("Enter");
  await until("a question", () => tab.run("document.getElementById('question').open"));
  await tab.reach("question-yes");
  await tab.press("Enter");
  await tab.shows("Nobody else can open this any more.");
  await look(tab, "ended");
  for (const request of tab.requests) assert.ok(request.startsWith(last.address.split("#")[0]) || request.startsWith("data:"), `the panel asked ${request}`);

  // The app ends below an open tab.
  await tab.reach("done-button");
  await tab.press("Enter");
  await tab.shows("You can close this tab.");
  await last.ended;
  await people.end();
}

main().then(() => process.exit(0), fail);
