// Encrypted records between a device with the Swift framework and browsers, and everything that a lying cloud may try.

const canaries = { secret: "canary-secret-of-the-device", file: "canary-file-of-the-device", browser: "canary-secret-of-the-browser", blob: "canary-file-of-the-browser" };

export async function checkEncryption(check) {
  const { assert, app, base, people, password, say, until, appPage, context, ada, seen, sources, readFileSync, welkin, device } = check;
  const read = (path) => readFileSync(`${sources}/${path}`, "utf8");
  const page = await appPage(await context());
  const run = (body) => page.run(`{ ${body} }`);

  const vectors = await run(`
    const { checkVectors } = await import("${app}/vectors.mjs");
    return checkVectors(encryption, ${read("Tests/CloudKitEncryptionTests/Vectors/vectors.json")}, ${read("Tests/IdentityDirectoryTests/Vectors/directory.json")},
      ${JSON.stringify(read("Sources/CloudKitEncryption/Users/RecoveryWords.swift").split('"""')[1].split(/\s+/).filter(Boolean))},
      await import("${base}/welkin/1/recovery-words.js"), await import("${base}/welkin/1/passkeys.js"), await import("${base}/welkin/1/key-approval.js"));`);
  assert.deepEqual(vectors.problems, []);
  say(`${vectors.count} vectors of encryption and directory hold`);

  // From a device to the browser of the same account.
  await ada("save", "root", "", canaries.secret, canaries.file);
  await ada("save", "child", "root", `${canaries.secret} 2`, canaries.file.repeat(20_000));
  const { hasKeys, user } = await check.signIn(page, people.ada);
  assert.equal(hasKeys, true);
  await run(`window.zoneID = { zoneName: "Notes" }`);
  const opened = await run(`
    const response = await db.fetchRecords(["root", "child"], { zoneID });
    if (response.hasErrors) return { errors: response.errors.map(String) };
    window.root = response.records[0]; window.child = response.records[1];
    return { errors: response.errors.map(String), fields: root.fields, second: child.fields.secret.value, size: (await db.fetchAsset(child.fields.file.value)).size, file: await (await db.fetchAsset(root.fields.file.value)).text() };`);
  assert.deepEqual(opened.errors, []);
  assert.deepEqual(opened.fields.secret, { value: canaries.secret, type: "STRING", isEncrypted: true });
  assert.deepEqual([opened.fields.amount.value, opened.fields.tags.value, opened.fields.due.value, opened.fields.title.value], [42.5, ["one", "two"], 1_700_000_000_000, "Title of root"]);
  assert.deepEqual([opened.second, opened.size, opened.file], [`${canaries.secret} 2`, canaries.file.length * 20_000, canaries.file]);
  assert.deepEqual(await run(`const [zone] = (await db.fetchRecordZoneChanges({ zoneID })).zones; return [zone.hasErrors, zone.records.map((record) => record.fields.secret.value)]`),
    [false, [canaries.secret, `${canaries.secret} 2`]]);
  assert.deepEqual(await run(`const response = await db.fetchRecords("root", { zoneID, desiredKeys: ["title"] }); return [response.hasErrors, Object.keys(response.records[0].fields)]`), [false, ["title"]]);

  // From the browser to the device.
  const made = await run(`
    const response = await db.saveRecords([
      { recordName: "web", recordType: "Note", fields: { title: "From the browser", secret: { value: "${canaries.browser}", isEncrypted: true }, file: new Blob(["${canaries.blob}"]) } },
      { recordName: "web-child", recordType: "Note", parent: { recordName: "web" }, fields: { secret: { value: "${canaries.browser} child", isEncrypted: true } } },
    ], { zoneID });
    window.web = response.records[0];
    return [response.errors.map(String), response.records.map((record) => record.fields.secret.value)];`);
  assert.deepEqual(made, [[], [canaries.browser, `${canaries.browser} child`]]);
  assert.deepEqual(await ada("read", "web"), { title: "From the browser", secret: canaries.browser, file: canaries.blob });
  assert.equal((await ada("read", "web-child")).secret, `${canaries.browser} child`);
  const changed = await run(`
    const one = await db.saveRecords({ ...web, fields: { secret: { value: "${canaries.browser} changed", isEncrypted: true } } }, { zoneID });
    const two = await db.saveRecords({ recordName: "root", recordType: "Note", fields: { secret: { value: "${canaries.browser} forced", isEncrypted: true } } }, { zoneID, operationType: "forceUpdate" });
    const stale = await db.saveRecords({ ...web, fields: { secret: { value: "lost", isEncrypted: true } } }, { zoneID });
    const plain = await db.saveRecords({ ...two.records[0], fields: { title: "Another title" } }, { zoneID });
    const removed = await db.saveRecords({ ...one.records[0], fields: { file: { value: null } } }, { zoneID });
    return [one.errors.map(String), two.errors.map(String), stale.errors.map((error) => error.ckErrorCode), plain.errors.map(String), removed.errors.map(String)];`);
  assert.deepEqual(changed, [[], [], ["CONFLICT"], [], []]);
  assert.deepEqual(await ada("read", "web"), { title: "From the browser", secret: `${canaries.browser} changed` });
  assert.deepEqual(await ada("read", "root"), { title: "Another title", secret: `${canaries.browser} forced`, file: canaries.file });
  const parts = await run(`
    const records = [{ recordName: "lonely", recordType: "Note", fields: { secret: { value: true, isEncrypted: true } } }, { recordName: "company", recordType: "Note", fields: { secret: { value: "x", isEncrypted: true } } }];
    const all = await db.saveRecords(records, { zoneID });
    const each = await db.saveRecords(records, { zoneID, atomic: false });
    return [all.errors.map((error) => error.ckErrorCode), each.errors.map((error) => error.ckErrorCode), each.records.map((record) => record.recordName)];`);
  assert.deepEqual(parts, [["ENCRYPTION_ERROR", "ATOMIC_ERROR"], ["ENCRYPTION_ERROR"], ["company"]]);
  const late = await run(`
    const again = { zoneName: "Again" };
    for (const step of ["saveRecordZones", "deleteRecordZones", "saveRecordZones"]) await db[step](again);
    const { now } = Date;
    Date.now = () => now() - 60_000;
    try {
      const response = await db.saveRecords({ recordName: "late", recordType: "Note", fields: { secret: { value: "from a clock behind", isEncrypted: true } } }, { zoneID: again });
      return response.errors.map(String);
    } finally {
      Date.now = now;
    }`);
  assert.deepEqual(late, []);
  say("a device and a browser of one account read and change each other's records and files");

  // Keys are kept, and cannot be read out.
  const keptKeys = await run(`
    const all = await new Promise((done) => { const request = indexedDB.open("welkin"); request.onsuccess = () => { const rows = request.result.transaction("kept").objectStore("kept").getAll(); rows.onsuccess = () => done(rows.result); } });
    const account = all.find((row) => row.root);
    const exported = await Promise.all(["root", "signingKey", "agreementKey"].map((name) => crypto.subtle.exportKey(name === "root" ? "raw" : "pkcs8", account[name]).then(() => "exported", (error) => error.name)));
    setUp({ encryption });
    await container.setUpAuth();
    return [exported, container.hasKeys, (await db.fetchRecords("child", { zoneID })).records[0].fields.secret.value];`);
  assert.deepEqual(keptKeys, [["InvalidAccessError", "InvalidAccessError", "InvalidAccessError"], true, `${canaries.secret} 2`]);
  assert.deepEqual(await run(`setUp(); await container.setUpAuth(); const [record] = (await db.fetchRecords("child", { zoneID })).records; return [container.hasKeys, record.fields.secret.type, await failure(db.saveRecords({ recordName: "x", recordType: "Note", fields: { secret: { value: "x", isEncrypted: true } } }, { zoneID }))]`),
    [false, "ENCRYPTED_BYTES", "ENCRYPTION_ERROR"]);

  // What a lying cloud changes is noticed.
  const lies = {
    "a field of another record": `answer.records[0].fields.secret.value = answer.records[1].fields.secret.value`,
    "another field's value": `answer.records[0].fields.secret = answer.records[0].fields.amount`,
    "an older value": `answer.records[0].fields.secret.value = old`,
    "no statement": `delete answer.records[0].protection.statement`,
    "no protection": `delete answer.records[0].protection`,
    "a plain value": `answer.records[0].fields.secret = { value: "forged", type: "STRING" }`,
    "a value less": `delete answer.records[0].fields.secret`,
    "another parent": `answer.records[0].parent = { recordName: "web" }`,
    "another type": `answer.records[0].recordType = "Other"`,
    "another creator": `answer.records[0].created.userRecordName = "_0123456789abcdef0123456789abcdef"`,
    "another creation date": `answer.records[0].created.timestamp += 1`,
    "another epoch": `answer.records[0].protection.epoch = 1`,
    "another file's key": `answer.records[0].fields.file.value.wrappingKey = answer.records[1].fields.file.value.wrappingKey`,
  };
  await run(`window.oldSecret = null; window.lie = null;
    setUp({ encryption, fetch: async (url, options) => {
      const response = await fetch(url, options);
      if (!window.lie || !url.includes("records/lookup")) return response;
      const answer = await response.json();
      window.lie(answer);
      return new Response(JSON.stringify(answer), { status: response.status, headers: response.headers });
    } });
    await container.setUpAuth();`);
  const raw = await run(`const [record] = (await db._call("records/lookup", { zoneID, records: [{ recordName: "root" }] }, { isNative: true })).records; window.rawRoot = record; return record.protection.statement`);
  await run(`await db.saveRecords({ recordName: "root", recordType: "Note", fields: { secret: { value: "newest", isEncrypted: true } } }, { zoneID, operationType: "forceUpdate" })`);
  for (const [name, body] of Object.entries(lies)) {
    const outcome = await run(`const old = rawRoot.fields.secret.value; window.lie = (answer) => { ${body} }; const response = await db.fetchRecords(["root", "child"], { zoneID }); window.lie = null; return response.errors.map((error) => error.ckErrorCode)`);
    assert.deepEqual(outcome, ["ENCRYPTION_ERROR"], name);
  }
  const rolledBack = await run(`window.lie = (answer) => { answer.records[0] = rawRoot }; const response = await db.fetchRecords(["root", "child"], { zoneID }); window.lie = null; return response.errors.map((error) => error.reason)`);
  assert.match(rolledBack[0], /older version/);
  void raw;
  say(`${Object.keys(lies).length + 1} lies of a cloud about a record are noticed`);

  // A share by invitation.
  const { url: invitation } = await ada("share", "root", "none", people.grace);
  const grace = await appPage(await context());
  await check.signIn(grace, people.grace);
  const graceRun = (body) => grace.run(`{ ${body} }`);
  await graceRun(`window.link = ${JSON.stringify(invitation)}; window.shared = container.sharedCloudDatabase`);
  const joined = await graceRun(`
    const accepted = await container.acceptShares(link);
    if (accepted.hasErrors) return accepted.errors.map(String);
    window.zoneID = accepted.results[0].zoneID;
    const response = await shared.fetchRecords(["root", "child"], { zoneID });
    return [response.errors.map(String), response.records.map((record) => record.fields.secret.value), await (await shared.fetchAsset(response.records[0].fields.file.value)).text()];`);
  assert.deepEqual(joined, [[], ["newest", `${canaries.secret} 2`], canaries.file]);
  const written = await graceRun(`
    const [child] = (await shared.fetchRecords("child", { zoneID })).records;
    const response = await shared.saveRecords([
      { ...child, fields: { secret: { value: "${canaries.browser} by Grace", isEncrypted: true } } },
      { recordName: "grace", recordType: "Note", parent: { recordName: "child" }, fields: { title: "Grace's", secret: { value: "${canaries.browser} Grace's own", isEncrypted: true }, file: new Blob(["${canaries.blob} Grace"]) } },
    ], { zoneID });
    return response.errors.map(String);`);
  assert.deepEqual(written, []);
  assert.equal((await ada("read", "child")).secret, `${canaries.browser} by Grace`);
  assert.deepEqual(await ada("read", "grace"), { title: "Grace's", secret: `${canaries.browser} Grace's own`, file: `${canaries.blob} Grace` });
  assert.equal(await run(`const response = await db.fetchRecords("grace", { zoneID }); return response.errors.map(String)[0] ?? response.records[0].fields.secret.value`), `${canaries.browser} Grace's own`);
  // The cloud's directory vouches for the owner's keys, and a cloud that shows others is refused.
  const pinned = await graceRun(`
    const zone = container._connection.keys.zone(zoneID);
    const exchanged = await container._connection.keys.trust(container._connection.keys.identity, zone.zoneID.ownerRecordName, true).then(() => "trusted", (error) => error.message);
    return exchanged;`);
  assert.match(pinned, /other ones than before/);
  say("a share by invitation: read and written by the participant's browser, the owner's device and browser");

  // A share by link.
  await ada("save", "linked", "", `${canaries.secret} linked`, canaries.file);
  await ada("save", "linked-child", "linked", `${canaries.secret} below`, canaries.file);
  const { url: link } = await ada("share", "linked", "write", "");
  assert.match(link, /#k=/);
  const mary = await appPage(await context());
  await check.signIn(mary, people.mary);
  const byLink = await mary.run(`{
    window.shared = container.sharedCloudDatabase;
    const infos = await container.fetchRecordInfos(${JSON.stringify(link)}, { shouldFetchRootRecord: true });
    if (infos.hasErrors) return infos.errors.map(String);
    const accepted = await container.acceptShares(${JSON.stringify(link)});
    window.zoneID = accepted.results[0].zoneID;
    const response = await shared.fetchRecords(["linked", "linked-child"], { zoneID });
    const saved = await shared.saveRecords({ ...response.records[1], fields: { secret: { value: "${canaries.browser} by Mary", isEncrypted: true } } }, { zoneID });
    return [infos.results[0].rootRecord.fields.secret.value, response.errors.map(String), saved.errors.map(String)];
  }`);
  assert.deepEqual(byLink, [`${canaries.secret} linked`, [], []]);
  assert.equal((await ada("read", "linked-child")).secret, `${canaries.browser} by Mary`);
  // After the owner's device has seen the proof, Mary has a key of her own.
  await ada("look", "linked");
  say("a share by link: its secret stays in the page, and opens what is shared");

  // A share that begins in a browser.
  const begun = await run(`
    const [root] = (await db.fetchRecords("web", { zoneID })).records;
    const share = await db.createShare(root, { zoneID, title: "From the browser", publicPermission: "READ_ONLY" });
    return share.url;`);
  assert.match(begun, /#k=/);
  const ofBrowser = await mary.run(`{
    const accepted = await container.acceptShares(${JSON.stringify(begun)});
    if (accepted.hasErrors) return accepted.errors.map(String);
    const response = await shared.fetchRecords(["web", "web-child"], { zoneID: accepted.results[0].zoneID });
    return [response.errors.map(String), response.records.map((record) => record.fields.secret.value)];
  }`);
  assert.deepEqual(ofBrowser, [[], [`${canaries.browser} changed`, `${canaries.browser} child`]]);
  assert.equal((await ada("look", "web")).participants, "2");
  await ada("save", "invited", "", `${canaries.secret} invited`, canaries.file);
  const invited = await run(`
    const [root] = (await db.fetchRecords("invited", { zoneID })).records;
    const share = await db.createShare(root, { zoneID, participants: [{ emailAddress: "${people.grace}" }] });
    return share.url;`);
  const waits = await graceRun(`
    const accepted = await container.acceptShares(${JSON.stringify(invited)});
    window.invited = () => shared.fetchRecords("invited", { zoneID });
    return (await invited()).errors.map((error) => error.ckErrorCode)`);
  assert.deepEqual(waits, ["WAITING_FOR_KEY"]);
  await ada("look", "invited");
  assert.equal(await graceRun(`const response = await invited(); return response.errors.map(String)[0] ?? response.records[0].fields.secret.value`), `${canaries.secret} invited`);
  say("shares that begin in a browser: a link works at once, an invited person after a device of the owner was active");

  // The account's owner decides whether browsers get the keys.
  welkin("keychain", "web", "off", ...device("ada"));
  await until("the browser's session to end", () => run(`return failure(db.fetchAllRecordZones()).then((code) => code === "AUTHENTICATION_REQUIRED")`));
  const without = await check.signIn(page, people.ada);
  assert.equal(without.hasKeys, false);
  assert.match(await run(`return container.keysMissingReason`), /no browser/);
  assert.equal(await run(`return (await db.fetchRecords("child", { zoneID })).records[0].fields.secret.type`), "ENCRYPTED_BYTES");
  welkin("keychain", "web", "on", ...device("ada"));
  assert.equal((await check.signIn(page, people.ada)).hasKeys, true);
  say("an owner forbids browsers the keys, and allows them again");

  checkSilence(check, [link, begun]);
  void user;

  // A share with a longer history of keys than an answer carries.
  await ada("save", "aged", "", `${canaries.secret} aged`, canaries.file);
  await ada("share", "aged", "none", "");
  const { url: aged } = await ada("age", "aged", "34", people.mary, people.grace);
  assert.deepEqual(await graceRun(`
    const accepted = await container.acceptShares(${JSON.stringify(aged)});
    if (accepted.hasErrors) return accepted.errors.map(String);
    const response = await shared.fetchRecords("aged", { zoneID });
    const count = (await shared.fetchRecords(response.records[0].share.recordName, { zoneID })).records[0].shareKeys.keyEpoch;
    return [response.errors.map(String), response.records[0].fields.secret.value, count > 34];`),
  [[], `${canaries.secret} aged`, true]);
  say("a share with more key epochs than an answer carries opens for a new participant's browser");

  // The zone has later key epochs now, as has one in which sharing has ended.
  const tardy = await run(`
    const response = await db.saveRecords({ recordName: "late", recordType: "Note", fields: { secret: { value: "${canaries.browser} late", isEncrypted: true } } }, { zoneID });
    return (await db.createShare(response.records[0], { zoneID, participants: [{ emailAddress: "${people.grace}" }] })).url;`);
  const tardyAtGrace = `const response = await shared.fetchRecords("late", { zoneID }); return response.errors.map((error) => error.ckErrorCode)[0] ?? response.records[0].fields.secret.value`;
  assert.equal(await graceRun(`
    const accepted = await container.acceptShares(${JSON.stringify(tardy)});
    if (accepted.hasErrors) return accepted.errors.map(String);
    ${tardyAtGrace}`), "WAITING_FOR_KEY");
  assert.equal((await ada("look", "late")).participants, "2");
  welkin("share", "confirm", "--yes", ...device("ada"));
  await ada("look", "late");
  assert.equal(await graceRun(tardyAtGrace), `${canaries.browser} late`);
  const ended = await run(`
    window.later = { zoneName: "Later" };
    await db.saveRecordZones({ zoneID: later });
    const item = { recordName: "early", recordType: "Note", fields: { secret: { value: "${canaries.browser} early", isEncrypted: true } } };
    await db.saveRecords(item, { zoneID: later });
    const first = await db.createShare(null, { zoneID: later, publicPermission: "READ_ONLY" });
    await db.deleteRecords(first.recordName, { zoneID: later });
    await db.saveRecords({ ...item, recordName: "newer" }, { zoneID: later });
    return (await db.createShare(null, { zoneID: later, publicPermission: "READ_ONLY" })).url;`);
  assert.deepEqual(await mary.run(`{
    const accepted = await container.acceptShares(${JSON.stringify(ended)});
    if (accepted.hasErrors) return accepted.errors.map(String);
    const response = await shared.fetchRecords(["early", "newer"], { zoneID: accepted.results[0].zoneID });
    return [response.errors.map(String), response.records.map((record) => [record.fields.secret.value, record.protection.epoch || 0])];
  }`), [[], [[`${canaries.browser} early`, 0], [`${canaries.browser} early`, 1]]]);
  say("shares that begin in zones of later key epochs: of a whole zone with its keys, of a tree once a device has confirmed it");

  for (const each of [page, grace, mary]) await each.close();
}

/** No request has a secret of a link, a password or what was encrypted, in any form. */
export function checkSilence({ assert, password, secrets: all, seen }, links) {
  const secrets = [...Object.values(canaries), password, ...links.map((link) => link.split("#k=")[1])];
  for (const secret of secrets) all.add(secret);
  const forms = secrets.flatMap((text) => [text, encodeURIComponent(text), Buffer.from(text).toString("base64").replace(/=+$/, "").slice(0, -2), Buffer.from(text).toString("hex")]);
  assert.ok(seen.requests.some((request) => request.body.includes("records")), "bodies are recorded");
  for (const { url, headers, body } of seen.requests) {
    for (const form of forms) {
      assert.ok(!url.includes(form), `a secret in the address ${url}`);
      assert.ok(!headers.includes(form), `a secret in the headers of ${url}`);
      assert.ok(!body.includes(form), `a secret in the body of ${url}`);
    }
  }
}
