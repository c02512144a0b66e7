/**
 * Makes the archive of everything in an account, in the form of `welkin account export`, as a tar file that stays in the page until it is saved.
 * Sealed values are opened here.
 *
 * @module account-archive
 */

const utf8 = (text) => new TextEncoder().encode(text);
const list = (value) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);
const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
const sha256 = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));
const shareType = "cloudkit.share";

/** A tar file that grows. The browser keeps the parts. */
export class Tar {
  parts = [];

  /** @param {string} name A path of ASCII. @param {Blob|Uint8Array} content @param {number} time Milliseconds since 1970. */
  add(name, content, time) {
    const size = content instanceof Blob ? content.size : content.length;
    this.parts.push(Tar.header(name, size, "0", "0000600", time), content, new Uint8Array((512 - (size % 512)) % 512));
  }

  addFolder(name, time) {
    this.parts.push(Tar.header(`${name}/`, 0, "5", "0000700", time));
  }

  static header(path, size, type, mode, time) {
    const header = new Uint8Array(512);
    const put = (at, text) => header.set(utf8(text), at);
    // A long path is split at a slash.
    let cut = 0;
    if (path.length > 100) {
      cut = path.lastIndexOf("/", Math.min(155, path.length - 2));
      if (cut <= 0 || path.length - cut - 1 > 100) throw new Error("a path of the archive is too long");
    }
    put(0, path.slice(cut ? cut + 1 : 0));
    if (cut) put(345, path.slice(0, cut));
    put(100, `${mode}\0`);
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, `${size.toString(8).padStart(11, "0")}\0`);
    put(136, `${Math.floor(time / 1000).toString(8).padStart(11, "0")}\0`);
    put(148, "        ");
    put(156, type);
    put(257, "ustar\u000000");
    put(148, `${header.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, "0")}\0 `);
    return header;
  }

  /** @returns {Blob} */
  blob() {
    return new Blob([...this.parts, new Uint8Array(1024)], { type: "application/x-tar" });
  }
}

