// Passkeys on the cloud's pages, with authenticators that the browser simulates: with and without PRF.
import { personAt } from "./person.mjs";

/** Gives a page an authenticator with a screen lock that the person passes. */
export async function addAuthenticator(page, hasPrf) {
  await page.call("WebAuthn.enable");
  await page.call("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2", ctap2Version: "ctap2_1", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true,
      automaticPresenceSimulation: true, hasPrf,
    },
  });
}

export async function checkPasskeys(check) {
  const { assert, base, people, password, say, until, context, ada, open, shoot, seen, container, token } = check;
  const { text, message, shows, says, click, submit, signIn } = personAt(check);
  // Browsers have passkeys for names of hosts.
  const local = base.replace("127.0.0.1", "localhost");
  const isReady = (page) => until("all parts", () => page.run(`document.querySelectorAll("#shares h3").length === 2`)).catch(async (error) => {
    throw new Error(`${error.message}; it says: ${await message(page)}; it shows: ${await text(page)}`);
  });
  const listed = (page) => page.run(`[...document.querySelectorAll("#passkeys li")].map((item) => item.textContent)`);

  await ada("save", "passkeys", "", "canary-secret-of-the-device passkeys", "canary-file-of-the-device passkeys");
  const numeric = await open(`${base}/account`, { context: await context() });
  await signIn(numeric, people.ada);
  await isReady(numeric);
  await shows(numeric, "The browser has no passkeys at this address");
  await numeric.close();

  const page = await open(`${local}/account`, { context: await context() });
  await addAuthenticator(page, true);
  // What the authenticator computes is noted in the page, to be looked for in every request.
  const note = () => page.run(`{
    const original = PublicKeyCredential.prototype.getClientExtensionResults;
    PublicKeyCredential.prototype.getClientExtensionResults = function () {
      const results = original.call(this);
      const output = results.prf?.results?.first;
      if (output) (window.outputs ||= []).push(btoa(String.fromCharCode(...new Uint8Array(output))));
      return results;
    };
  }`);
  await until("the form", () => page.run(`Boolean(document.getElementById("sign-in"))`));
  await note();
  await click(page, "#use-passkey");
  await says(page, /No passkey was used/);
  await signIn(page, people.ada);
  await isReady(page);
  await submit(page, "add-passkey", { name: "Laptop", agreed: "wrong" });
  await says(page, /does not open with this password/);
  await submit(page, "add-passkey", { name: "Laptop", agreed: password });
  await says(page, /It signs you in and opens your encrypted data/);
  assert.match((await listed(page)).join(), /Laptop, since .*; opens your encrypted data/);
  await submit(page, "add-passkey", { name: "Twice", agreed: password });
  await says(page, /has a passkey for the account already/);
  await page.run(`document.getElementById("passkeys").scrollIntoView()`);
  await shoot(page, "passkeys-1-1280-light");
  await click(page, "#sign-out");
  await says(page, /signed out/);

  await click(page, "#use-passkey");
  await isReady(page);
  await shows(page, `Signed in as ${people.ada}`);
  await click(page, "#make");
  await says(page, /are ready/);
  assert.doesNotMatch(await message(page), /incomplete/);
  const outputs = await page.run(`window.outputs`);
  assert.ok(outputs.length >= 2 && new Set(outputs).size === 1, "one authenticator computes one key");
  for (const { body } of seen.requests) assert.ok(!body.includes(outputs[0]), "a request has what the authenticator computed");
  say("a passkey with PRF: made after the password, signs in and opens what a device encrypted");

  // The window for signing in to an app.
  const load = async (url) => {
    await page.run(`{ setTimeout(() => { location.href = ${JSON.stringify(url)} }, 0) }`);
    await until("the page", () => page.run(`location.href === ${JSON.stringify(url)} && document.readyState === "complete"`).catch(() => false));
  };
  await load(`${local}/sign-in?container=${container}&environment=development&ckAPIToken=${token}`);
  await until("the button", () => page.run(`document.getElementById("use-passkey").getClientRects().length > 0`));
  await click(page, "#use-passkey");
  await says(page, /You are signed in/);

  // A removed passkey signs nobody in.
  await load(`${local}/account`);
  await until("the button", () => page.run(`Boolean(document.getElementById("use-passkey"))`));
  await click(page, "#use-passkey");
  await isReady(page);
  assert.match((await listed(page)).join(), /last used/);
  await click(page, `#passkeys li button`);
  await says(page, /is removed/);
  assert.deepEqual(await listed(page), []);
  await click(page, "#sign-out");
  await says(page, /signed out/);
  await click(page, "#use-passkey");
  await says(page, /The passkey was not accepted/);
  await page.close();

  // An authenticator without PRF.
  const plain = await open(`${local}/account`, { context: await context(), width: 390, height: 844, isDark: true });
  await addAuthenticator(plain, false);
  await signIn(plain, people.ada);
  await isReady(plain);
  await submit(plain, "add-passkey", { name: "Security key", agreed: password });
  await says(plain, /it does not open your encrypted data/);
  await click(plain, "#sign-out");
  await says(plain, /signed out/);
  await click(plain, "#use-passkey");
  await until("the page", () => plain.run(`Boolean(document.getElementById("passkeys"))`));
  await shows(plain, "what signed you in computes no key");
  await submit(plain, "open-keys", { agreed: password });
  await says(plain, /Your encrypted data is open in this page/);
  await plain.run(`document.getElementById("passkeys").scrollIntoView()`);
  await shoot(plain, "passkeys-2-390-dark");
  assert.ok(await plain.run(`document.documentElement.scrollWidth <= innerWidth`), "nothing is wider than the page");
  await click(plain, `#passkeys li button`);
  await says(plain, /is removed/);
  await plain.close();
  say("a passkey in the window of an app, a removed one, one without PRF");
}
