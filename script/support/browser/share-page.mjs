// What somebody sees who opens the link of a share in a browser without an app.
import { checkSilence } from "./encryption.mjs";
import { personAt } from "./person.mjs";

export async function checkSharePage(check) {
  const { assert, base, people, password, say, until, context, ada, open, shoot } = check;
  const { text, message, shows, says, focus, enter, tab, write, click, signIn } = personAt(check);
  const signedIn = new WeakSet();
  const signInOnce = async (page) => {
    if (signedIn.has(page) || !(await page.run(`Boolean(document.getElementById("sign-in")) && !document.getElementById("message").textContent`))) return false;
    signedIn.add(page);
    await signIn(page, people.mary);
    return false;
  };

  await ada("save", "party", "", "canary-secret-of-the-device party", "canary-file-of-the-device");
  await ada("save", "cake", "party", "canary-secret-of-the-device cake", "canary-file-of-the-device");
  const { url: link } = await ada("share", "party", "write", "");

  // By the keyboard alone, from the link to the content: sign in, accept.
  const graces = await context();
  let page = await open(link, { context: graces });
  await shows(page, "Sign in to this cloud");
  assert.match(await text(page), /Shared party/);
  assert.match(await text(page), /Shared by Ada Lovelace/);
  await shoot(page, "1-sign-in-1280-light");
  assert.equal(await focus(page), "email");
  await write(page, people.grace);
  await tab(page);
  assert.equal(await focus(page), "password");
  await write(page, "wrong");
  await enter(page);
  await says(page, /password is wrong/);
  await page.run(`{ document.querySelector("[name=password]").value = ""; document.querySelector("[name=password]").focus() }`);
  await write(page, password);
  await enter(page);
  await shows(page, "You can read and change it.");
  assert.equal(await focus(page), "accept");
  await shoot(page, "2-accept-1280-light");
  await enter(page);
  await shows(page, "canary-secret-of-the-device cake");
  await shows(page, "Title of party");
  await shoot(page, "3-content-1280-light");
  // Its file, and a change by the keyboard.
  await click(page, "button.file");
  await says(page, /fetched and verified/);
  await page.run(`document.querySelector('[data-record="cake"] button.edit').focus()`);
  await enter(page);
  await until("the form", () => page.run(`document.activeElement.name === "amount"`));
  for (let tries = 0; tries < 24 && (await focus(page)) !== "secret"; tries += 1) await tab(page);
  assert.equal(await focus(page), "secret");
  await page.run(`document.activeElement.select()`);
  await write(page, "canary-secret-of-the-browser cake");
  await shoot(page, "4-edit-1280-light");
  await enter(page);
  await says(page, /Saved/);
  await shows(page, "canary-secret-of-the-browser cake");
  assert.equal((await ada("read", "cake")).secret, "canary-secret-of-the-browser cake");
  await page.close();
  say("a link for all users, by the keyboard alone: sign in, accept, read, fetch a file, change");

  // Narrow and dark.
  page = await open(link, { context: await context(), width: 390, height: 844, isDark: true });
  await shows(page, "Sign in to this cloud");
  await shoot(page, "5-sign-in-390-dark");
  await signIn(page, people.mary);
  await shows(page, "You can read and change it.");
  await shoot(page, "6-accept-390-dark");
  await click(page, "#accept");
  await shows(page, "canary-secret-of-the-device party");
  await shoot(page, "7-content-390-dark");
  assert.ok(await page.run(`document.documentElement.scrollWidth <= innerWidth`), "nothing is wider than the page");
  // Two people change the same record.
  await click(page, '[data-record="party"] button.edit');
  await ada("retitle", "party", "Another title");
  await page.run(`{ const input = document.querySelector('[name="title"]'); input.value = "Mine"; input.form.requestSubmit() }`);
  await says(page, /Somebody else changed it meanwhile/);
  await shows(page, "Another title");
  // The network goes away, and comes back.
  await page.call("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await says(page, /cannot be reached/);
  await shoot(page, "8-offline-390-dark");
  await page.call("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await until("the message to go", async () => (await message(page)) === "");
  // The share is stopped while the page is open.
  await ada("stop", "party");
  await says(page, /not shared with you any more/);
  await shoot(page, "9-stopped-390-dark");
  assert.ok(!(await text(page)).includes("canary"), "nothing of it stays");
  await page.close();
  page = await open(link, { context: await context() });
  await until("the page", async () => /leads nowhere|opens nothing/.test(await text(page)) || (await signInOnce(page)));
  await page.close();
  say("two who change the same, no network, a share that is stopped: a sentence each");

  // A share for one person.
  await ada("save", "private", "", "canary-secret-of-the-device private", "canary-file-of-the-device");
  const { url: invitation } = await ada("share", "private", "none", people.grace);
  page = await open(invitation, { context: await context() });
  await shows(page, "Something is shared with you");
  assert.ok(!(await text(page)).includes("Shared private"), "the title is shown after signing in");
  await signIn(page, people.mary);
  await says(page, /opens nothing for you/);
  await shoot(page, "10-foreign-1280-light");
  await click(page, "#viewer button");
  await says(page, /Asked/);
  await click(page, "#sign-out");
  await signIn(page, people.grace);
  await shows(page, "You can read and change it.");
  assert.match(await text(page), /Shared private/);
  await click(page, "#accept");
  await shows(page, "canary-secret-of-the-device private");
  // Reloading needs no sign-in, and an accepted link no click.
  await page.call("Page.reload");
  await shows(page, "canary-secret-of-the-device private");
  await page.close();
  say("an invitation: title and owner after signing in, nothing for others");

  // One-time links are used once.
  const { url: once } = await ada("one-time", "private");
  assert.match(once, /#k=/);
  page = await open(once, { context: await context() });
  await signIn(page, people.mary);
  await shows(page, "You can read it.");
  await click(page, "#accept");
  await shows(page, "canary-secret-of-the-device private");
  assert.equal(await page.run(`document.querySelectorAll("button.edit").length`), 0);
  await page.close();
  const strangers = await context();
  page = await open(once, { context: strangers });
  await signIn(page, people.eve);
  await says(page, /opens nothing for you/);
  await page.close();

  // Forged and cut ones.
  page = await open(`${base}/share/0123456789abcdefghijkl`, {});
  assert.match(await text(page), /leads nowhere/);
  await page.close();
  page = await open(invitation.replace(/#.*/, "") + "#k=" + "A".repeat(30), { context: await context() });
  await says(page, /was cut or changed/);
  await page.close();
  page = await open(link.replace(/^http:\/\/127\.0\.0\.1/, "http://cloud.test").replace(/share\/.*/, `share/${invitation.split("/share/")[1]}`), {});
  await says(page, /no encryption to pages without HTTPS. Open the link by an address that begins with https, or in an app/);
  assert.equal(await page.run(`document.getElementById("app").open`), true, "how to open it in an app");
  await shoot(page, "11-plain-http-1280-light");
  await page.close();
  const query = new URLSearchParams({ container: check.container, environment: "development", ckAPIToken: check.token });
  page = await open(`${base.replace("127.0.0.1", "cloud.test")}/sign-in?${query}`, {});
  await says(page, /no encryption to pages without HTTPS/);
  assert.equal(await page.run(`document.querySelector("#sign-in button").disabled`), true);
  assert.match(await page.run(`{
    const { CloudKit } = await import("/welkin/1/welkin.js");
    const encryption = await import("/welkin/1/welkin-encryption.js");
    CloudKit.configure({ encryption, containers: [{ containerIdentifier: "${check.container}", apiTokenAuth: { apiToken: "${check.token}" } }] });
    return CloudKit.getDefaultContainer().signIn({ email: "a@example.com", password: "b" }).then(() => "", (error) => error.message);
  }`), /no encryption to this page. Open it by an address that begins with https/);
  await page.close();
  say("one-time links that were used, forged, cut, and plain HTTP: a sentence each");

  // The session ends while the page is open, and the cloud stops and comes back.
  await ada("save", "lasting", "", "canary-secret-of-the-device lasting", "canary-file-of-the-device");
  const { url: lasting } = await ada("share", "lasting", "read", "");
  page = await open(lasting, { context: await context() });
  await signIn(page, people.mary);
  await shows(page, "You can read it.");
  await click(page, "#accept");
  await shows(page, "canary-secret-of-the-device lasting");
  await page.run(`{
    const [key] = Object.keys(sessionStorage).filter((name) => name.startsWith("welkin "));
    const query = new URLSearchParams({ ckAPIToken: document.getElementById("viewer").dataset.token, ckWebAuthToken: sessionStorage.getItem(key) });
    const answer = await fetch("/device/1/${check.container}/development/sessions/delete?" + query, { method: "POST", body: "{}" });
    if (!answer.ok) throw new Error("the session stays");
  }`);
  await says(page, /You are signed out: the session has ended. Sign in again./);
  assert.ok(!(await text(page)).includes("canary"), "nothing of it stays");
  await shoot(page, "13-session-over-1280-light");
  await signIn(page, people.mary);
  await shows(page, "canary-secret-of-the-device lasting");
  await check.restart(async () => {
    await says(page, /The cloud cannot be reached. Check the connection and try again./);
    assert.match(await text(page), /canary-secret-of-the-device lasting/, "what was read stays");
  });
  await until("the message to go", async () => (await message(page)) === "");
  await page.close();
  page = await open(lasting, { context: await context() });
  await shows(page, "Sign in to this cloud");
  await check.restart(async () => {
    await signIn(page, people.mary);
    await says(page, /cannot be reached/);
  });
  await click(page, "#retry");
  await shows(page, "canary-secret-of-the-device lasting");
  await page.close();
  say("a session that ends, and a cloud that stops and comes back: a sentence each, and the page goes on");

  // Labels, headings, language; both schemes have enough contrast, as far as a script can tell.
  page = await open(invitation, { context: await context(), isDark: true });
  await shows(page, "Sign in to this cloud");
  await shoot(page, "12-sign-in-1280-dark");
  const basics = await page.run(`{
    const inputs = [...document.querySelectorAll("input, button")];
    return { lang: document.documentElement.lang, headings: document.querySelectorAll("h1").length, unlabelled: inputs.filter((item) => !item.labels?.length && !item.textContent && !item.ariaLabel).length,
      live: document.querySelector("[aria-live]") !== null, images: [...document.images].filter((image) => !image.hasAttribute("alt")).length };
  }`);
  assert.deepEqual(basics, { lang: "en", headings: 1, unlabelled: 0, live: true, images: 0 });
  const policy = (await fetch(invitation.split("#")[0])).headers.get("content-security-policy");
  assert.match(policy, /default-src 'none'; script-src 'self'/);
  assert.ok(!policy.includes("unsafe"));
  const integrities = [...(await (await fetch(invitation.split("#")[0])).text()).matchAll(/<script type="module" src="([^"]+)" integrity="([^"]+)"/g)];
  assert.equal(integrities.length, 4);
  await page.close();
  checkSilence(check, [link, invitation.includes("#k=") ? invitation : link, once]);
}
