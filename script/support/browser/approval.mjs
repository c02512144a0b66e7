// The account's keys between browsers and devices of one person, and what a cloud that lies gets from it.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { personAt } from "./person.mjs";
import { terminalAt } from "./terminal.mjs";

const email = "joan@example.com";
/** Set by the operator: it signs in, and opens no keys. */
const given = "a password by the operator";

export async function checkApproval(check) {
  const { assert, base, say, until, context, open, shoot, device, program, variables, folder, container, secrets, token, operator, running } = check;
  const { text, message, shows, says, click, submit, signIn } = personAt(check);
  const terminal = terminalAt({ program, variables: () => ({ ...variables, CLOUDKIT_ENDPOINT: base, CLOUDKIT_CONTAINER: container, CLOUDKIT_API_TOKEN: token, CLOUDKIT_ENVIRONMENT: "development" }), running, until });
  const login = (profile, file) => execFileSync(program, ["login", ...device(profile), "--api-token", token, "--email", email, "--password-file", `${folder}/${file}`, "--device-name", profile, "--json"], { env: variables, encoding: "utf8" });
  const has = (page, selector) => page.run(`Boolean(document.querySelector(${JSON.stringify(selector)}))`);
  const wait = (page, selector) => until(`${selector} of a page`, () => has(page, selector)).catch(async (error) => {
    throw new Error(`${error.message}; it says: ${await message(page)}; it shows: ${await text(page)}`);
  });
  const isReady = (page) => until("all parts", () => page.run(`document.querySelectorAll("#shares h3").length === 2`));
  const enter = async (word = given, options = {}) => {
    const page = await open(`${base}/account`, { context: await context(), ...options });
    await signIn(page, email, word);
    await isReady(page);
    return page;
  };
  /** The code that a page shows, in a part of it. */
  const code = async (page, part, other) => {
    await until("a code", async () => (await has(page, `#${part} .code`)) && (await page.run(`document.querySelector("#${part} .code").textContent`)) !== other).catch(async (error) => {
      throw new Error(`${error.message}; it says: ${await message(page)}; it shows: ${await text(page)}`);
    });
    return page.run(`document.querySelector("#${part} .code").textContent`);
  };
  const ask = async (page) => {
    await click(page, "#ask-device");
    await wait(page, "#cancel-request");
    return page.run(`document.getElementById("open").innerText.match(/browser ([0-9a-f]{12})/)[1]`);
  };
  /** A page whose requests to the cloud are answered with a lie. */
  const lie = (page, change) => page.run(`{
    const original = window.original ||= window.fetch;
    window.told = 0;
    const change = ${change};
    window.fetch = async (url, options) => {
      const response = await original(url, options);
      if (!String(url).includes("/approvals/list")) return response;
      const answer = await response.clone().json();
      for (const request of answer.requests || []) if (change(request)) window.told += 1;
      return new Response(JSON.stringify(answer), { status: response.status, headers: response.headers });
    };
  }`);
  const told = async (page) => assert.ok((await page.run(`window.told`)) > 0, "the lie was told");
  const honest = (page) => page.run(`{ window.fetch = window.original }`);

  operator("account", "add", email, "--name", "Joan Clarke", "--password-file", `${folder}/password`);
  const made = JSON.parse(login("joan", "password"));
  secrets.add(made.recoveryWords.join(" "));
  writeFileSync(`${folder}/given`, `${given}\n`, { mode: 0o600 });
  operator("account", "password", email, "--password-file", `${folder}/given`);
  secrets.add(given);
  for (const profile of ["joan-tablet", "joan-desk", "joan-phone", "joan-watch"]) login(profile, "given");

  // A browser asks, and is refused; it takes a request back; codes are typed wrongly.
  let page = await enter();
  await shows(page, "your password does not open your encrypted data");
  await shoot(page, "approval-1-without-keys-1280-light");
  await ask(page);
  await shoot(page, "approval-2-asking-1280-light");
  await terminal("joan", "devices", "approve", "--refuse").succeeds(/Refused/);
  await says(page, /Another device of yours has refused/);
  await click(page, "#ask-device");
  await says(page, /has refused this one/);
  await page.close();
  page = await enter();
  await ask(page);
  await click(page, "#cancel-request");
  await says(page, /taken back/);
  await terminal("joan", "devices", "approve").fails(/No device waits/);
  let id = await ask(page);
  let giver = terminal("joan", "devices", "approve", id);
  giver.type(await code(page, "open"));
  await giver.shows(/Type there: (\d{3} \d{3})/);
  for (const wrong of ["1", "12", "000 000"]) {
    await wait(page, "#confirm-keys");
    await submit(page, "confirm-keys", { digits: wrong });
    if (wrong !== "000 000") await says(page, /This is another code/);
  }
  await says(page, /The codes differ. Nothing was given/);
  assert.ok(await has(page, "#ask-device"), "it can ask again");
  giver.child.kill();
  id = await ask(page);
  giver = terminal("joan", "devices", "approve", id);
  await code(page, "open");
  await giver.shows(/The code that/);
  for (const wrong of ["", "1", "yes"]) giver.type(wrong);
  await giver.fails(/codes differ/);
  await says(page, /has refused/);
  await page.close();
  say("a browser without keys asks: refused, taken back, and wrong codes on either side give nothing");

  // A lying cloud beside the browser that asks.
  const deceived = async (change, codes, outcome) => {
    const target = await enter();
    await lie(target, change);
    const asked = await ask(target);
    const other = terminal("joan", "devices", "approve", asked);
    if (codes) {
      const shown = await code(target, "open");
      await other.shows(/The code that/);
      assert.match(shown, /^\d{3} \d{3}$/);
      if (codes === "refused") {
        for (let attempt = 0; attempt < 3; attempt += 1) other.type(shown);
        await other.fails(/codes differ/);
      } else {
        other.type(shown);
      }
    }
    await says(target, outcome);
    await told(target);
    assert.ok(await has(target, "#ask-device"), "the page has no keys");
    other.child.kill();
    await target.close();
  };
  const otherBytes = (size) => Buffer.alloc(size, 9).toString("base64");
  const identityOfAda = await (async () => {
    const ada = await check.appPage(await context());
    await check.signIn(ada, check.people.ada);
    const bytes = await ada.run(`encryption.toBase64(container._connection.keys.identity.bytes)`);
    await ada.close();
    return bytes;
  })();
  await deceived(`(request) => { if (!request.publicKey) return false; request.answer = ${JSON.stringify(otherBytes(32))}; return true }`, null, /The cloud changed the request/);
  await deceived(`(request) => { if (!request.answer) return false; request.answer = ${JSON.stringify(otherBytes(32))}; return true }`, "refused", /has refused/);
  await deceived(`(request) => { request.identity = ${JSON.stringify(identityOfAda)}; return true }`, "refused", /has refused/);
  await deceived(`(request) => { if (!request.sealed) return false; request.sealed = ${JSON.stringify(Buffer.concat([Buffer.from([1]), Buffer.alloc(80, 9)]).toString("base64"))}; return true }`, "right", /The cloud changed the request/);
  say("a cloud that swaps the answer, the identity or the sealed keys is noticed by the browser that asks");

  // The keys, from a device in a terminal; the password opens them from then on.
  page = await enter(given, { width: 390, height: 844 });
  id = await ask(page);
  await shoot(page, "approval-3-asking-390-light", false);
  giver = terminal("joan", "devices", "approve", id);
  giver.type(await code(page, "open"));
  await shoot(page, "approval-4-code-390-light", false);
  const confirmation = (await giver.shows(/Type there: (\d{3} \d{3})/))[1];
  await wait(page, "#confirm-keys");
  await shoot(page, "approval-5-confirm-390-light", false);
  await submit(page, "confirm-keys", { digits: "123" });
  await says(page, /This is another code/);
  await submit(page, "confirm-keys", { digits: confirmation });
  await says(page, /Your encrypted data is open in this page/);
  await giver.succeeds(/has opened the keys/);
  assert.ok(!(await has(page, "#ask-device")), "the page has the keys");
  assert.ok(await page.run(`document.documentElement.scrollWidth <= innerWidth`), "nothing is wider than the page");
  await click(page, "#sign-out");
  await says(page, /signed out/);
  await signIn(page, email, given);
  await isReady(page);
  assert.ok(!(await has(page, "#open")), "the password opens the keys");
  say("a browser got the keys after two codes; the password opens them from then on");

  // The other way: a device asks, the browser gives.
  const lookAgain = async (target) => {
    await until("the request", async () => {
      if (await has(target, "#devices article")) return true;
      await click(target, "#look-again");
      return false;
    });
  };
  const choose = (target, label) => target.run(`[...document.querySelectorAll("#devices article button")].find((button) => button.textContent === ${JSON.stringify(label)}).click()`);
  let asking = terminal("joan-tablet", "keychain", "request");
  await asking.shows(/Approve on a device/);
  await lookAgain(page);
  await shoot(page, "approval-6-request-390-light", false);
  await choose(page, "Approve");
  await submit(page, "agree-approval", { agreed: "wrong" });
  await says(page, /does not open with this password/);
  await shoot(page, "approval-7-agree-390-light", false);
  await submit(page, "agree-approval", { agreed: given });
  await wait(page, "#type-code");
  await shoot(page, "approval-8-type-390-light", false);
  await submit(page, "type-code", { digits: "000" });
  await says(page, /This is another code/);
  await submit(page, "type-code", { digits: (await asking.shows(/Type there: (\d{3} \d{3})/))[1] });
  const there = await code(page, "devices");
  await shoot(page, "approval-9-confirmation-390-light", false);
  await asking.shows(/shows now: /);
  asking.type(there);
  await asking.succeeds(/open here/);
  await says(page, /has opened your keys/);
  await isReady(page);
  say("a device got the keys from a browser");
  await page.close();

  // Refusals and lies beside the browser that gives.
  page = await enter();
  const begin = async (profile) => {
    asking = terminal(profile, "keychain", "request");
    await asking.shows(/Approve on a device/);
    await lookAgain(page);
  };
  await begin("joan-desk");
  await choose(page, "Refuse");
  await says(page, /Refused/);
  await asking.fails(/has refused/);
  const give = async (profile) => {
    await begin(profile);
    await choose(page, "Approve");
    await submit(page, "agree-approval", { agreed: given });
  };
  await give("joan-phone");
  for (const wrong of ["1", "12", "000 000"]) {
    await wait(page, "#type-code");
    await submit(page, "type-code", { digits: wrong });
    if (wrong !== "000 000") await says(page, /This is another code/);
  }
  await says(page, /The codes differ. Nothing was given/);
  await asking.fails(/has refused/);
  await lie(page, `(request) => { if (!request.publicKey) return false; request.publicKey = ${JSON.stringify(otherBytes(32))}; return true }`);
  await give("joan-watch");
  await says(page, /The cloud changed the request/);
  await told(page);
  await asking.fails(/has refused/);
  await honest(page);
  await page.close();
  say("a refusal, wrong codes and a cloud that swaps the new device's key get nothing from a browser");
}
