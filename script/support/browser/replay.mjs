// Replays recorded exchanges of the Swift framework through welkin.js: its calls send the same requests and understand the same answers.
import { createServer, request as send } from "node:http";

/** Passes requests on to the cloud, and keeps what was said. */
export async function startRecorder(base) {
  const exchanges = [];
  const target = new URL(base);
  const server = createServer(async (incoming, outgoing) => {
    const parts = [];
    for await (const part of incoming) parts.push(part);
    const body = Buffer.concat(parts);
    const headers = { ...incoming.headers, host: target.host };
    const passed = send({ host: target.hostname, port: target.port, method: incoming.method, path: incoming.url, headers }, async (answer) => {
      const pieces = [];
      for await (const piece of answer) pieces.push(piece);
      const text = Buffer.concat(pieces);
      const path = incoming.url.split("?")[0];
      if (path.startsWith("/database/")) exchanges.push({ path, request: body.toString(), status: answer.statusCode, answer: text.toString() });
      outgoing.writeHead(answer.statusCode, answer.headers);
      outgoing.end(text);
    });
    passed.on("error", () => outgoing.destroy());
    passed.end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref();
  return { address: `http://127.0.0.1:${server.address().port}`, exchanges };
}

export async function checkReplay(check) {
  const { assert, base, say, appPage, context, peer, signInDevice } = check;
  const recorder = await startRecorder(base);
  await signInDevice("recorded", recorder.address);
  const device = peer("recorded", recorder.address);
  const rounds = 8;
  for (let round = 1; round <= rounds; round += 1) await device("vary", String(round));
  const page = await appPage(await context());
  const problems = [];
  const kinds = {};
  let replayed = 0;
  for (let start = 0; start < recorder.exchanges.length; start += 50) {
    const part = await page.run(`(${replay.toString()})(setUp, ${JSON.stringify(recorder.exchanges.slice(start, start + 50))})`.replace(/^/, "{ return ").concat(" }"));
    problems.push(...part.problems);
    replayed += part.replayed;
    for (const [kind, count] of Object.entries(part.kinds)) kinds[kind] = (kinds[kind] || 0) + count;
  }
  await page.close();
  assert.deepEqual(problems.slice(0, 5), []);
  assert.ok(replayed >= 300, `${replayed} exchanges`);
  say(`${replayed} exchanges of the Swift framework of ${Object.keys(kinds).length} kinds mean the same to welkin.js`);
}

/** Runs in the page: each exchange as the call of welkin.js that it stands for, against its recorded answer. */
async function replay(setUp, exchanges) {
  const problems = [];
  const kinds = {};
  let replayed = 0;
  // What both leave out, or only the framework sends for its keys.
  const native = new Set(["protection", "zoneState", "zoneStates", "clientChangeToken", "pluginFields"]);
  const meaning = (value) => {
    if (Array.isArray(value)) return value.map(meaning);
    if (!value || typeof value !== "object") return value;
    // A field without a value is removed, in either form.
    if (value.value === null && Object.keys(value).length === 1) return null;
    const kept = Object.entries(value).filter(([key, item]) => item !== undefined && !native.has(key)).map(([key, item]) => [key, meaning(item)]);
    return Object.fromEntries(kept.toSorted(([left], [right]) => (left < right ? -1 : 1)));
  };
  for (const { path, request, status, answer } of exchanges) {
    const [, , , , environment, scope, ...rest] = path.split("/");
    void environment;
    const entity = rest.join("/");
    let sent = null;
    const container = setUp({ qualityOfService: "userInitiated", fetch: async (url, options) => {
      sent = options.body ? JSON.parse(options.body) : {};
      return new Response(answer, { status });
    } });
    const db = container.getDatabaseWithDatabaseScope(scope.toUpperCase());
    const body = request ? JSON.parse(request) : {};
    const expected = JSON.parse(answer);
    const { zoneID, desiredKeys, atomic, numbersAsStrings } = body;
    const modify = (key, name) => {
      const batch = body.operations;
      const types = new Set(batch.map((operation) => operation.operationType));
      if (types.size !== 1) return null;
      const items = batch.map((operation) => (key === "zone" ? operation.zone.zoneID : operation[key]));
      return types.has("delete") ? db[`delete${name}`](items) : db[`save${name}`](items);
    };
    const calls = {
      "records/lookup": () => db.fetchRecords(body.records, { zoneID, desiredKeys, numbersAsStrings }),
      "records/modify": () => db._modify(body.operations, { zoneID, desiredKeys, atomic, numbersAsStrings }),
      "records/query": () => db.performQuery(body.query || {}, { ...body }),
      "changes/zone": () => db.fetchRecordZoneChanges(body.zones),
      "changes/database": () => db.fetchDatabaseChanges(body),
      "zones/list": () => db.fetchAllRecordZones(),
      "zones/lookup": () => db.fetchRecordZones(body.zones),
      "zones/modify": () => modify("zone", "RecordZones"),
      "subscriptions/list": () => db.fetchAllSubscriptions(),
      "subscriptions/lookup": () => db.fetchSubscriptions(body.subscriptions),
      "subscriptions/modify": () => modify("subscription", "Subscriptions"),
      "users/caller": () => container.fetchCurrentUserIdentity(),
    };
    const call = calls[entity]?.();
    if (!call) continue;
    replayed += 1;
    kinds[entity] = (kinds[entity] || 0) + 1;
    let response;
    try {
      response = await call;
    } catch (error) {
      if (status === 200 || error.serverErrorCode !== expected.serverErrorCode || error.reason !== expected.reason) problems.push(`${entity}: ${error.stack}`);
      continue;
    }
    if (status !== 200) problems.push(`${entity}: a refusal is no error`);
    // The request.
    const same = (left, right, what) => {
      const [one, other] = [left, right].map((value) => JSON.stringify(meaning(value)));
      if (one !== other) problems.push(`${entity}, ${what}: ${one.slice(0, 400)} is not ${other.slice(0, 400)}`);
    };
    const plain = JSON.parse(JSON.stringify(body), (key, value) => (key === "zones" && entity === "zones/lookup" ? value.map((zone) => zone.zoneID || zone) : value));
    same(sent, plain, "request");
    // The answer.
    if (entity === "users/caller") {
      same(response, expected, "answer");
      continue;
    }
    const [key] = Object.keys(expected).filter((name) => Array.isArray(expected[name]));
    const items = response._results.map((item) => (item instanceof Error ? { serverErrorCode: item.serverErrorCode, reason: item.reason, recordName: item.recordName } : item));
    if (entity === "changes/zone") {
      for (const [index, zone] of expected.zones.entries()) {
        if (!zone.serverErrorCode) same(response._results[index]._results, zone.records, "records");
        same([response._results[index].syncToken, response._results[index].moreComing], [zone.syncToken, zone.moreComing], "token");
      }
      continue;
    }
    same(items, expected[key].map((item) => (item.serverErrorCode ? { serverErrorCode: item.serverErrorCode, reason: item.reason, recordName: item.recordName } : item)), "items");
    same([response.syncToken, response.continuationMarker], [expected.syncToken, expected.continuationMarker], "tokens");
    if (response.hasErrors !== expected[key].some((item) => item.serverErrorCode)) problems.push(`${entity}: hasErrors`);
  }
  return { problems, replayed, kinds };
}
