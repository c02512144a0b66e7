// Every cell of docs/access.md, tried from pages: a browser is one more kind of client.

const roles = ["owner", "administrator", "read-write", "read-only", "public", "pending", "removed", "stranger", "signed out"];

/** The cells of the table, with what each is to come to. */
function cellsOf(page, assert) {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => line.startsWith("<!-- table"));
  const end = lines.findIndex((line) => line.startsWith("<!-- end"));
  const rows = lines.slice(start + 1, end).map((line) => line.split("|").slice(1, -1).map((text) => text.trim()));
  assert.deepEqual(rows[0].slice(3), roles, "the columns of the table");
  return rows.slice(2).flatMap(([database, object, verb, ...words]) => words.map((word, index) => ({ database, object, verb, role: roles[index], word })));
}

/** What the owner's share says of a user in a role. */
function participantOf(role, user) {
  const [type, permission] = { administrator: ["ADMINISTRATOR", "READ_WRITE"], "read-write": ["USER", "READ_WRITE"], pending: ["USER", "READ_WRITE"], removed: ["USER", "READ_WRITE"], "read-only": ["USER", "READ_ONLY"] }[role] ?? [];
  return type ? [{ type, permission, userIdentity: { userRecordName: user } }] : [];
}

export async function checkAccess(check) {
  const { assert, app, say, appPage, context, welkin, folder, sources, readFileSync } = check;
  const started = Date.now();
  const cells = cellsOf(readFileSync(`${sources}/docs/access.md`, "utf8"), assert);
  assert.ok(cells.length >= 700, `${cells.length} cells`);

  // A page for each role, in a browser profile of its own.
  const pages = {};
  const users = {};
  await Promise.all(roles.map(async (role) => {
    const page = (pages[role] = await appPage(await context()));
    if (role === "signed out") {
      await page.run(`{ setUp() }`);
    } else {
      const email = `${role.replace("-", "")}@access.example.com`;
      welkin("account", "add", email, "--password-file", `${folder}/password`);
      users[role] = (await check.signIn(page, email)).user;
    }
    // The table is about what the cloud does; without keys a page sends what it is told.
    await page.run(`{ const { AccessPage } = await import("${app}/access-page.mjs"); window.access = new AccessPage(container); }`);
  }));
  const call = (role, name, ...words) => pages[role].run(`access.${name}(${words.map((item) => JSON.stringify(item ?? null)).join(", ")})`);

  async function wordOf(cell, number) {
    const { role, database, object, verb } = cell;
    const zone = `Z${number}`;
    const zoneID = { zoneName: zone, ownerRecordName: users.owner };
    const participants = participantOf(role, users[role]);
    const guid = await call("owner", "build", { zone, database, object, permission: role === "public" ? "READ_ONLY" : "NONE", participants });
    if (guid && ["administrator", "read-write", "read-only", "public", "removed"].includes(role)) await call(role, "accept", guid);
    if (guid && role === "removed") await call("owner", "setParticipants", zone, []);
    const isPublic = database === "public";
    const name = isPublic ? `P${zone}` : object === "file" ? "In" : "Outside";
    const scene = { zone, zoneID, guid, isOwner: role === "owner" };
    if (object.startsWith("file") && verb !== "add") assert.equal(await call("owner", "addFile", isPublic ? "public" : "private", isPublic ? undefined : zoneID, name), "yes");
    if (object === "subscription" && verb !== "create") assert.equal(await call("owner", "subscribe", database, zoneID, `Sub${zone}`, name), "yes");
    if (verb === "store keys") await call("owner", "storeKeys", zone, { epoch: 1, blob: "AAAA", wraps: [] });
    if (verb === "begin keys") scene.owner = await call("owner", "removeKeyHolder", zone, participants, role === "public");
    if (["rename", "open to all"].includes(verb)) scene.tag = await call("owner", "tag", zone, "S");
    const word = await call(role, "attempt", cell, scene);
    // An answer that something was deleted may mean that the caller has left, or nothing.
    const record = { "in tree": "In", root: "Root", outside: "Outside", share: "S", zone: "In" }[object];
    if (word !== "yes" || verb !== "delete" || isPublic || !record || !(await call("owner", "exists", zone, record))) return word;
    if (await call(role, "isMember", zone)) return object === "zone" ? word : "nothing";
    return "leave";
  }

  const wrong = [];
  const waiting = cells.map((cell, number) => ({ cell, number }));
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { cell } = next;
      const word = await wordOf(cell, next.number).catch((error) => `${error.message}`);
      if (word !== cell.word) wrong.push(`${cell.database}, ${cell.object}, ${cell.verb}, ${cell.role}: ${word} instead of ${cell.word}`);
    }
  };
  await Promise.all(Array.from({ length: 6 }, lane));
  assert.deepEqual(wrong, []);
  for (const page of Object.values(pages)) await page.close();
  say(`${cells.length} cells of the table of access hold from pages (${Math.round((Date.now() - started) / 1000)} seconds)`);
}
