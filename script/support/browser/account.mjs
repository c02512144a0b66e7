// The page of an account: devices, storage, shares, everything as a file, the password, the deletion.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { personAt } from "./person.mjs";

export async function checkAccount(check) {
  const { assert, base, people, password, say, until, context, ada, open, shoot, device, program, variables, folder, container, secrets } = check;
  const { text, message, shows, says, focus, enter, tab, write, click, submit, signIn } = personAt(check);
  const welkin = (...words) => execFileSync(program, words, { env: variables, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const isReady = (page) => until("all parts", () => page.run(`document.querySelectorAll("#shares h3").length === 2`)).catch(async (error) => {
    throw new Error(`${error.message}; it says: ${await message(page)}; it shows: ${await text(page)}`);
  });

  await ada("save", "holiday", "", "canary-secret-of-the-device holiday", "canary-file-of-the-device holiday");
  await ada("save", "hotel", "holiday", "canary-secret-of-the-device hotel", "canary-file-of-the-device hotel");
  await ada("share", "holiday", "none", people.grace);

  // By the keyboard: a wrong password, then the right one.
  let page = await open(`${base}/account`, { context: await context() });
  await shows(page, "Sign in to see your devices");
  await shoot(page, "account-1-sign-in-1280-light");
  assert.equal(await focus(page), "email");
  await write(page, people.ada);
  await tab(page);
  await write(page, "wrong");
  await enter(page);
  await says(page, /Wrong e-mail address or password/);
  await page.run(`{ document.querySelector("[name=password]").value = ""; document.querySelector("[name=password]").focus() }`);
  await write(page, password);
  await enter(page);
  await isReady(page);
  await shows(page, container);
  const shown = await text(page);
  assert.match(shown, /records, /);
  assert.match(shown, /Shared holiday|holiday/);
  assert.ok(shown.includes(people.grace), "the page shows with whom something is shared");
  assert.match(shown, /Nothing is shared with you/);
  assert.match(shown, /this page/);
  await shoot(page, "account-2-1280-light");

  // Another session is ended from here.
  const other = await open(`${base}/account`, { context: await context(), width: 390, height: 844, isDark: true });
  await shoot(other, "account-3-sign-in-390-dark");
  await signIn(other, people.ada);
  await isReady(other);
  await shoot(other, "account-4-390-dark");
  assert.ok(await other.run(`document.documentElement.scrollWidth <= innerWidth`), "nothing is wider than the page");
  const buttons = () => other.run(`[...document.querySelectorAll("#devices button")].map((button) => button.getAttribute("aria-label"))`);
  const before = await buttons();
  assert.ok(before.includes("Sign out Account page"), JSON.stringify(before));
  await click(other, `#devices button[aria-label="Sign out Account page"]`);
  await says(other, /is signed out/);
  assert.equal((await buttons()).length, before.length - 1);
  await click(page, "#make");
  await says(page, /session has ended/);
  await page.close();
  say("sign-in by the keyboard, storage, shares, devices; a session that is ended elsewhere says so");

  // A person who is invited makes an account in the page that the link leads to; the link works once.
  const link = welkin("invitation", "add", "--data", `${folder}/data`, "--public-url", base).trim();
  for (const isFirst of [true, false]) {
    const invited = await open(link, { context: await context() });
    await shows(invited, "You are invited");
    await shows(invited, new URL(base).host);
    await shows(invited, `welkin sign-up --invitation '${link}'`);
    if (isFirst) await shoot(invited, "account-7-invitation-1280-light");
    await submit(invited, "sign-up", { email: isFirst ? "invited@example.com" : "uninvited@example.com", password, again: password });
    await says(invited, isFirst ? /Your account is made/ : /the invitation is not valid/);
    await invited.close();
  }
  const proving = await open(`${base}/address#${"0".repeat(32)}`, { context: await context() });
  await submit(proving, "prove", {});
  await says(proving, /the link is not valid/);
  await proving.close();
  say("an account by invitation; links that do not work say so");

  // Everything, as a file that a device of another person imports.
  await other.run(`{ const made = URL.createObjectURL; URL.createObjectURL = (blob) => { window.madeFile = blob; return made.call(URL, blob); } }`);
  await click(other, "#make");
  await says(other, /are ready/);
  assert.doesNotMatch(await message(other), /incomplete/);
  await shoot(other, "account-5-download-390-dark");
  const bytes = Buffer.from(await other.run(`{
    const bytes = new Uint8Array(await window.madeFile.arrayBuffer());
    let text = "";
    for (let start = 0; start < bytes.length; start += 32768) text += String.fromCharCode(...bytes.subarray(start, start + 32768));
    return btoa(text);
  }`), "base64");
  mkdirSync(`${folder}/unpacked`);
  writeFileSync(`${folder}/export.tar`, bytes);
  execFileSync("tar", ["xf", `${folder}/export.tar`, "-C", `${folder}/unpacked`]);
  const exported = `${folder}/unpacked/welkin-export`;
  const lines = execFileSync("sh", ["-c", `cat ${exported}/containers/*/private/*.jsonl`], { encoding: "utf8" });
  assert.match(lines, /"type":"STRING","value":"canary-secret-of-the-device hotel","isEncrypted":true/);
  assert.match(execFileSync("sh", ["-c", `cat ${exported}/files/*`], { encoding: "utf8" }), /canary-file-of-the-device hotel/);
  const output = welkin("account", "import", exported, ...device("eve"));
  assert.match(output, /failed +0/);
  const again = welkin("account", "export", `${folder}/again`, ...device("eve"));
  assert.match(again, new RegExp(container));
  assert.match(execFileSync("sh", ["-c", `cat ${folder}/again/containers/*/private/*.jsonl`], { encoding: "utf8" }), /canary-secret-of-the-device hotel/);
  // What was exported lies in this folder in clear, as it should.
  execFileSync("rm", ["-r", `${folder}/again`, `${folder}/unpacked`, `${folder}/export.tar`]);
  say(`everything as a file of ${bytes.length} bytes, which another account imports`);

  // Another password: devices stay signed in, and the keys open with it.
  await submit(other, "change-password", { agreed: "wrong", wanted: "another horse battery", again: "another horse battery" });
  await says(other, /does not open with this password|Wrong password/i);
  await submit(other, "change-password", { agreed: password, wanted: "another horse battery", again: "different" });
  await says(other, /differ/);
  await submit(other, "change-password", { agreed: password, wanted: "another horse battery", again: "another horse battery" });
  secrets.add("another horse battery");
  await says(other, /The password is changed/);
  await click(other, "#sign-out");
  await says(other, /signed out/);
  await signIn(other, people.ada, "another horse battery");
  await isReady(other);
  assert.equal((await ada("read", "hotel")).secret, "canary-secret-of-the-device hotel");
  await submit(other, "change-password", { agreed: "another horse battery", wanted: password, again: password });
  await says(other, /The password is changed/);
  await other.close();
  say("another password, without the cloud or the devices noticing more than that");

  // New recovery words are shown once, and open the account when the password is forgotten.
  page = await open(`${base}/account`, { context: await context() });
  await signIn(page, people.ada);
  await isReady(page);
  await submit(page, "new-words", { agreed: "wrong" });
  await says(page, /does not open with this password|Wrong password/i);
  await submit(page, "new-words", { agreed: password });
  await says(page, /shown once/);
  const made = await page.run(`[...document.querySelectorAll("#words-made li")].map((item) => item.textContent)`);
  assert.equal(made.length, 12);
  secrets.add(made.join(" "));
  await shoot(page, "account-8-words-1280-light");
  await click(page, "#words-done");
  assert.ok(await page.run(`document.getElementById("words-made") === null`));
  await click(page, "#sign-out");
  await says(page, /signed out/);
  const forgotten = "a horse that nobody forgets";
  secrets.add(forgotten);
  const recover = async (words, again = forgotten) => {
    if (!(await page.run(`Boolean(document.getElementById("recover"))`))) await click(page, "#use-words");
    await submit(page, "recover", { email: people.ada, words, wanted: forgotten, again });
  };
  await recover(made.slice(1).join(" "));
  await says(page, /There are 12 recovery words; these are 11/);
  await recover(made.toReversed().join(" "));
  await says(page, /not the recovery words|Wrong e-mail/);
  await recover(made.join(" "), "different");
  await says(page, /differ/);
  await shoot(page, "account-9-recovery-1280-light");
  await recover(made.join(", ").toUpperCase());
  await isReady(page);
  await says(page, /The password is set/);
  assert.equal((await ada("read", "hotel")).secret, "canary-secret-of-the-device hotel");
  await submit(page, "change-password", { agreed: forgotten, wanted: password, again: password });
  await says(page, /The password is changed/);
  await page.close();
  say("new recovery words, made in the page; with them another password, without the cloud or the devices noticing more");

  // The deletion, and the way back.
  page = await open(`${base}/account`, { context: await context() });
  await signIn(page, people.mary);
  await until("the form", () => page.run(`Boolean(document.getElementById("delete-account"))`));
  await shows(page, "in 30 days");
  await page.run(`document.getElementById("deletion").scrollIntoView()`);
  await submit(page, "delete-account", { agreed: "wrong", sure: "delete" });
  await says(page, /does not open with this password|Wrong password/);
  await submit(page, "delete-account", { agreed: password, sure: "no" });
  assert.ok(await page.run(`document.getElementById("delete-account").elements.sure.validity.patternMismatch`));
  await submit(page, "delete-account", { agreed: password, sure: "delete" });
  await says(page, /will be deleted from/);
  await signIn(page, people.mary);
  await says(page, /going to be deleted within 30 days/);
  await shoot(page, "account-6-keep-1280-light");
  await click(page, "#keep");
  await isReady(page);
  await page.close();
  welkin("login", ...device("mary"), "--api-token", check.token, "--email", people.mary, "--password-file", `${folder}/password`);
  say("the deletion of an account, and the way back within its time");
}