/** A name that is safe for files. */
export const fileName = (text) => Array.from(utf8(text).slice(0, 80), (byte) => (/[A-Za-z0-9.-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : "_")).join("");

/** The JSON of a value; whole numbers came as text, so that none was rounded. */
function valueText(value, type) {
  if (Array.isArray(value)) return `[${value.map((item) => valueText(item, type.replace("_LIST", ""))).join(",")}]`;
  if ((type === "INT64" || type === "DOUBLE") && typeof value === "string") return value;
  if (type === "REFERENCE") return JSON.stringify({ recordName: value.recordName, action: value.action || "NONE" });
  return JSON.stringify(value);
}

/** One field of a line. */
const fieldText = (name, type, text, isEncrypted) => `${JSON.stringify(name)}:{"type":${JSON.stringify(type)},"value":${text}${isEncrypted ? `,"isEncrypted":true` : ""}}`;

const stamp = (made) => ({ timestamp: made?.timestamp ?? 0, userRecordName: made?.userRecordName ?? "", deviceID: made?.deviceID });

const roles = { OWNER: "owner", ADMINISTRATOR: "administrator", USER: "privateUser", PUBLIC_USER: "publicUser" };
const permissions = { NONE: "none", READ_ONLY: "readOnly", READ_WRITE: "readWrite" };
const acceptances = { INVITED: "pending", PENDING: "pending", ACCEPTED: "accepted", REMOVED: "removed" };
const nameOf = (identity) => [identity?.nameComponents?.givenName, identity?.nameComponents?.familyName].filter(Boolean).join(" ") || undefined;

/** A share as the archive lists it. */
export function listedShare(record, isOwn) {
  return {
    zone: record.zoneID?.zoneName || "_defaultZone", owner: isOwn ? undefined : record.zoneID?.ownerRecordName, recordName: record.recordName,
    root: record.rootRecordName, title: record.fields?.["cloudkit.title"]?.value,
    publicPermission: permissions[record.publicPermission] || "unknown",
    participants: list(record.participants).map(({ userIdentity, type, permission, acceptanceStatus }) => ({
      userRecordName: userIdentity?.userRecordName, contact: userIdentity?.lookupInfo?.emailAddress || userIdentity?.lookupInfo?.phoneNumber, name: nameOf(userIdentity),
      role: roles[type] || "unknown", permission: permissions[permission] || "unknown", acceptance: acceptances[acceptanceStatus] || "unknown",
    })),
  };
}

const sortedByName = (map) => [...map].toSorted(([left], [right]) => (left < right ? -1 : 1));

/** The type of a field, in the schema language. */
function typeWord({ type, isEncrypted }) {
  const base = (isEncrypted ? "ENCRYPTED " : "") + type.replace("_LIST", "").replace("ASSETID", "ASSET");
  return type.endsWith("_LIST") ? `LIST<${base}>` : base;
}

/** The record types of records, in the schema language. */
class ObservedSchema {
  types = new Map();

  add(recordType, fields) {
    if (!this.types.has(recordType)) this.types.set(recordType, new Map());
    const known = this.types.get(recordType);
    for (const { name, type, isEncrypted } of fields) if (!known.has(name) && !type.startsWith("UNKNOWN")) known.set(name, { type, isEncrypted });
  }

  get text() {
    const blocks = sortedByName(this.types).map(([recordType, fields]) => {
      const lines = [...sortedByName(fields).map(([name, field]) => `"${name}" ${typeWord(field)}`), `GRANT WRITE TO "_creator"`, `GRANT CREATE TO "_icloud"`, `GRANT READ TO "_world"`];
      return `    RECORD TYPE "${recordType}" (\n${lines.map((line) => `        ${line}`).join(",\n")}\n    );`;
    });
    return `${["DEFINE SCHEMA", ...blocks].join("\n\n")}\n`;
  }
}

const isDefault = (zone) => zone.zoneID.zoneName === "_defaultZone";

const jsonLines = (items) => items.map((item) => `${JSON.stringify(item)}\n`).join("");

/** Makes one archive. */
export class AccountArchive {
  /** @param {{cloud: string, account: string, program: string, say: (text: string) => void}} settings */
  constructor({ cloud, account, program, say }) {
    this.tar = new Tar();
    this.created = Date.now();
    this.manifest = { format: 1, program, cloud, account, created: this.created, containers: [], assetCount: 0, assetBytes: 0 };
    this.assets = new Set();
    this.say = say;
    for (const name of ["", "/files", "/containers"]) this.tar.addFolder(`${AccountArchive.folder}${name}`, this.created);
  }

  static folder = "welkin-export";

  /** @returns {Blob} */
  finish() {
    this.tar.add(`${AccountArchive.folder}/manifest.json`, utf8(`${JSON.stringify(this.manifest, null, 2)}\n`), this.created);
    return this.tar.blob();
  }

  async addFile(path, text, { lines = 0, problems = 0 } = {}) {
    const content = utf8(text);
    this.tar.add(`${AccountArchive.folder}/${path}`, content, this.created);
    return { path, bytes: content.length, sha256: await sha256(content), lines, problems };
  }

  /** Adds a file of an asset, under its digest. */
  async addAsset(blob) {
    const digest = await sha256(await blob.arrayBuffer());
    const path = `files/${digest}`;
    if (!this.assets.has(digest)) {
      this.assets.add(digest);
      this.tar.add(`${AccountArchive.folder}/${path}`, blob, this.created);
      this.manifest.assetCount += 1;
      this.manifest.assetBytes += blob.size;
    }
    return JSON.stringify({ file: path, size: blob.size });
  }

  /**
   * Adds a container.
   *
   * @param {{container: string, environment: string, user: string, databases: object}} place The container of `welkin.js`, with its keys.
   */
  async addContainer({ container, environment, user, databases }) {
    const number = this.manifest.containers.length + 1;
    const folder = `containers/${number}-${fileName(`${container}-${environment}`)}`;
    for (const name of [folder, `${folder}/private`]) this.tar.addFolder(`${AccountArchive.folder}/${name}`, this.created);
    const schema = new ObservedSchema();
    const shares = [];
    const zones = [];
    const all = (await databases.privateCloudDatabase.fetchAllRecordZones()).orThrow().zones;
    all.sort((left, right) => isDefault(right) - isDefault(left) || (left.zoneID.zoneName < right.zoneID.zoneName ? -1 : 1));
    for (const [index, zone] of all.entries()) {
      const { zoneName } = zone.zoneID;
      this.say(`${container} (${environment}): ${zoneName}`);
      const path = `${folder}/private/${index + 1}-${fileName(zoneName)}.jsonl`;
      const file = await this.addRecords(databases.privateCloudDatabase, zoneName, path, schema, shares);
      zones.push({ name: zoneName, hasKeyPerZone: zone.encryptionScope === "PER_ZONE", file });
    }
    const publicRecords = await this.addRecords(databases.publicCloudDatabase, "_defaultZone", `${folder}/public.jsonl`, schema, []);
    const joined = await joinedShares(databases.sharedCloudDatabase);
    this.manifest.containers.push({
      container, environment, userRecordName: user, folder, zones, publicRecords,
      shares: await this.addFile(`${folder}/shares.jsonl`, jsonLines(shares), { lines: shares.length }),
      sharedWithMe: await this.addFile(`${folder}/shared-with-me.jsonl`, jsonLines(joined), { lines: joined.length }),
      schema: await this.addFile(`${folder}/schema.ckdb`, schema.text),
    });
  }

  async addRecords(database, zoneName, path, schema, shares) {
    const lines = [];
    let problems = 0;
    let continuationMarker;
    do {
      const answer = await database._call("records/list", { zoneID: { zoneName }, continuationMarker, numbersAsStrings: true });
      const isShare = (record) => record.recordType === shareType && record.participants;
      for (const record of answer.records.filter(isShare)) shares.push(listedShare({ ...record, zoneID: { zoneName } }, true));
      const raw = answer.records.filter((record) => record.recordType !== shareType);
      const readable = raw.filter((record) => !record.serverErrorCode);
      const opened = await database._opened(readable);
      for (const [index, record] of readable.entries()) {
        const { text, problem } = await this.line(database, record, opened[index], schema);
        lines.push(`${text}\n`);
        if (problem) problems += 1;
      }
      for (const record of raw.filter((item) => item.serverErrorCode)) {
        lines.push(`${JSON.stringify({ recordName: record.recordName, recordType: "Unknown", recordChangeTag: "", created: stamp(), modified: stamp(), problem: record.reason, fields: {} })}\n`);
        problems += 1;
      }
      ({ continuationMarker } = answer);
    } while (continuationMarker);
    return this.addFile(path, lines.join(""), { lines: lines.length, problems });
  }

  /** The line of a record, and the reason why it is incomplete. */
  async line(database, record, opened, schema) {
    let problem = opened.ckErrorCode ? opened.reason || opened.ckErrorCode : undefined;
    const given = (problem ? record : opened).fields || {};
    const fields = [];
    const texts = [];
    for (const name of Object.keys(given).toSorted((left, right) => (left < right ? -1 : 1))) {
      const { value, type: word, isEncrypted: isMarked, json } = given[name];
      const type = word.replace("ENCRYPTED_", "");
      const isEncrypted = Boolean(isMarked || type !== word);
      if (isEncrypted && problem) continue;
      let text;
      if (type.startsWith("ASSETID")) {
        if (problem) continue;
        try {
          const files = [];
          for (const asset of list(value)) files.push(await this.addAsset(await database.fetchAsset(asset)));
          text = Array.isArray(value) ? `[${files.join(",")}]` : files[0];
        } catch (error) {
          if (error.ckErrorCode === "NETWORK_ERROR") throw error;
          problem = error.reason || error.message;
          continue;
        }
      } else {
        text = json ?? valueText(value, type);
      }
      fields.push({ name, type, isEncrypted });
      texts.push(fieldText(name, type, text, isEncrypted));
    }
    schema.add(record.recordType, fields);
    const head = JSON.stringify({
      recordName: record.recordName, recordType: record.recordType, recordChangeTag: record.recordChangeTag, created: stamp(record.created), modified: stamp(record.modified),
      parent: record.parent?.recordName, share: record.share?.recordName, problem,
    });
    return { text: `${head.slice(0, -1)},"fields":{${texts.join(",")}}}`, problem };
  }
}

/** The shares of others that the person has joined. */
export async function joinedShares(database) {
  const found = [];
  for (const zone of (await database.fetchAllRecordZones()).orThrow().zones) {
    for (const share of await sharesOf(database, zone.zoneID)) found.push(listedShare(share, false));
  }
  return found;
}

/** The records of the shares of a zone, as they come. */
export async function sharesOf(database, zoneID) {
  const found = [];
  let syncToken;
  for (let isMore = true; isMore; ) {
    const { zones } = await database._call("changes/zone", { zones: [{ zoneID, syncToken, desiredRecordTypes: [shareType] }] });
    if (zones[0].serverErrorCode) throw Object.assign(new Error(zones[0].reason), zones[0]);
    found.push(...zones[0].records.filter((record) => !record.deleted).map((record) => ({ ...record, zoneID })));
    ({ syncToken, moreComing: isMore } = zones[0]);
  }
  return found;
}
