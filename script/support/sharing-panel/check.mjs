// Operates the sharing panel of an app in a real browser, with the keyboard alone, and looks at every state of it.
//
// node check.mjs WELKIN SHOPPING_DEMO [FOLDER]
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { startBrowser } from "../web-push/browser.mjs";
import { checkBadInput } from "./bad-input.mjs";
import { People, until } from "../people.mjs";
import { looking, openTab } from "./tab.mjs";

const [welkin, app] = process.argv.slice(2, 4).map((path) => resolve(path));
const pictures = process.argv[4] && resolve(process.argv[4]);
if (pictures) mkdirSync(pictures, { recursive: true });
const say = (text) => console.log(`  ${text}`);
const look = looking(pictures, say);
const people = new People(welkin, app, "iCloud.org.welkin.shopping");
setTimeout(() => fail(new Error("the check took more than five minutes")), 300_000).unref();

async function fail(error) {
  console.error(error);
  await people.end();
  process.exit(1);
}

async function main() {
  await people.start();
  for (const name of ["ada", "ben", "cat", "dan"]) people.add(name);
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
  // A tab that is not seen asks seldom; once it is seen again, it shows the next change as soon as ever.
  await new Promise((done) => setTimeout(done, 4500));
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

  await checkBadInput({ people, browser, say, look });
  await people.end();
}

main().then(() => process.exit(0), fail);
