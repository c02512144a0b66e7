// Every call of welkin.js without encryption, from a page of another origin.

export async function checkClient(check) {
  const { assert, base, app, token, container, people, say, until, appPage, context, welkin, open, password } = check;
  const hashes = await (await fetch(`${base}/welkin/1/integrity.json`)).json();
  for (const [name, { path, integrity }] of Object.entries(hashes)) {
    const answer = await fetch(base + path, { headers: { Origin: app } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const { createHash } = await import("node:crypto");
    assert.equal(integrity, `sha256-${createHash("sha256").update(bytes).digest("base64")}`, name);
    assert.match(answer.headers.get("cache-control"), /immutable/);
    assert.equal((await fetch(`${base}/welkin/1-0000000000000000/${name}`)).status, 404);
  }
  // The page's own origin is not the cloud's: a script with the right hash runs, one with another does not.
  const page = await appPage(await context());
  const load = (integrity) => page.run(`new Promise((done) => {
    const script = Object.assign(document.createElement("script"), { type: "module", crossOrigin: "anonymous", src: "${base}${hashes["welkin.js"].path}", integrity: "${integrity}" });
    script.onload = () => done("loaded");
    script.onerror = () => done("refused");
    document.head.append(script);
  })`);
  assert.equal(await load(`sha256-${Buffer.alloc(32).toString("base64")}`), "refused");
  if (!check.isLive) assert.equal(await load(hashes["welkin.js"].integrity), "loaded");
  check.seen.problems = check.seen.problems.filter((text) => !text.includes("integrity"));
  say("the scripts have the published hashes, and a page of another origin loads them");

  const run = (body) => page.run(`{ ${body} }`);
  // Without a user.
  await run(`setUp()`);
  assert.equal(await run(`return container.setUpAuth()`), null);
  assert.equal(await run(`return document.querySelector("#apple-sign-in-button button").textContent`), "Sign in");
  assert.equal(await run(`return failure(db.fetchAllRecordZones())`), "AUTHENTICATION_REQUIRED");
  assert.equal(await run(`return failure(setUp({ apiTokenAuth: { apiToken: "none" } }).fetchCurrentUserIdentity())`), "AUTHENTICATION_FAILED");
  assert.equal(await run(`return failure(setUp({ endpoint: "http://127.0.0.1:9", qualityOfService: "userInitiated" }).fetchCurrentUserIdentity())`), "NETWORK_ERROR");
  for (const wrong of ["{ containers: [] }", `{ containers: [{ containerIdentifier: "x" }] }`, `{ containers: [{ apiTokenAuth: { apiToken: "x" } }] }`]) {
    assert.equal(await run(`try { library.CloudKit.configure(${wrong}); return "configured" } catch (error) { return error.ckErrorCode }`), "CONFIGURATION_ERROR");
  }
  // An origin that the token does not name.
  const stranger = await open(`${base}/welkin/1/integrity.json`, {});
  void stranger;

  // The cloud's window signs in; the page gets a token, and no password.
  await run(`{ setUp(); await container.setUpAuth(); window.entering = container.signIn(); }`.slice(1, -1));
  const { targetInfos } = await until("the window for signing in", async () => {
    const found = await page.call("Target.getTargets");
    return found.targetInfos.some((target) => target.url.includes("/sign-in?")) && found;
  });
  const { sessionId } = await page.call("Target.attachToTarget", { targetId: targetInfos.find((target) => target.url.includes("/sign-in?")).targetId, flatten: true });
  void sessionId;
  await page.run(`{ window.closed = false }`);
  // The window of another origin is driven through its own page.
  const window = await open(targetInfos.find((target) => target.url.includes("/sign-in?")).url, {});
  assert.match(await window.run(`document.body.textContent`), /to use/);
  await window.close();
  await page.call("Target.closeTarget", { targetId: targetInfos.find((target) => target.url.includes("/sign-in?")).targetId });
  assert.equal(await run(`return failure(window.entering)`), "SIGN_IN_FAILED");

  // With a password, without the module of encryption, and with it.
  assert.equal(await run(`return failure(setUp().signIn({ email: "x", password: "y" }))`), "CONFIGURATION_ERROR");
  const signIn = (email, word) => run(`return failure(setUp({ encryption }).signIn({ email: "${email}", password: "${word}" }))`);
  assert.equal(await signIn(people.ada, "wrong"), "AUTHENTICATION_FAILED");
  const { user } = await check.signIn(page, people.ada);
  // The rest without keys: the documented surface alone.
  await run(`container._connection.keys = null`);
  say("sign-in: with a window, with a password, wrong ones refused");

  // Zones.
  assert.deepEqual(await run(`return (await db.saveRecordZones(["Plain", { zoneName: "Gone" }])).zones.map((zone) => zone.zoneID.zoneName)`), ["Plain", "Gone"]);
  assert.equal(await run(`return (await db.deleteRecordZones("Gone")).zones[0].deleted`), true);
  const zones = await run(`const response = await db.fetchRecordZones(["Plain", "Gone"]); return { hasErrors: response.hasErrors, codes: response.errors.map((error) => error.ckErrorCode), count: response.zones.length }`);
  assert.deepEqual(zones, { hasErrors: true, codes: ["ZONE_NOT_FOUND"], count: 1 });
  assert.deepEqual((await run(`return (await db.fetchAllRecordZones()).zones.map((zone) => zone.zoneID.zoneName)`)).sort(), ["Plain", "_defaultZone"]);

  // Records of every type.
  const saved = await run(`
    const response = await db.saveRecords({ recordName: "one", recordType: "Item", fields: {
      title: "Grüße 🎉", count: 3, ratio: 1.5, at: new Date(1700000000000), bytes: new Uint8Array([1, 2, 3]), place: { latitude: 54.4, longitude: -3 },
      tags: ["a", "b"], other: { value: { recordName: "two", action: "NONE" }, type: "REFERENCE" }, file: new Blob(["plain file"]), files: [new Blob(["first"]), new Blob(["second"])],
    } }, { zoneID: { zoneName: "Plain" } });
    window.one = response.records[0];
    return one.fields;`);
  assert.deepEqual(Object.fromEntries(Object.entries(saved).map(([name, { type }]) => [name, type])), {
    at: "TIMESTAMP", bytes: "BYTES", count: "INT64", file: "ASSETID", files: "ASSETID_LIST", other: "REFERENCE", place: "LOCATION", ratio: "DOUBLE", tags: "STRING_LIST", title: "STRING",
  });
  assert.equal(saved.title.value, "Grüße 🎉");
  assert.equal(saved.bytes.value, "AQID");
  assert.equal(await run(`return (await db.fetchAsset(one.fields.file.value)).text()`), "plain file");
  assert.equal(await run(`return (await db.fetchAsset(one.fields.files.value[1])).text()`), "second");
  assert.equal(await run(`return failure(db.fetchAsset({}))`), "INVALID_ARGUMENTS");
  assert.equal(await run(`return failure(db.fetchAsset({ downloadURL: one.fields.file.value.downloadURL.replace("/file/", "/file/x") }))`), "ACCESS_DENIED");
  const conflict = await run(`
    const first = await db.saveRecords({ ...one, fields: { count: 4 } }, { zoneID: { zoneName: "Plain" } });
    const second = await db.saveRecords({ ...one, fields: { count: 5 } }, { zoneID: { zoneName: "Plain" } });
    const forced = await db.saveRecords({ recordName: "one", recordType: "Item", fields: { count: 6 } }, { zoneID: { zoneName: "Plain" }, operationType: "forceUpdate" });
    return [first.hasErrors, second.errors[0].ckErrorCode, second.errors[0].recordName, forced.records[0].fields.count.value];`);
  assert.deepEqual(conflict, [false, "CONFLICT", "one", 6]);
  const batch = await run(`
    const zoneID = { zoneName: "Plain" };
    const response = await db.newRecordsBatch({ zoneID, atomic: false }).create([{ recordName: "two", recordType: "Item", fields: { title: "b" } }, { recordName: "one", recordType: "Item" }]).forceUpdate({ recordName: "three", recordType: "Item", fields: { title: "c" } }).commit();
    return [response.records.map((record) => record.recordName), response.errors.map((error) => error.ckErrorCode)];`);
  assert.deepEqual(batch, [["two", "three"], ["CONFLICT"]]);
  const fetched = await run(`const response = await db.fetchRecords(["one", "none"], { zoneID: { zoneName: "Plain" }, desiredKeys: ["title"] }); return [Object.keys(response.records[0].fields), response.errors[0].ckErrorCode]`);
  assert.deepEqual(fetched, [["title"], "NOT_FOUND"]);
  const many = await run(`
    const zoneID = { zoneName: "Plain" };
    const names = Array.from({ length: 250 }, (_, index) => "many" + index);
    for (const part of [names.slice(0, 125), names.slice(125)]) await db.saveRecords(part.map((recordName) => ({ recordName, recordType: "Many", fields: { title: recordName } })), { zoneID });
    const response = await db.fetchRecords(names, { zoneID });
    const removed = await db.deleteRecords(names.slice(0, 200), { zoneID });
    return [response.records.length, response.records[249].recordName, removed.records.length];`);
  assert.deepEqual(many, [250, "many249", 200]);
  // Queries need indexes, which a development environment makes.
  const queried = await run(`
    const zoneID = { zoneName: "Plain" };
    const query = { recordType: "Many", filterBy: [{ fieldName: "title", comparator: "BEGINS_WITH", fieldValue: "many" }], sortBy: [{ fieldName: "title", ascending: true }] };
    let response = await db.performQuery(query, { zoneID, resultsLimit: 20 });
    const counts = [response.records.length, response.moreComing];
    while (response.moreComing) response = await db.performQuery(response);
    const filtered = await db.performQuery({ recordType: "Item", filterBy: { fieldName: "title", comparator: "EQUALS", fieldValue: "b" } }, { zoneID });
    return [...counts, response.records.length, filtered.records.map((record) => record.recordName), await failure(db.performQuery({ recordType: "Many" }, { zoneID }))];`);
  assert.deepEqual(queried, [20, true, 10, ["two"], "BAD_REQUEST"]);
  say("records, files, batches, queries");

  // Changes.
  const changes = await run(`
    const database = await db.fetchDatabaseChanges();
    const later = await db.fetchDatabaseChanges({ syncToken: database.syncToken });
    const first = await db.fetchRecordZoneChanges({ zoneID: { zoneName: "Plain" }, resultsLimit: 10 });
    const [zone] = first.zones;
    await db.saveRecords({ recordName: "late", recordType: "Item", fields: { title: "late" } }, { zoneID: { zoneName: "Plain" } });
    let token = zone.syncToken, names = [], deleted = 0;
    for (let isMore = true; isMore;) {
      const [page] = (await db.fetchRecordZoneChanges({ zoneID: { zoneName: "Plain" }, syncToken: token })).zones;
      token = page.syncToken; isMore = page.moreComing; names.push(...page.records.map((record) => record.recordName)); deleted += page.records.filter((record) => record.deleted).length;
    }
    const failed = await db.fetchRecordZoneChanges(["None", { zoneID: { zoneName: "Plain" }, syncToken: "none" }]);
    return [database.zones.map((item) => item.zoneID.zoneName), later.zones.length, first.moreComing, names.includes("late"), failed.errors.map((error) => error.ckErrorCode)];`);
  assert.deepEqual(changes, [["Plain"], 0, true, true, ["ZONE_NOT_FOUND", "BAD_REQUEST"]]);

  // Subscriptions and the courier.
  const subscriptions = await run(`
    const zoneID = { zoneName: "Plain" };
    const saved = await db.saveSubscriptions({ subscriptionID: "items", subscriptionType: "query", query: { recordType: "Item" }, zoneID, firesOn: ["create", "update", "delete"], notificationInfo: { alertBody: "An item changed", additionalFields: ["title"] } });
    const found = await db.fetchSubscriptions(["items", "none"]);
    const all = await db.fetchAllSubscriptions();
    return [saved.subscriptions.length, found.subscriptions.length, found.errors[0].ckErrorCode, all.subscriptions.length];`);
  assert.deepEqual(subscriptions, [1, 1, "NOT_FOUND", 1]);
  await run(`window.arrived = []; container.addNotificationListener((item) => arrived.push(item)); await container.registerForNotifications();`);
  assert.equal(await run(`return container.isRegisteredForNotifications`), true);
  const other = await appPage(await context());
  await check.signIn(other, people.ada);
  await other.run(`{ await db.saveRecords({ recordName: "news", recordType: "Item", fields: { title: "New" } }, { zoneID: { zoneName: "Plain" } }) }`);
  const [news] = await until("a notification", async () => { const list = await run(`return arrived`); return list.length > 0 && list; });
  assert.deepEqual([news.notificationType, news.subscriptionID, news.recordName, news.queryNotificationReason, news.alertBody, news.recordFields.title, news.databaseScope],
    ["query", "items", "news", "RECORD_CREATED", "An item changed", "New", "PRIVATE"]);
  await run(`container.unregisterForNotifications()`);
  assert.equal(await run(`return container.isRegisteredForNotifications`), false);
  assert.equal(await run(`return (await db.deleteSubscriptions("items")).subscriptions[0].subscriptionID`), "items");
  assert.equal(await run(`return failure(container.registerForWebPush({}))`), "CONFIGURATION_ERROR");
  say("changes, subscriptions, notifications");

  // Users and shares without keys.
  assert.equal(await run(`return (await container.fetchCurrentUserIdentity()).userRecordName`), user);
  assert.equal(await run(`return (await container.discoverUserIdentityWithEmailAddress("${people.grace}")).users.length`), 0);
  assert.equal(await run(`return (await container.discoverUserIdentityWithUserRecordName("_none")).users.length`), 0);
  assert.equal(await run(`return (await container.discoverAllUserIdentities()).users.length`), 0);
  assert.equal(await run(`return (await container.fetchShareParticipants([{ emailAddress: "${people.grace}" }])).participants[0].acceptanceStatus`), "INVITED");
  const share = await run(`
    const zoneID = { zoneName: "Plain" };
    const [root] = (await db.fetchRecords("two", { zoneID })).records;
    window.share = await db.createShare(root, { zoneID, title: "Our item", participants: [{ emailAddress: "${people.grace}" }], allowsAccessRequests: true });
    return { url: share.url, count: share.participants.length };`);
  assert.match(share.url, new RegExp(`^${base}/share/[^#]+$`));
  assert.equal(share.count, 2);
  await other.close();
  const friend = await appPage(await context());
  await check.signIn(friend, people.grace);
  await friend.run(`{ container._connection.keys = null }`);
  const accepted = await friend.run(`{
    const infos = await container.fetchRecordInfos(["${share.url}", "none"], { shouldFetchRootRecord: true });
    const accepted = await container.acceptShares("${share.url}");
    const shared = container.sharedCloudDatabase;
    const zoneID = accepted.results[0].zoneID;
    const [two] = (await shared.fetchRecords("two", { zoneID })).records;
    const saved = await shared.saveRecords({ ...two, fields: { title: "by Grace" } }, { zoneID });
    const denied = await shared.saveRecords({ recordName: "stray", recordType: "Item" }, { zoneID });
    return [infos.results[0].rootRecord.fields.title.value, infos.errors[0].ckErrorCode, accepted.results[0].participantStatus, saved.records[0].fields.title.value, denied.errors[0].ckErrorCode];
  }`);
  assert.deepEqual(accepted, ["b", "NOT_FOUND", "ACCEPTED", "by Grace", "ACCESS_DENIED"]);
  const outsider = await appPage(await context());
  await check.signIn(outsider, people.mary);
  assert.deepEqual(await outsider.run(`{ const response = await container.requestShareAccess("${share.url}"); return [response.hasErrors, (await container.fetchRecordInfos("${share.url}")).errors[0].ckErrorCode] }`), [false, "NOT_FOUND"]);
  assert.equal(await run(`return (await db.fetchRecords(share.recordName, { zoneID: { zoneName: "Plain" } })).records[0].requesters.length`), 1);
  await outsider.close();
  say("users, shares, requests for access");

  // Waits, aborts, the end of a session.
  const aborted = await run(`const ending = new AbortController(); const promise = db.fetchAllRecordZones({ signal: ending.signal }); ending.abort(); return promise.then(() => "done", (error) => error.name)`);
  assert.equal(aborted, "AbortError");
  welkin("fault", "order", "throttle", container, "--seconds", "4");
  await until("the fault", () => run(`return failure(db.fetchAllRecordZones({ qualityOfService: "userInitiated" })).then((code) => code === "THROTTLED")`));
  const throttled = await run(`
    const before = performance.now();
    const first = await db.fetchAllRecordZones({ qualityOfService: "userInitiated" }).catch((error) => error);
    const sent = performance.getEntriesByType("resource").length;
    const second = await db.fetchAllRecordZones({ qualityOfService: "userInitiated" }).catch((error) => error);
    return [first.ckErrorCode, first.retryAfter > 0, second.ckErrorCode, second.retryAfter <= first.retryAfter, performance.getEntriesByType("resource").length - sent];`);
  assert.deepEqual(throttled, ["THROTTLED", true, "THROTTLED", true, 0]);
  welkin("fault", "remove", "--all");
  // The pause that the cloud asked for is kept, then the call is repeated by itself.
  assert.equal(await run(`const response = await db.fetchAllRecordZones(); return response.hasErrors`), false);

  // What began for one user does not go on as another.
  const crossed = await run(`
    let meanwhile = null;
    setUp({ encryption, fetch: async (url, options) => {
      if (!meanwhile || !url.includes("/records/")) return fetch(url, options);
      const action = meanwhile;
      meanwhile = null;
      const isRefused = url.includes("modify");
      const response = isRefused ? Response.json({ serverErrorCode: "THROTTLED", retryAfter: 0.1 }, { status: 429 }) : await fetch(url, options);
      await action();
      return response;
    } });
    await container.setUpAuth();
    const signIn = async (email) => void (await container.signIn({ email, password: ${JSON.stringify(password)} }));
    meanwhile = () => signIn("${people.grace}");
    const save = await failure(db.saveRecords({ recordName: "crossed", recordType: "Item", fields: { title: "Ada's" } }));
    const found = (await db.fetchRecords("crossed")).errors.map((error) => error.ckErrorCode);
    meanwhile = () => signIn("${people.ada}");
    const fetched = await failure(db.fetchRecords("crossed"));
    return [save, found, fetched, (await container.fetchCurrentUserIdentity()).userRecordName === "${user}"];`);
  assert.deepEqual(crossed, ["AUTHENTICATION_REQUIRED", ["NOT_FOUND"], "AUTHENTICATION_REQUIRED", true]);
  await run(`await container.signOut()`);
  assert.equal(await run(`return failure(db.fetchAllRecordZones())`), "AUTHENTICATION_REQUIRED");
  assert.equal(await run(`return container.setUpAuth()`), null);
  assert.equal(await run(`return (await indexedDB.databases()).length > 0 && new Promise((done) => { const request = indexedDB.open("welkin"); request.onsuccess = () => { const all = request.result.transaction("kept").objectStore("kept").getAllKeys(); all.onsuccess = () => done(all.result.length); } })`), 0);
  void token;
  await friend.close();
  await page.close();
  say("waits, aborts, other users, signing out");
}
