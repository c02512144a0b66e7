// Signing in with the cloud's window: a page of another site gets keys, never the password, and only if the person agrees.

import { checkSilence } from "./encryption.mjs";

export async function checkWindow(check) {
  const { assert, ada, app, base, browser, container, context, open, password, people, say, seen, startApp, until, welkin, device } = check;
  // Another site than the cloud's, since "localhost" and "127.0.0.1" are two.
  const site = await startApp("localhost");
  const { token } = JSON.parse(welkin("token", "create", container, "--origin", site, "--json"));
  const { token: free } = JSON.parse(welkin("token", "create", container, "--json"));
  await ada("save", "window", "", "canary-secret-of-the-device window", "canary-file-of-the-device");

  /** A page of an origin with welkin.js and a token, which notes every message that it gets. */
  async function appPage(origin, apiToken) {
    const profile = await context();
    const page = { ...(await open(`${origin}/`, { context: profile })), profile };
    await load(page, apiToken);
    return page;
  }

  async function load(page, apiToken) {
    await page.run(`{
      const { CloudKit } = await import("${base}/welkin/1/welkin.js");
      const encryption = await import("${base}/welkin/1/welkin-encryption.js");
      CloudKit.configure({ endpoint: "${base}", encryption, containers: [{ containerIdentifier: "${container}", environment: "development", apiTokenAuth: { apiToken: "${apiToken}" } }] });
      window.container = CloudKit.getDefaultContainer();
      window.messages = [];
      addEventListener("message", ({ data, origin }) => messages.push({ data, origin }));
      await container.setUpAuth();
    }`);
  }

  const begin = (page) => page.run(`{ window.entering = container.signIn().then((user) => user.userRecordName, (error) => error.ckErrorCode); }`);
  /** Takes control of the window that a page has opened. */
  async function windowOf() {
    const target = await until("the window for signing in", async () =>
      (await browser.send("Target.getTargets")).targetInfos.find(({ type, url }) => type === "page" && url.includes("/sign-in?")));
    const view = await browser.attach(target.targetId, {
      watch: ({ method, params }) => {
        if (method === "Network.requestWillBeSent") seen.requests.push({ url: params.request.url, headers: JSON.stringify(params.request.headers), body: params.request.postData || "" });
      },
    });
    await until("its form", () => view.run(`document.readyState === "complete" && Boolean(document.getElementById("sign-in"))`));
    const isGone = async () => !(await browser.send("Target.getTargets")).targetInfos.some(({ targetId }) => targetId === target.targetId);
    return { ...view, isGone };
  }
  const submit = (view, { agrees = false, word = password } = {}) => view.run(`{
    const form = document.getElementById("sign-in");
    form.elements.email.value = ${JSON.stringify(people.ada)};
    form.elements.password.value = ${JSON.stringify(word)};
    if (${agrees}) form.elements.keys.click();
    form.requestSubmit();
  }`);
  const isOffered = (view) => view.run(`document.getElementById("keys").getClientRects().length > 0`);

  // The person agrees: keys that work, that no script can read out, and that outlive a reload.
  const page = await appPage(site, token);
  await begin(page);
  let view = await windowOf();
  assert.equal(await isOffered(view), true);
  assert.equal(await view.run(`document.querySelector("[name=keys]").checked`), false, "nobody has agreed so far");
  assert.match(await view.run(`document.querySelector("main").innerText`), new RegExp(`Let ${site} read and write my encrypted data`));
  await check.shoot(view, "sign-in-window");
  await submit(view, { agrees: true, word: "wrong" });
  await until("the refusal", async () => /password/.test(await view.run(`document.getElementById("message").textContent`)));
  assert.equal(await view.run(`document.querySelector("[name=keys]").checked`), true);
  await submit(view);
  assert.match(await page.run(`window.entering`), /^_/);
  await until("the window to close", view.isGone);
  assert.equal(await page.run(`container.hasKeys`), true);
  const given = await page.run(`{
    const { data, origin } = messages.find(({ data }) => data?.ckWebAuthToken);
    const keys = Object.values(data.account).filter((value) => value instanceof CryptoKey);
    const read = await Promise.all(keys.map((key) => crypto.subtle.exportKey(key.type === "secret" ? "raw" : "pkcs8", key).then(() => "read", (error) => error.name)));
    return { origin, names: Object.keys(data).sort(), extractable: keys.map((key) => key.extractable), read, text: JSON.stringify(data) };
  }`);
  assert.equal(given.origin, base);
  assert.deepEqual(given.names, ["account", "ckSession", "ckWebAuthToken", "userRecordName"]);
  assert.deepEqual([given.extractable, given.read], [[false, false, false], ["InvalidAccessError", "InvalidAccessError", "InvalidAccessError"]]);
  assert.ok(!given.text.includes(password));
  const work = (name) => page.run(`{
    const database = container.privateCloudDatabase, zoneID = { zoneName: "Notes" };
    const [record] = (await database.fetchRecords("window", { zoneID })).orThrow().records;
    const saved = await database.saveRecords({ recordName: "${name}", recordType: "Note", fields: { secret: { value: "canary-secret-of-the-browser ${name}", isEncrypted: true } } }, { zoneID });
    return [record.fields.secret.value, saved.errors.map(String)];
  }`);
  assert.deepEqual(await work("by-window"), ["canary-secret-of-the-device window", []]);
  assert.equal((await ada("read", "by-window")).secret, "canary-secret-of-the-browser by-window");
  await page.reload();
  await load(page, token);
  assert.equal(await page.run(`container.hasKeys`), true, "a page that is loaded again has its keys");
  assert.deepEqual(await work("after-reload"), ["canary-secret-of-the-device window", []]);
  // The cloud's own origin keeps nothing of it.
  assert.deepEqual((await (await open(`${base}/`, { context: page.profile })).run(`(await indexedDB.databases()).map(({ name }) => name)`)), []);
  say("the window of the cloud gives a page of another site keys that work and cannot be read out");

  // Without agreement, with a closed window, and where the owner forbids browsers the keys.
  const signInAgain = async (options) => {
    await page.run(`container.signOut()`);
    await page.run(`container.setUpAuth()`);
    await begin(page);
    view = await windowOf();
    await submit(view, options);
    await page.run(`window.entering`);
    await until("the window to close", view.isGone);
    return [await page.run(`container.hasKeys`), await page.run(`container.keysMissingReason`)];
  };
  const [hasKeys, reason] = await signInAgain();
  assert.equal(hasKeys, false);
  assert.match(reason, /agree there/);
  welkin("keychain", "web", "off", ...device("ada"));
  const withheld = await signInAgain({ agrees: true });
  assert.equal(withheld[0], false);
  assert.match(withheld[1], /no browser/);
  welkin("keychain", "web", "on", ...device("ada"));
  assert.deepEqual(await signInAgain({ agrees: true }), [true, null]);
  await page.close();
  say("no keys without agreement, nor where the account's owner forbids browsers the keys");

  // An origin that the token does not name gets nothing: neither for itself, nor in the name of one that it names.
  const other = await open(`${app}/`, { context: await context() });
  const address = `${base}/sign-in?${new URLSearchParams({ container, environment: "development", ckAPIToken: token })}`;
  for (const asked of [app, site]) {
    await other.run(`{ window.messages = []; addEventListener("message", ({ data }) => messages.push(data)); window.opened = open(${JSON.stringify(`${address}#keys=${asked}`)}, "_blank", "width=400,height=400"); }`);
    view = await windowOf();
    assert.equal(await isOffered(view), asked === site);
    await submit(view, { agrees: asked === site });
    await until("the window to close", view.isGone);
    assert.deepEqual(await other.run(`messages`), [], `a page of ${app} got what was meant for ${site}`);
  }
  await other.close();

  // A token for any origin gives a session to all, and keys to none.
  const any = await appPage(site, free);
  await begin(any);
  view = await windowOf();
  assert.equal(await isOffered(view), false);
  await submit(view);
  await any.run(`window.entering`);
  assert.equal(await any.run(`container.hasKeys`), false);
  assert.match(await any.run(`container.keysMissingReason`), /token create --origin/);
  await any.close();
  // An address that nobody opened offers nothing, and neither does a framed one.
  view = await open(`${address}#keys=${site}`, { context: await context() });
  assert.equal(await isOffered(view), false);
  await view.close();
  assert.match((await fetch(address)).headers.get("content-security-policy"), /frame-ancestors 'none'/);
  checkSilence(check, []);
  say("no keys for pages that the API token does not name, for tokens of any origin, and without an opener");
}
