// What the panel says when something is wrong: links, other panels and devices, the network.
import assert from "node:assert/strict";
import { until } from "../people.mjs";
import { openTab } from "./tab.mjs";

export async function checkBadInput({ people, browser, say, look }) {
  const value = (tab, id) => tab.run(`document.getElementById(${JSON.stringify(id)}).value`);
  const click = (tab, id) => tab.run(`document.getElementById(${JSON.stringify(id)}).click()`);
  const agree = async (tab) => {
    await until("a question", () => tab.run("document.getElementById('question').open"));
    await click(tab, "question-yes");
  };

  // A forged address, one of another panel, and one that was cut, lead to nothing.
  const first = await people.present("ada");
  const origin = first.address.split("#")[0];
  for (const secret of ["0".repeat(64), "x", first.address.split("#")[1].slice(0, 40), "%00%ff"]) {
    const forged = await openTab(browser, `${origin}#${secret}`);
    await forged.shows("This panel is not open here");
    await forged.shows("Open it again from the app");
    if (secret === "x") await look({ ...forged, problems: [] }, "forged-address");
    await forged.close();
  }
  const tab = await openTab(browser, first.address);
  await tab.shows("Not shared yet");
  await tab.run(`{ document.getElementById("addresses").value = "ben@example.com"; document.getElementById("start-button").click() }`);
  await tab.shows("It is shared with ben@example.com.");
  const link = await value(tab, "link-address");
  say("a forged, cut or foreign address of a panel: it is not open there");

  // A link for someone else, one that was used, one that never was, and one that ended.
  const refusal = /leads nowhere, or you were not invited with this account/;
  const foreign = people.attempt("cat", "open", "--yes", "--accept", link);
  assert.equal(foreign.status, 1);
  assert.match(foreign.output, refusal);
  assert.match(people.attempt("ben", "open", "--yes", "--accept", `${people.base}/share/0123456789abcdef`).output, refusal);
  assert.match(people.attempt("ben", "open", "--yes", "--accept", `${people.base}/nothing`).output, /is no link to a share/);
  const oneTimeLink = async () => {
    await click(tab, "one-time-button");
    return until("a one-time link", () => tab.run(`document.querySelector("[id^=one-time-]:not(#one-time-button)")?.value`));
  };
  const once = await oneTimeLink();
  assert.equal(people.attempt("cat", "open", "--yes", "--accept", once).status, 0);
  assert.match(people.attempt("dan", "open", "--yes", "--accept", once).output, refusal);
  await until("the used link to go", async () => !(await tab.text()).includes("For whoever opens it first"));
  const removed = await oneTimeLink();
  await tab.run(`[...document.querySelectorAll("[id^=remove-]")].find((each) => each.ariaLabel === "Remove: One-time link").click()`);
  await agree(tab);
  await tab.shows("was removed");
  assert.match(people.attempt("dan", "open", "--yes", "--accept", removed).output, refusal);
  say("a foreign, unknown, used and withdrawn link: one sentence, which shows nothing of the share");

  // Two panels of one share, in two apps: what one does the other shows, and both can change it.
  const other = await people.present("ada");
  const second = await openTab(browser, other.address);
  await second.shows("Shared by you");
  await second.run(`{ document.getElementById("addresses").value = "dan@example.com"; document.getElementById("invite-button").click() }`);
  await second.shows("dan@example.com can join now.");
  await tab.run(`{ document.getElementById("addresses").value = "eve@example.com"; document.getElementById("invite-button").click() }`);
  await tab.shows("eve@example.com can join now.");
  await tab.shows("dan@example.com");
  await tab.call("Page.bringToFront");
  await Promise.all([
    tab.run(`document.getElementById("requests-allowed").click()`),
    second.run(`document.getElementById("one-time-button").click()`),
  ]);
  await tab.shows("People with the link can ask for access.");
  await second.shows("The one-time link is in the list.");
  await second.call("Page.bringToFront");
  await until("both panels to show both changes", async () =>
    (await tab.text()).includes("One-time link") && (await second.run("document.getElementById('requests-allowed').checked")));
  await look(second, "two-panels");
  // A person whom the other panel has removed.
  const personID = async (page, name) => page.run(`document.querySelector('[aria-label="Remove: ${name}"]').id.slice("remove-".length)`);
  const eve = await personID(tab, "eve@example.com");
  // The yes to it answers no question that was dismissed before, of whose end the page has not heard yet.
  await second.run(`{
    const question = document.getElementById("question");
    document.getElementById("end-button").click();
    question.close("no");
    document.getElementById("remove-${eve}").click();
    document.getElementById("question-yes").click();
  }`);
  await second.shows("eve@example.com was removed");
  await tab.run(`fetch("/panel", { method: "POST", headers: { "Content-Type": "application/json", Authorization: "Bearer " + sessionStorage.getItem("session") },
    body: JSON.stringify({ action: "setPermission", person: "${eve}", permission: "readOnly" }) }).then((answer) => answer.json()).then((content) => { window.answered = content.message; })`);
  assert.deepEqual(await tab.run("[window.answered.text, window.answered.isProblem]"), ["This person is not in the list any more.", true]);
  say("two panels of one share: each shows what the other did, and nothing is lost");

  // The cloud goes away, and comes back.
  await people.stopCloud();
  await second.shows("The cloud cannot be reached.");
  await second.shows("Nothing changes until you are connected again");
  await second.run(`{ document.getElementById("addresses").value = "fay@example.com"; document.getElementById("invite-button").click() }`);
  await until("the refusal", async () => (await second.run("document.getElementById('panel').getAttribute('aria-busy')")) === "false");
  await second.shows("The cloud cannot be reached.");
  assert.equal(await value(second, "addresses"), "fay@example.com", "what was typed is lost");
  await look(second, "no-cloud");
  await people.startCloud();
  await second.run(`document.getElementById("invite-button").click()`);
  await second.shows("fay@example.com can join now.");
  await tab.call("Page.bringToFront");
  await tab.shows("fay@example.com");
  await until("the other panel's message to go", async () => !(await tab.text()).includes("cannot be reached"));
  say("a cloud that stops and comes back: a sentence, what was typed stays, and both panels go on");

  // The share is stopped below a panel.
  await second.call("Page.bringToFront");
  await click(second, "end-button");
  await agree(second);
  await second.shows("Nobody else can open this any more.");
  await tab.call("Page.bringToFront");
  await tab.shows("sharing was stopped on another device");
  await tab.shows("Close the panel. The owner can share it again.");
  await look(tab, "stopped-elsewhere");
  assert.match(people.attempt("dan", "open", "--yes", "--accept", link).output, refusal);
  for (const [page, app] of [[tab, first], [second, other]]) {
    await click(page, "done-button");
    await app.ended;
    await page.close();
  }
  // The tab of a panel whose app has ended.
  const closed = await people.present("ada");
  const left = await openTab(browser, closed.address);
  await left.shows("Not shared yet");
  closed.app.kill("SIGKILL");
  await closed.ended;
  await left.shows("The app has ended, or has closed the panel. Open it again from the app.");
  await look({ ...left, problems: [] }, "app-ended");
  say("a share that is stopped elsewhere, and an app that ends: the panel says so, and ends");
}
