/**
 * Encryption for `welkin.js`, by WebCrypto: the formats of docs/encryption.md, and the look-ups of docs/directory.md.
 *
 * Keys are kept as `CryptoKey`s that no script can read out. Keys below them are bytes in the page's memory.
 */

const subtle = globalThis.crypto?.subtle;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Data that does not open, or is not what was stated: `ENCRYPTION_ERROR` or `WAITING_FOR_KEY`. */
export class EncryptionError extends Error {
  constructor(reason, ckErrorCode = "ENCRYPTION_ERROR") {
    super(reason);
    this.name = "EncryptionError";
    this.reason = reason;
    this.ckErrorCode = ckErrorCode;
  }
}

const need = (condition, reason) => {
  if (!condition) throw new EncryptionError(reason);
};
const noKey = (reason) => new EncryptionError(reason, "WAITING_FOR_KEY");
const hasNoKey = (error) => error.ckErrorCode === "WAITING_FOR_KEY";

// --- Bytes

export const utf8 = (text) => encoder.encode(text);
export const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
export const toBase64 = (bytes) => {
  let text = "";
  for (let start = 0; start < bytes.length; start += 32_768) text += String.fromCharCode(...bytes.subarray(start, start + 32_768));
  return btoa(text);
};
export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const same = (left, right) => left.length === right.length && left.reduce((difference, byte, index) => difference | (byte ^ right[index]), 0) === 0;

export function concat(...parts) {
  const bytes = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  return bytes;
}

/** A number in big-endian bytes. */
export function number(value, size) {
  const bytes = new Uint8Array(size);
  let rest = BigInt(value);
  for (let index = size - 1; index >= 0; index -= 1) {
    bytes[index] = Number(rest & 255n);
    rest >>= 8n;
  }
  return bytes;
}

/** Texts, bytes and numbers of 4 bytes, each behind its length. */
export function frame(...parts) {
  const bytes = parts.map((part) => (typeof part === "string" ? utf8(part) : typeof part === "number" ? number(part, 4) : part));
  return concat(...bytes.flatMap((part) => [number(part.length, 4), part]));
}

export class Reader {
  constructor(bytes, what) {
    this.bytes = bytes;
    this.what = what;
  }
  take(count) {
    need(this.bytes.length >= count, `${this.what} was cut`);
    const taken = this.bytes.subarray(0, count);
    this.bytes = this.bytes.subarray(count);
    return taken;
  }
  big(size) {
    return this.take(size).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  }
  number(size) {
    return Number(this.big(size));
  }
  text(size = 2) {
    const bytes = this.take(this.number(size));
    try {
      return decoder.decode(bytes);
    } catch {
      throw new EncryptionError(`${this.what} is malformed`);
    }
  }
  version(known) {
    need(this.number(1) === known, `${this.what} is of an unknown version`);
  }
  flag() {
    const value = this.number(1);
    need(value <= 1, `${this.what} is malformed`);
    return value === 1;
  }
  end() {
    need(this.bytes.length === 0, `${this.what} is malformed`);
  }
}

// --- Building blocks

const named = (value) => concat(number(utf8(value).length, 2), utf8(value));
const random = (count) => crypto.getRandomValues(new Uint8Array(count));
const digest = async (bytes, algorithm = "SHA-256") => new Uint8Array(await subtle.digest(algorithm, bytes));

/** A key that derives others and that no script can read out. */
const deriving = (bytes) => subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
const mac = async (key, message) => new Uint8Array(await subtle.sign("HMAC", key instanceof CryptoKey ? key : await deriving(key), message));

/** HKDF-Expand to 32 bytes. */
export const derive = (key, info) => mac(key, concat(info, Uint8Array.of(1)));

/** HKDF with an empty salt to 32 bytes. */
export const hkdf = async (secret, info) => derive(await mac(new Uint8Array(32), secret), utf8(info));

const sealing = (bytes) => (bytes instanceof CryptoKey ? bytes : subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]));

export async function seal(key, plain, additionalData, nonce = random(12)) {
  const sealed = await subtle.encrypt({ name: "AES-GCM", iv: nonce, additionalData }, await sealing(key), plain);
  return concat(nonce, new Uint8Array(sealed));
}

export async function unseal(key, sealed, additionalData, what) {
  need(sealed.length >= 28, `${what} was cut`);
  try {
    return new Uint8Array(await subtle.decrypt({ name: "AES-GCM", iv: sealed.subarray(0, 12), additionalData }, await sealing(key), sealed.subarray(12)));
  } catch {
    throw new EncryptionError(`${what} does not open`);
  }
}

async function unwrap(key, sealed, additionalData, what) {
  const plain = await unseal(key, sealed, additionalData, what);
  need(plain.length === 32, `${what} is no key`);
  return plain;
}

// --- Accounts

/** The beginnings of private keys in PKCS #8. */
const pkcs8 = { Ed25519: "MC4CAQAwBQYDK2VwBCIEIA==", X25519: "MC4CAQAwBQYDK2VuBCIEIA==" };
const privateKey = (algorithm, seed, isExtractable = false) =>
  subtle.importKey("pkcs8", concat(fromBase64(pkcs8[algorithm]), seed), algorithm, isExtractable, algorithm === "X25519" ? ["deriveBits"] : ["sign"]);

async function publicHalf(algorithm, seed) {
  const { x } = await subtle.exportKey("jwk", await privateKey(algorithm, seed, true));
  return fromBase64(x.replaceAll("-", "+").replaceAll("_", "/"));
}

/** What follows from a password. */
export async function passwordKeys(password, salt, iterations) {
  const key = await subtle.importKey("raw", utf8(password.normalize("NFKC")), "PBKDF2", false, ["deriveBits"]);
  const root = new Uint8Array(await subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, key, 256));
  return { proof: await hkdf(root, "welkin account proof 1"), wrappingKey: await hkdf(root, "welkin account wrap 1") };
}

const accountPlace = (purpose, account) => frame("welkin account secret 1", purpose, account);

export async function openAccountSecret(wrappingKey, wrapped, purpose, account, isExtractable = false) {
  const reader = new Reader(wrapped, "the account's key");
  reader.version(1);
  const sealed = reader.bytes;
  need(sealed.length === 60, "the account's key was cut");
  const key = await subtle.importKey("raw", wrappingKey, "AES-GCM", false, ["unwrapKey"]);
  try {
    return await subtle.unwrapKey(
      "raw", sealed.subarray(12), key, { name: "AES-GCM", iv: sealed.subarray(0, 12), additionalData: accountPlace(purpose, account) },
      { name: "HMAC", hash: "SHA-256", length: 256 }, isExtractable, ["sign"]);
  } catch {
    throw new EncryptionError("the account's key does not open with this password");
  }
}

const verify = async (key, signature, message, what) => {
  const imported = await subtle.importKey("raw", key, "Ed25519", false, ["verify"]).catch(() => null);
  need(imported && (await subtle.verify("Ed25519", imported, signature, message)), `${what} has a wrong signature`);
};

export async function publicIdentity(bytes) {
  const reader = new Reader(bytes, "a public identity");
  reader.version(1);
  const [signing, agreement, signature] = [reader.take(32), reader.take(32), reader.take(64)];
  reader.end();
  await verify(signing, signature, frame("welkin identity 1", signing, agreement), "a public identity");
  return { bytes, signing, agreement, fingerprint: await digest(frame("welkin fingerprint 1", signing, agreement)) };
}

/** The fingerprint as people compare it. */
export const shownFingerprint = (fingerprint) => toHex(fingerprint.subarray(0, 16)).match(/..../g).join(" ");

export async function identityKeys(secret) {
  const signing = await derive(secret, frame("welkin identity signing 1"));
  const agreement = await derive(secret, frame("welkin identity agreement 1"));
  return {
    signing: await publicHalf("Ed25519", signing), agreement: await publicHalf("X25519", agreement),
    signingKey: await privateKey("Ed25519", signing), agreementKey: await privateKey("X25519", agreement),
  };
}

// --- HPKE, RFC 9180: base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM, the first message

const version = utf8("HPKE-v1");
const kemSuite = concat(utf8("KEM"), number(0x20, 2));
const hpkeSuite = concat(utf8("HPKE"), number(0x20, 2), number(1, 2), number(2, 2));
const extract = (suite, salt, label, secret) => mac(salt, concat(version, suite, utf8(label), secret));
const expand = async (suite, key, label, context, length) =>
  (await derive(key, concat(number(length, 2), version, suite, utf8(label), context))).subarray(0, length);
const noSalt = new Uint8Array(32);
const nothing = new Uint8Array(0);

async function agreed(own, other) {
  try {
    const imported = await subtle.importKey("raw", other, "X25519", false, []);
    return new Uint8Array(await subtle.deriveBits({ name: "X25519", public: imported }, own, 256));
  } catch {
    throw new EncryptionError("a key does not open");
  }
}

export async function hpkeContext(own, other, encapsulated, recipient, info) {
  const secret = await expand(kemSuite, await extract(kemSuite, noSalt, "eae_prk", await agreed(own, other)), "shared_secret", concat(encapsulated, recipient), 32);
  const context = concat(Uint8Array.of(0), await extract(hpkeSuite, noSalt, "psk_id_hash", nothing), await extract(hpkeSuite, noSalt, "info_hash", info));
  const key = await extract(hpkeSuite, secret, "secret", nothing);
  return { key: await expand(hpkeSuite, key, "key", context, 32), nonce: await expand(hpkeSuite, key, "base_nonce", context, 12) };
}

async function hpkeOpen({ agreementKey, agreement }, encapsulated, info, sealed, associated, what) {
  const { key, nonce } = await hpkeContext(agreementKey, encapsulated, encapsulated, agreement, info);
  return unwrap(key, concat(nonce, sealed), associated, what);
}

async function hpkeSeal(recipient, info, plain, associated) {
  const { privateKey: own, publicKey } = await subtle.generateKey("X25519", true, ["deriveBits"]);
  const encapsulated = new Uint8Array(await subtle.exportKey("raw", publicKey));
  const { key, nonce } = await hpkeContext(own, recipient, encapsulated, recipient, info);
  return concat(encapsulated, (await seal(key, plain, associated, nonce)).subarray(12));
}

// --- Keys of containers, zones, records. A place is an array of texts.

export const containerRoot = (secret, container, environment) => derive(secret, frame("welkin container root 1", container, environment));
export const zoneKey = (root, [, , owner, zone], epoch) => derive(root, frame("welkin zone key 1", owner, zone, epoch));
export const recordKey = (key, name) => derive(key, frame("welkin record key 1", name));
export const shareKey = (root, share, epoch) => derive(root, frame("welkin share key 1", ...share, epoch));
export const oneTimeLinkSecret = (root, share, slot) => derive(root, frame("welkin share link secret 1", ...share, slot));

/** The secret of the link for all users; a tree's belongs to its root, as a statement confirms it. */
export const linkSecret = (root, share, treeRoot) =>
  (treeRoot ? derive(root, frame("welkin tree link secret 1", ...share.slice(0, 4), treeRoot)) : oneTimeLinkSecret(root, share, ""));

function sealedInEpoch(bytes, epoch, what) {
  const reader = new Reader(bytes, what);
  reader.version(1);
  need(reader.number(4) === epoch, `${what} is of another key epoch`);
  return reader.bytes;
}

const fieldPlace = (at, field, type) => frame("welkin field 1", ...at.record, at.recordType, at.epoch, field, type);
const assetPlace = (at, field, position) => frame("welkin asset key 1", ...at.record, at.recordType, at.epoch, field, position === undefined ? nothing : number(position, 4));

/** @param {{record: string[], recordType: string, epoch: number, key: Uint8Array}} at */
export async function sealField(at, field, type, plain, nonce) {
  return concat(Uint8Array.of(1), number(at.epoch, 4), await seal(at.key, plain, fieldPlace(at, field, type), nonce));
}

export const openField = (at, field, type, sealed) =>
  unseal(at.key, sealedInEpoch(sealed, at.epoch, `field '${field}'`), fieldPlace(at, field, type), `field '${field}'`);

export async function sealAssetSecret(at, field, position, secret, nonce) {
  return concat(Uint8Array.of(1), number(at.epoch, 4), await seal(at.key, secret, assetPlace(at, field, position), nonce));
}

export const openAssetSecret = (at, field, position, sealed) =>
  unseal(at.key, sealedInEpoch(sealed, at.epoch, `the key of file '${field}'`), assetPlace(at, field, position), `the key of file '${field}'`);

// --- Statements of records

export const tagOfSealed = (sealed) => sealed.slice(-8);
export const tagOfKeys = async (keys) => (await digest(frame("welkin asset keys 1", ...keys))).slice(0, 8);
const before = (left, right) => {
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) if (left[index] !== right[index]) return left[index] < right[index];
  return left.length < right.length;
};
const statementPlace = (at, parent, creator, head) => frame("welkin record statement 1", ...at.record, at.recordType, at.epoch, parent || "", creator || "", head);

/** Reads a statement; nothing of it is verified. */
export function readStatement(bytes) {
  const reader = new Reader(bytes, "the statement of a record");
  reader.version(1);
  const statement = { bytes, version: reader.number(8), previous: reader.take(16), created: reader.number(8), values: new Map(), tag: bytes.slice(-16) };
  const count = reader.number(2);
  need(statement.version < 2 ** 48 && count <= 10_000, "the statement of a record is malformed");
  let last = null;
  for (let index = 0; index < count; index += 1) {
    const name = reader.text();
    need(last === null || before(utf8(last), utf8(name)), "the statement of a record is malformed");
    statement.values.set(name, reader.take(8));
    last = name;
  }
  reader.take(28);
  reader.end();
  return statement;
}

/**
 * Makes the statement of a version of a record.
 *
 * @param {Map<string, Uint8Array>} values Tags by field.
 * @param {{parent?: string, creator?: string, created?: number}} facts
 */
export async function makeStatement(at, base, versionNumber, values, { parent, creator, created = 0 }, nonce) {
  const names = [...values.keys()].toSorted((left, right) => (before(utf8(left), utf8(right)) ? -1 : 1));
  const head = concat(
    Uint8Array.of(1), number(versionNumber, 8), base ? base.tag : new Uint8Array(16), number(created, 8), number(names.length, 2),
    ...names.flatMap((name) => [named(name), values.get(name)]));
  return concat(head, await seal(at.key, nothing, statementPlace(at, parent, created ? creator : "", head), nonce));
}

/** Compares the sealed values of a record with its statement; needs no key. */
export function checkValues(statement, present, wanted) {
  for (const [name, tag] of statement.values) {
    const value = present.get(name);
    if (value) need(same(value, tag), `the record is not as its device stated: field '${name}' is of another version`);
    else need(wanted && !wanted.includes(name), `the record is not as its device stated: field '${name}' is missing`);
  }
  for (const name of present.keys()) need(statement.values.has(name), `the record is not as its device stated: field '${name}' is not part of this version`);
}

/** Verifies that the record's key made a statement for a record with these facts. */
export async function checkStatement(at, statement, { parent, creator, created }) {
  need(statement.created === 0 || statement.created === created, "the record is not as its device stated: its creation date was changed");
  const head = statement.bytes.subarray(0, -28);
  const what = "the record is not as its device stated: its type, parent or creator was changed, or the statement";
  await unseal(at.key, statement.bytes.slice(-28), statementPlace(at, parent, statement.created ? creator : "", head), what);
}

// --- Wraps of a record's key

const [ofParent, ofShare, ofPresent, ofOwner] = [1, 2, 3, 4];
const wrapPlace = (record, epoch, wrap) =>
  frame("welkin record key wrap 1", ...record, epoch, Uint8Array.of(wrap.kind), ...(wrap.kind < 3 ? [wrap.name] : []), ...(wrap.kind < 4 ? [wrap.epoch] : []));
const isSameOpener = (left, right) => left.kind === right.kind && left.name === right.name && left.epoch === right.epoch;

/** Reads the `keys` of a protection. */
export function readProtection(epoch, keys) {
  const protection = { epoch, isDerived: true, wraps: [] };
  if (keys.length === 0) return protection;
  const reader = new Reader(keys, "the protection of a record");
  reader.version(1);
  const [origin, count] = [reader.number(1), reader.number(2)];
  need(origin <= 1 && count <= 900, "the protection of a record is malformed");
  protection.isDerived = origin === 0;
  for (let index = 0; index < count; index += 1) {
    const wrap = { kind: reader.number(1), name: undefined, epoch: undefined };
    need(wrap.kind >= ofParent && wrap.kind <= ofOwner, "the protection of a record is malformed");
    if (wrap.kind < 3) wrap.name = reader.text();
    if (wrap.kind < 4) wrap.epoch = reader.number(4);
    need(!protection.wraps.some((other) => isSameOpener(other, wrap)), "the protection of a record is malformed");
    wrap.bytes = reader.take(wrap.kind === ofOwner ? 80 : 60);
    protection.wraps.push(wrap);
  }
  reader.end();
  return protection;
}

export function writeProtection({ isDerived, wraps }) {
  if (isDerived && wraps.length === 0) return nothing;
  const parts = wraps.flatMap((wrap) => [Uint8Array.of(wrap.kind), wrap.kind < 3 ? named(wrap.name) : nothing, wrap.kind < 4 ? number(wrap.epoch, 4) : nothing, wrap.bytes]);
  return concat(Uint8Array.of(1, isDerived ? 0 : 1), number(wraps.length, 2), ...parts);
}

export async function addWrap(protection, record, wrap, opener, key, nonce) {
  const bytes = await seal(opener, key, wrapPlace(record, protection.epoch, wrap), nonce);
  protection.wraps = [...protection.wraps.filter((other) => !isSameOpener(other, wrap)), { ...wrap, bytes }];
}

export const openWrap = (protection, record, wrap, opener) => unwrap(opener, wrap.bytes, wrapPlace(record, protection.epoch, wrap), `the key of record '${record[4]}'`);

const ownerInfo = frame("welkin record key for owner 1");
export const openOwnerWrap = (protection, record, wrap, identity) =>
  hpkeOpen(identity, wrap.bytes.subarray(0, 32), ownerInfo, wrap.bytes.subarray(32), wrapPlace(record, protection.epoch, wrap), `the key of record '${record[4]}'`);

// --- Files

const chunkBytes = 65_536;
const chunkHeader = concat(Uint8Array.of(1), number(chunkBytes, 4));
const chunkPlace = frame("welkin asset chunk 1", chunkHeader);
const chunkNonce = (index, isLast) => concat(new Uint8Array(3), number(index, 8), Uint8Array.of(isLast ? 1 : 0));

function readAssetSecret(secret) {
  const reader = new Reader(secret, "the key of a file");
  const parts = { key: reader.take(32), size: reader.number(8), checksum: reader.take(32) };
  reader.end();
  need(parts.size <= 2 ** 48, "the key of a file is malformed");
  return parts;
}

const streamKey = async ({ key, size, checksum }) => sealing(await derive(key, frame("welkin asset stream 1", number(size, 8), checksum)));

/** Seals a file in chunks. @param {Blob} file @returns {Promise<{sealed: Blob, secret: Uint8Array}>} */
export async function sealFile(file, key = random(32)) {
  // WebCrypto has no checksum in pieces: the file is in memory once.
  const secret = concat(key, number(file.size, 8), await digest(await file.arrayBuffer()));
  const stream = await streamKey(readAssetSecret(secret));
  const count = Math.max(1, Math.ceil(file.size / chunkBytes));
  let sealed = new Blob([chunkHeader]);
  for (let index = 0; index < count; index += 64) {
    const parts = [];
    for (let chunk = index; chunk < Math.min(index + 64, count); chunk += 1) {
      const plain = await file.slice(chunk * chunkBytes, (chunk + 1) * chunkBytes).arrayBuffer();
      parts.push((await seal(stream, plain, chunkPlace, chunkNonce(chunk, chunk === count - 1))).subarray(12));
    }
    // The browser keeps large ones on disk.
    sealed = new Blob([sealed, ...parts]);
  }
  return { sealed, secret };
}

/** Opens a sealed file as it arrives; the checksum is part of the key of its chunks. */
export async function openFile(secret, stream, type) {
  const parts = readAssetSecret(secret);
  const key = await streamKey(parts);
  const count = Math.max(1, Math.ceil(parts.size / chunkBytes));
  const source = stream.getReader();
  let held = nothing;
  const take = async (length) => {
    const arrived = [held];
    for (let size = held.length; size < length; ) {
      const { value, done } = await source.read();
      need(!done, "the file was cut");
      arrived.push(value);
      size += value.length;
    }
    const all = concat(...arrived);
    held = all.slice(length);
    return all.slice(0, length);
  };
  need(same(await take(5), chunkHeader), "the file is of an unknown form");
  let plain = new Blob([], { type });
  for (let index = 0; index < count; index += 1) {
    const length = Math.min(chunkBytes, parts.size - index * chunkBytes) + 16;
    const chunk = await unseal(key, concat(chunkNonce(index, index === count - 1), await take(length)), chunkPlace, "the file");
    plain = new Blob([plain, chunk], { type });
  }
  need(held.length === 0 && (await source.read()).done, "something was added to the file");
  return plain;
}

// --- Shares

/** Reads the secret of a link. @param {string} fragment What follows the `#`. */
export function readFragment(fragment) {
  const value = fragment.replace(/^#/, "").split("&").find((part) => part.startsWith("k="))?.slice(2);
  need(value !== undefined, "the link has no secret");
  need(/^[A-Za-z0-9_-]{44}$/.test(value), "the link was cut or changed");
  const reader = new Reader(fromBase64(value.replaceAll("-", "+").replaceAll("_", "/")), "the link");
  reader.version(1);
  return reader.take(32);
}

export const writeFragment = (secret) => `k=${toBase64(concat(Uint8Array.of(1), secret)).replaceAll("+", "-").replaceAll("/", "_")}`;

const linkPlace = (share, epoch, slot) => frame("welkin share key for link 1", ...share, epoch, slot);
export async function wrapForLink(secret, share, epoch, slot, key, nonce) {
  return concat(Uint8Array.of(2), number(epoch, 4), await seal(await derive(secret, frame("welkin share link 1")), key, linkPlace(share, epoch, slot), nonce));
}

export async function openLinkWrap(secret, share, slot, wrapped) {
  const reader = new Reader(wrapped, "the key of a link");
  reader.version(2);
  const epoch = reader.number(4);
  const key = await unwrap(await derive(secret, frame("welkin share link 1")), reader.bytes, linkPlace(share, epoch, slot), "the key of a link");
  return { epoch, key };
}

export const linkProof = async (secret, share, user, identity) =>
  concat(Uint8Array.of(1), await derive(secret, frame("welkin share link proof 1", ...share, user, identity.fingerprint)));

const ringPlace = (share, epoch, kind, entryEpoch) => frame("welkin share keyring 1", ...share, epoch, Uint8Array.of(kind), entryEpoch);

/** Reads a keyring: entries of kind 1 earlier share key, 2 zone key, 3 link secret. */
export function readKeyring(bytes) {
  const reader = new Reader(bytes, "a keyring");
  reader.version(1);
  const ring = { epoch: reader.number(4), entries: [] };
  const count = reader.number(1);
  need(count <= 31, "a keyring is malformed");
  for (let index = 0; index < count; index += 1) {
    const entry = { kind: reader.number(1), epoch: reader.number(4) };
    need(entry.kind >= 1 && entry.kind <= 3 && !ring.entries.some((other) => isSameOpener(other, entry)), "a keyring is malformed");
    ring.entries.push({ ...entry, bytes: reader.take(60) });
  }
  reader.end();
  return ring;
}

export const openKeyringEntry = (ring, share, entry, key) => unwrap(key, entry.bytes, ringPlace(share, ring.epoch, entry.kind, entry.epoch), "a keyring");

export async function makeKeyring(share, epoch, entries, key, nonce) {
  const parts = [];
  for (const entry of entries) parts.push(Uint8Array.of(entry.kind), number(entry.epoch, 4), await seal(key, entry.key, ringPlace(share, epoch, entry.kind, entry.epoch), nonce));
  return concat(Uint8Array.of(1), number(epoch, 4), Uint8Array.of(entries.length), ...parts);
}

const rightPlace = (share, epoch, identity) => frame("welkin share administrator 1", ...share, epoch, concat(identity.signing, identity.agreement));
const readRight = async (reader) => ({ owner: await publicIdentity(reader.take(129)), epoch: reader.number(4), signature: reader.take(64) });

/** Whether the owner's signature gives an identity the right to invite. */
async function checkRight(right, share, epoch, identity) {
  need(right.epoch <= epoch, "an administrator's right is of a later epoch");
  await verify(right.owner.signing, right.signature, rightPlace(share, right.epoch, identity), "an administrator's right");
}

/**
 * Opens an invitation.
 *
 * @param {string[]} share The share's place.
 * @param {string} participant The reader's id among the participants.
 * @param {object} own The reader's identity keys.
 * @param {Function} trust Refuses an identity that is not the known one.
 */
export async function openInvitation(bytes, share, participant, own, trust) {
  const reader = new Reader(bytes, "an invitation");
  reader.version(1);
  const epoch = reader.number(4);
  const inviter = reader.text();
  const identity = await publicIdentity(reader.take(129));
  const kind = reader.number(1);
  need(kind <= 2, "an invitation is malformed");
  const right = kind > 0 ? await readRight(reader) : null;
  const ended = kind === 2 ? reader.number(1) : 0;
  need(kind !== 2 || (ended >= 1 && ended <= 12), "an invitation is malformed");
  const endedRights = Array.from({ length: ended }, () => toHex(reader.take(32)));
  if (reader.flag()) reader.take(64);
  const [encapsulated, sealed, signature] = [reader.take(32), reader.take(48), reader.take(64)];
  reader.end();
  if (right) {
    await checkRight(right, share, epoch, identity);
    await trust(right.owner, share[2], true);
    await trust(identity, inviter, false);
  } else {
    need(inviter === share[2], "an invitation is not by the share's owner");
    await trust(identity, inviter, true);
  }
  const place = frame("welkin share key for participant 1", ...share, epoch, participant);
  await verify(identity.signing, signature, concat(place, frame(bytes.subarray(0, -64))), "an invitation");
  const key = await hpkeOpen(own, encapsulated, frame("welkin share invitation 1"), sealed, place, "an invitation");
  return { epoch, key, inviter, identity, right, owner: right?.owner, endedRights };
}

const statedPlace = (share, epoch, counter) => frame("welkin share statement 1", ...share, epoch, number(counter, 8));

/** Opens and verifies a share's statement. */
export async function openShareStatement(bytes, share, epoch, key, trust) {
  const what = "the statement of a share";
  need(bytes.length <= 16_384, `${what} is too long`);
  const outer = new Reader(bytes, what);
  outer.version(1);
  need(outer.number(4) === epoch, `${what} is of another epoch`);
  const counter = outer.number(8);
  const place = statedPlace(share, epoch, counter);
  const body = await unseal(key, outer.bytes, place, what);
  const reader = new Reader(body, what);
  reader.version(1);
  const root = reader.flag() ? reader.text() : null;
  const publicPermission = reader.number(1);
  need(publicPermission >= 1 && publicPermission <= 3, `${what} is malformed`);
  if (reader.flag()) reader.take(40);
  const participants = new Map();
  const count = reader.number(1);
  for (let index = 0; index < count; index += 1) {
    const id = reader.text(1);
    const entry = { isAdministrator: reader.flag(), permission: reader.number(1), subjectKind: reader.number(1) };
    need(id.length >= 1 && id.length <= 64 && !participants.has(id) && entry.subjectKind <= 3 && entry.permission >= 1 && entry.permission <= 3
      && (!entry.isAdministrator || entry.permission === 3), `${what} is malformed`);
    if (entry.subjectKind > 0) entry.subject = reader.take(32);
    if (reader.flag()) entry.identity = reader.take(32);
    participants.set(id, entry);
  }
  need(participants.size <= 100, `${what} is malformed`);
  const signer = reader.text();
  const identity = await publicIdentity(reader.take(129));
  const right = reader.flag() ? await readRight(reader) : null;
  const signature = reader.take(64);
  reader.end();
  if (right) {
    need(signer !== share[2], `${what} is malformed`);
    await checkRight(right, share, epoch, identity);
    await trust(right.owner, share[2], true);
    await trust(identity, signer, false);
  } else {
    need(signer === share[2], `${what} is not by the share's owner`);
    await trust(identity, signer, true);
  }
  await verify(identity.signing, signature, concat(place, frame(body.subarray(0, -64))), what);
  return { epoch, counter, root, publicPermission, participants, signer, identity, right, endedRights: [], digest: toHex(await digest(body)) };
}

export const subject = (share, kind, name) => digest(frame("welkin share participant 1", ...share, Uint8Array.of(kind), name));

export async function makeShareStatement({ root, publicPermission, participants }, share, epoch, counter, key, owner, identity, signingKey) {
  const place = statedPlace(share, epoch, counter);
  const body = concat(
    Uint8Array.of(1), root === null ? Uint8Array.of(0) : concat(Uint8Array.of(1), named(root)), Uint8Array.of(publicPermission, 0, participants.length),
    ...participants.map(({ id, isAdministrator, permission, subjectKind, subject: hash }) =>
      concat(Uint8Array.of(utf8(id).length), utf8(id), Uint8Array.of(isAdministrator ? 1 : 0, permission, subjectKind), hash || nothing, Uint8Array.of(0))),
    named(owner), identity.bytes, Uint8Array.of(0));
  const signature = new Uint8Array(await subtle.sign("Ed25519", signingKey, concat(place, frame(body))));
  return concat(Uint8Array.of(1), number(epoch, 4), number(counter, 8), await seal(key, concat(body, signature), place));
}

// --- The directory of identities

const prime = 2n ** 255n - 19n;
const order = 2n ** 252n + 27742317777372353535851937790883648493n;
const mod = (value) => ((value % prime) + prime) % prime;
function power(base, exponent) {
  let [result, factor] = [1n, mod(base)];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * factor) % prime;
    factor = (factor * factor) % prime;
  }
  return result;
}
const inverse = (value) => power(value, prime - 2n);
const curve = mod(-121665n * inverse(121666n));
const little = (bytes) => bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
const zero = [0n, 1n, 1n, 0n];

// Points of edwards25519, of public data only: nothing here runs in constant time.
function addPoints([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * t1 * t2 * curve);
  const d = mod(2n * z1 * z2);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}
function times(scalar, point) {
  let [result, power2] = [zero, point];
  for (let rest = scalar; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = addPoints(result, power2);
    power2 = addPoints(power2, power2);
  }
  return result;
}
const negative = ([x, y, z, t]) => [mod(-x), y, z, mod(-t)];
const isZero = ([x, y, z]) => x === 0n && y === z;
function decodePoint(bytes) {
  const value = little(bytes);
  const [sign, y] = [value >> 255n, value & (2n ** 255n - 1n)];
  if (y >= prime) return null;
  const square = mod((y * y - 1n) * inverse(curve * y * y + 1n));
  let x = power(square, (prime + 3n) / 8n);
  if (mod(x * x - square) !== 0n) x = mod(x * power(2n, (prime - 1n) / 4n));
  if (mod(x * x - square) !== 0n || (x === 0n && sign)) return null;
  if ((x & 1n) !== sign) x = prime - x;
  return [x, y, 1n, mod(x * y)];
}
function encodePoint([x, y, z]) {
  const scale = inverse(z);
  return number(mod(y * scale) | ((mod(x * scale) & 1n) << 255n), 32).toReversed();
}
const basePoint = decodePoint(number(mod(4n * inverse(5n)), 32).toReversed());

export async function functionOutput(publicKey, input, proof) {
  need(proof.length === 80, "a proof of the directory is malformed");
  const [key, gamma] = [decodePoint(publicKey), decodePoint(proof.subarray(0, 32))];
  const [challenge, answer] = [little(proof.subarray(32, 48)), little(proof.subarray(48))];
  need(key && gamma && answer < order && !isZero(times(8n, key)), "a proof of the directory is malformed");
  let point = null;
  for (let counter = 0; counter < 256 && !point; counter += 1) {
    const candidate = decodePoint((await digest(concat(Uint8Array.of(3, 1), publicKey, input, Uint8Array.of(counter, 0)), "SHA-512")).subarray(0, 32));
    if (candidate && !isZero(times(8n, candidate))) point = times(8n, candidate);
  }
  const one = addPoints(times(answer, basePoint), negative(times(challenge, key)));
  const other = addPoints(times(answer, point), negative(times(challenge, gamma)));
  const expected = await digest(concat(Uint8Array.of(3, 2), publicKey, ...[point, gamma, one, other].map(encodePoint), Uint8Array.of(0)), "SHA-512");
  need(same(expected.subarray(0, 16), proof.subarray(32, 48)), "a proof of the directory is of another entry");
  return digest(concat(Uint8Array.of(3, 3), encodePoint(times(8n, gamma)), Uint8Array.of(0)), "SHA-512");
}

export async function directoryHead(bytes, keys) {
  const reader = new Reader(bytes, "a head of the directory");
  const head = { number: reader.big(8), root: reader.take(32), count: reader.take(8), time: reader.take(8), previous: reader.take(32), log: reader.take(32) };
  const signature = reader.take(64);
  reader.end();
  const signed = frame("welkin directory head 1", number(head.number, 8), head.root, head.count, head.time, head.previous, head.log);
  await verify(keys.subarray(0, 32), signature, signed, "a head of the directory");
  return { ...head, hash: await digest(signed) };
}

export async function directoryEntry(label, keys, head, proof) {
  const what = "a proof of the directory";
  const reader = new Reader(proof, what);
  reader.version(1);
  const index = (await functionOutput(keys.subarray(32), label, reader.take(80))).subarray(0, 32);
  const steps = [];
  for (let count = reader.number(2); count > 0; count -= 1) {
    const step = { depth: reader.number(1), sibling: reader.take(32) };
    need(steps.length === 0 || steps.at(-1).depth < step.depth, `${what} is malformed`);
    steps.push(step);
  }
  const climb = async (at, versionBytes, previous, commitment) => {
    let value = await digest(frame("welkin directory leaf 1", at, versionBytes, previous, commitment));
    for (const { depth, sibling } of steps.toReversed()) {
      const isRight = (index[depth >> 3] >> (7 - (depth % 8))) & 1;
      value = await digest(frame("welkin directory node 1", Uint8Array.of(depth), ...(isRight ? [sibling, value] : [value, sibling])));
    }
    need(same(value, head.root), `${what} is of another state`);
  };
  const kind = reader.number(1);
  if (kind === 0) {
    need(steps.length === 0 && same(head.root, await digest(frame("welkin directory empty 1"))), `${what} is of another state`);
    return null;
  }
  if (kind === 1) {
    const leaf = [reader.take(32), reader.take(8), reader.take(32), reader.take(32)];
    reader.end();
    need(!same(leaf[0], index), `${what} is malformed`);
    await climb(...leaf);
    return null;
  }
  need(kind <= 3, `${what} is malformed`);
  const [entryVersion, previous] = [reader.take(8), reader.take(32)];
  const identity = reader.take(reader.number(2));
  const opening = reader.take(32);
  let devices = reader.take(32);
  if (kind === 3) {
    const parts = [];
    for (let count = reader.number(2); count > 0; count -= 1) parts.push(reader.take(32), reader.take(8));
    devices = await mac(devices, frame("welkin directory devices 1", ...parts));
  }
  reader.end();
  await climb(index, entryVersion, previous, await mac(opening, frame("welkin directory entry 1", entryVersion, identity, devices)));
  return identity;
}

const pair = (left, right) => digest(concat(Uint8Array.of(1), left, right));

/** Verifies that a later head continues the history of an earlier one (RFC 9162, 2.1.3.2 and 2.1.4.2). */
export async function checkHistory(earlier, later, proof) {
  const what = "the directory's history is another one";
  const reader = new Reader(proof, "a proof of the directory");
  const take = () => Array.from({ length: reader.number(1) }, () => reader.take(32));
  const [inclusion, consistency] = [take(), take()];
  reader.end();
  need(earlier.number < later.number, what);
  const climb = async (first, second, path, step) => {
    let [left, right] = [first, second];
    for (const sibling of path) {
      need(right > 0n, what);
      const isRight = Boolean(left & 1n) || left === right;
      await step(isRight, sibling);
      if (isRight) while (!(left & 1n) && left > 0n) [left, right] = [left >> 1n, right >> 1n];
      [left, right] = [left >> 1n, right >> 1n];
    }
    need(right === 0n, what);
  };
  let value = await digest(concat(Uint8Array.of(0), earlier.hash));
  await climb(earlier.number, later.number - 1n, inclusion, async (isRight, sibling) => (value = await (isRight ? pair(sibling, value) : pair(value, sibling))));
  need(same(value, later.log), what);
  if (earlier.number === 0n) return need(consistency.length === 0 && same(earlier.log, await digest(nothing)), what);
  const path = (earlier.number & (earlier.number - 1n)) === 0n ? [earlier.log, ...consistency] : consistency;
  need(path.length > 0, what);
  let [first, second] = [earlier.number - 1n, later.number - 1n];
  while (first & 1n) [first, second] = [first >> 1n, second >> 1n];
  let [one, other] = [path[0], path[0]];
  await climb(first, second, path.slice(1), async (isRight, sibling) => {
    other = await (isRight ? pair(sibling, other) : pair(other, sibling));
    if (isRight) one = await pair(sibling, one);
  });
  need(same(one, earlier.log) && same(other, later.log), what);
}

// --- What the browser keeps: keys that cannot be read out, known identities, highest epochs, links

let opening = null;
const openDatabase = () =>
  (opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("welkin", 1);
    request.addEventListener("upgradeneeded", () => request.result.createObjectStore("kept"));
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(new EncryptionError("This browser keeps no data for this page, so it cannot keep keys.")));
  }));

async function stored(mode, act) {
  const transaction = (await openDatabase()).transaction("kept", mode);
  const request = act(transaction.objectStore("kept"));
  return new Promise((resolve, reject) => {
    transaction.addEventListener("complete", () => resolve(request.result));
    transaction.addEventListener("error", () => reject(transaction.error));
  });
}
const kept = {
  get: (key) => stored("readonly", (store) => store.get(key)),
  put: (key, value) => stored("readwrite", (store) => store.put(value, key)),
  remove: (beginning) => stored("readwrite", (store) => store.delete(IDBKeyRange.bound(beginning, `${beginning}\uffff`))),
};
const accountKey = (connection, user) => `account ${connection.place} ${user}`;

/** The account's address as its keys name it. */
const normalised = (email) => email.trim().normalize("NFC").toLowerCase();
const roundsMin = 600_000;

/**
 * Opens a session with a password: derives proof and key as a device does. Keeps nothing.
 *
 * @returns {Promise<object>} For `adopt`.
 */
export async function signIn(connection, { email, password, deviceName = "Browser", signal }) {
  if (!subtle) throw new EncryptionError("The browser offers no encryption to this page. Open it by an address that begins with https.");
  const puzzle = await connection.device("sessions/prepare", { email }, { signal, qualityOfService: "userInitiated" });
  need(puzzle.rounds >= roundsMin, "The cloud asks for a proof from which the password could be guessed. Nothing was sent.");
  const { proof, wrappingKey } = await passwordKeys(password, fromBase64(puzzle.salt), puzzle.rounds);
  const lifetime = connection.isKept ? "persistent" : "session";
  const session = await connection.device(
    "sessions/create", { email, proof: toBase64(proof), deviceName, lifetime, wantsKeychain: true }, { signal, qualityOfService: "userInitiated", isRepeatable: false });
  const { ckWebAuthToken, userRecordName, keychain } = session;
  const withheld = session.withholdsKeychain ? "The account's owner lets no browser read encrypted data (welkin keychain web on)."
    : "The account has no keys yet: its first device makes them (welkin login).";
  if (!keychain) return { ckWebAuthToken, userRecordName, withheld };
  const { secret, identity, keys } = await openKeychain(keychain, wrappingKey, normalised(email));
  const root = await deriving(await containerRoot(secret, connection.container, connection.environment));
  return { ckWebAuthToken, userRecordName, account: { root, signingKey: keys.signingKey, agreementKey: keys.agreementKey, identity: identity.bytes } };
}

/** Keeps the keys that a sign-in brought, of this page or of the cloud's window. */
export async function adopt(connection, { userRecordName, account, withheld }) {
  connection.keysWithheld = withheld;
  await forget(connection, ["account"]);
  if (account) await kept.put(accountKey(connection, userRecordName), account);
}

async function openKeychain(keychain, wrappingKey, account) {
  const secret = await openAccountSecret(wrappingKey, fromBase64(keychain.passwordWrap), "password", account);
  const identity = await publicIdentity(fromBase64(keychain.identity));
  const keys = await identityKeys(secret);
  need(same(keys.signing, identity.signing) && same(keys.agreement, identity.agreement), "The cloud shows other keys than the account's.");
  return { secret, identity, keys };
}

/** @returns {Promise<object|null>} The keys that this browser keeps for the user who is signed in; null: none. */
export async function restore(connection) {
  if (!subtle || !globalThis.indexedDB) return null;
  return (await kept.get(accountKey(connection, connection.user.userRecordName))) || null;
}

/** Removes the keys, and with `memory` what was remembered. */
export async function forget(connection, kinds = ["account", "memory"]) {
  if (globalThis.indexedDB) for (const kind of kinds) await kept.remove(`${kind} ${connection.place} `);
}

export const keysOf = async (account, connection) => new Keys(account, await publicIdentity(account.identity), connection);

// --- Records, zones and shares as the cloud sends them

const wholeZone = "cloudkit.zoneshare";
const shareType = "cloudkit.share";
const depthMax = 128;
const list = (value) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);
const permissions = { NONE: 1, READ_ONLY: 2, READ_WRITE: 3 };
const refusal = (record, error) => ({
  recordName: record.recordName, recordType: record.recordType, zoneID: record.zoneID, parent: record.parent,
  ckErrorCode: error.ckErrorCode || "ENCRYPTION_ERROR", reason: error.reason || error.message, ...(error.serverErrorCode ? error : {}),
});
const isSealed = (value) => Boolean(value?.isEncrypted || value?.type?.startsWith("ENCRYPTED_"));
const assetsOf = (value) => (value?.type?.startsWith("ASSET") ? list(value.value) : []);

function guessedType(item, name) {
  if (typeof item === "string") return "STRING";
  if (typeof item === "number") return Number.isInteger(item) ? "INT64" : "DOUBLE";
  if (item && typeof item === "object" && "latitude" in item) return "LOCATION";
  throw new EncryptionError(`Field '${name}': a value of this kind cannot be encrypted.`);
}

function plainValue(given, name) {
  const { value, type } = given;
  const base = type?.replace(/^ENCRYPTED_/, "") || (Array.isArray(value) ? `${value.length > 0 ? guessedType(value[0], name) : "UNKNOWN"}_LIST` : guessedType(value, name));
  need(/^(STRING|INT64|DOUBLE|TIMESTAMP|BYTES|LOCATION|UNKNOWN)(_LIST)?$/.test(base), `Field '${name}': a value of type ${base} cannot be encrypted.`);
  return { type: `ENCRYPTED_${base}`, plain: utf8(JSON.stringify(value)) };
}

function sealedTypes(given) {
  const type = given.startsWith("ENCRYPTED_") ? given : `ENCRYPTED_${given}`;
  const isList = type.endsWith("_LIST");
  const types = [type];
  if (type.startsWith("ENCRYPTED_DOUBLE")) types.push(`ENCRYPTED_INT64${isList ? "_LIST" : ""}`);
  if (isList) types.push("ENCRYPTED_UNKNOWN_LIST");
  return types;
}

/** The keys of a user in a container: opens what answers bring, and seals what is saved. */
class Keys {
  constructor(account, identity, connection) {
    this.root = account.root;
    this.signingKey = account.signingKey;
    this.identity = identity;
    this.own = { agreementKey: account.agreementKey, agreement: identity.agreement };
    this.connection = connection;
    this.user = connection.user.userRecordName;
    this.zones = new Map();
    this.files = new WeakMap();
    this.versions = new Map();
  }

  // --- Memory of this browser

  memory(name) {
    return `memory ${this.connection.place} ${name}`;
  }

  async see(name, value, what) {
    const key = this.memory(name);
    const seen = (await kept.get(key)) ?? 0;
    need(value >= seen, `${what}: the cloud shows key epoch ${value}, and this browser has seen ${seen}`);
    if (value > seen) await kept.put(key, value);
  }

  /** Refuses an identity that is not the known one; an owner's is not believed before the directory shows it. */
  async trust(identity, user, isOwner) {
    if (user === this.user) return need(same(identity.fingerprint, this.identity.fingerprint), "the cloud shows other keys as this account's");
    const key = this.memory(`identity ${user}`);
    const known = await kept.get(key);
    if (known) return need(known === toHex(identity.fingerprint), `the keys of user ${user} are other ones than before: compare fingerprints, and confirm the new one on a device (welkin keychain trust)`);
    if (isOwner) await this.lookUp(user, identity);
    await kept.put(key, toHex(identity.fingerprint));
  }

  /** Verifies by the cloud's directory that an identity is a user's. */
  async lookUp(user, identity) {
    const memoryKey = this.memory("directory");
    const known = await kept.get(memoryKey);
    const answer = await this.connection.device("directory/lookup", { addresses: [], userRecordNames: [user], heads: known ? [known.number] : [] });
    const keys = fromBase64(answer.keys);
    const head = await directoryHead(fromBase64(answer.head), keys);
    if (known) {
      need(same(keys, known.keys), "the keys of the cloud's directory are other ones than before");
      need(Number(head.number) >= known.number, "the cloud's directory shows an earlier state than before");
      const hash = known.hash;
      if (Number(head.number) === known.number) {
        need(same(head.hash, hash), "the cloud's directory shows another state than before");
      } else {
        const found = (answer.heads || []).map((item) => ({ bytes: fromBase64(item.head), proof: fromBase64(item.proof) }));
        let proven = false;
        for (const item of found) {
          const earlier = await directoryHead(item.bytes, keys);
          if (Number(earlier.number) !== known.number) continue;
          need(same(earlier.hash, hash), "the cloud's directory shows another history than before");
          await checkHistory(earlier, head, item.proof);
          proven = true;
        }
        need(proven, "the cloud's directory does not prove its history");
      }
    }
    need(answer.proofs.length === 1, "the cloud's directory does not answer");
    const shown = await directoryEntry(frame("welkin directory user 1", this.connection.container, user), keys, head, fromBase64(answer.proofs[0].proof));
    await kept.put(memoryKey, { keys, number: Number(head.number), hash: head.hash });
    if (!shown || shown.length === 0) throw noKey(`The identity of user ${user} is not in the cloud's directory yet.`);
    const other = await publicIdentity(shown);
    need(same(other.fingerprint, identity.fingerprint), `the cloud's directory shows other keys of user ${user}`);
  }

  // --- Zones

  zone(zoneID) {
    const { zoneName = "_defaultZone", ownerRecordName } = zoneID || {};
    const isCaller = !ownerRecordName || ownerRecordName === "__defaultOwner__" || ownerRecordName === "_defaultOwner";
    const owner = isCaller ? this.user : ownerRecordName;
    const key = JSON.stringify([owner, zoneName]);
    if (!this.zones.has(key)) {
      this.zones.set(key, {
        key, zoneID: { zoneName, ownerRecordName: owner }, isOwn: owner === this.user,
        place: [this.connection.container, this.connection.environment, owner, zoneName],
        epoch: null, zoneKeys: new Map(), shareKeys: new Map(), newest: new Map(), owners: new Map(), links: new Map(),
        statements: new Map(), planned: new Map(), distrusted: new Map(), protections: new Map(), standings: new Map(), waiting: "",
      });
    }
    return this.zones.get(key);
  }

  record(zone, name) {
    return [...zone.place, name];
  }

  async zoneEpoch(zone, database, isFresh) {
    if (zone.epoch === null || isFresh) {
      const { zones } = await database._call("zones/lookup", { zones: [zone.zoneID] }, { isNative: true });
      if (zones[0].serverErrorCode) throw Object.assign(new EncryptionError(zones[0].reason), zones[0], { ckErrorCode: zones[0].serverErrorCode });
      await this.see(`zone ${zone.key}`, zones[0].keyEpoch || 0, `zone '${zone.zoneID.zoneName}'`);
      zone.epoch = zones[0].keyEpoch || 0;
    }
    return zone.epoch;
  }

  /** The key of a zone in an epoch; null: it is another user's, and did not come with a share. */
  async zoneKey(zone, epoch) {
    if (zone.isOwn && !zone.zoneKeys.has(epoch)) zone.zoneKeys.set(epoch, await deriving(await zoneKey(this.root, zone.place, epoch)));
    return zone.zoneKeys.get(epoch) || null;
  }

  /** Fetches records without their fields. */
  async look(zone, database, names) {
    const found = [];
    for (let start = 0; start < names.length; start += 400) {
      const records = names.slice(start, start + 400).map((recordName) => ({ recordName }));
      const answer = await database._call("records/lookup", { zoneID: zone.zoneID, records, desiredKeys: [] }, { isNative: true });
      found.push(...answer.records.filter((record) => !record.serverErrorCode && !record.deleted));
    }
    for (const record of found) await this.learn(zone, database, record);
    for (const name of names) if (!found.some((record) => record.recordName === name)) this.learnAbsence(zone, name);
    return found;
  }

  async learn(zone, database, record) {
    if (record.recordType === shareType) await this.learnShare(zone, database, record);
    zone.standings.set(record.recordName, { parent: record.parent?.recordName, share: record.share?.recordName });
    const { protection } = record;
    zone.protections.set(record.recordName, protection ? readProtection(protection.epoch || 0, fromBase64(protection.keys || "")) : null);
  }

  learnAbsence(zone, name) {
    zone.standings.set(name, {});
    zone.protections.set(name, null);
    zone.newest.delete(name);
  }

  // --- Shares

  keyOfShare(zone, name, epoch) {
    return zone.shareKeys.get(name)?.get(epoch);
  }

  addShareKey(zone, name, epoch, key) {
    if (!zone.shareKeys.has(name)) zone.shareKeys.set(name, new Map());
    zone.shareKeys.get(name).set(epoch, key);
  }

  async link(zone, name) {
    const secret = zone.links.get(name) || (await kept.get(this.memory(`link ${zone.key} ${name}`)));
    return secret || null;
  }

  /** Opens the keys of a share, and verifies what is shared with whom. */
  async learnShare(zone, database, record) {
    const name = record.recordName;
    const share = this.record(zone, name);
    const keys = record.shareKeys;
    if (!keys || !keys.keyEpoch) {
      zone.newest.delete(name);
      zone.distrusted.delete(name);
      return;
    }
    await this.see(`share ${zone.key} ${name}`, keys.keyEpoch, `share '${name}'`);
    zone.newest.set(name, keys.keyEpoch);
    zone.owners.delete(name);
    const slot = record.currentUserParticipant;
    const isOutdated = slot?.keyIdentity && slot.keyIdentity !== toHex(this.identity.fingerprint);
    const epochs = keys.epochs || [];
    for (let page = epochs; !zone.isOwn && page.length === 16 && epochs.length < 1e5; epochs.push(...page)) {
      page = (await database._call("shares/keys/lookup", { zoneID: zone.zoneID, recordName: name, before: page[15].epoch }, { isNative: true }).catch(() => 0)).epochs || [];
    }
    for (const item of epochs.toSorted((left, right) => right.epoch - left.epoch)) {
      const known = [...(zone.shareKeys.get(name)?.keys() || [])];
      if (!known.some((epoch) => epoch >= item.epoch)) {
        const opened = await this.openEpoch(zone, share, item, isOutdated ? null : slot?.participantId);
        if (opened) this.addShareKey(zone, name, item.epoch, opened.key);
        if (opened?.owner && item.epoch === keys.keyEpoch) zone.owners.set(name, opened.owner);
      }
      const key = this.keyOfShare(zone, name, item.epoch);
      if (key && item.blob) await this.addKeyring(zone, share, key, item);
    }
    await this.learnStatement(zone, record, share);
  }

  async openEpoch(zone, share, item, slot) {
    // A wrap in the owner's own slot says that an administrator began the epoch.
    if (zone.isOwn) {
      if (item.wrap) return null;
      await this.checkOrder(zone, share[4], { epoch: item.epoch });
      return { key: await shareKey(this.root, share, item.epoch) };
    }
    const link = await this.link(zone, share[4]);
    const wrap = item.wrap && slot ? fromBase64(item.wrap) : null;
    if (wrap?.[0] === 2) {
      if (link) return openLinkWrap(link, share, slot, wrap).catch(() => null);
    } else if (wrap) {
      const opened = await openInvitation(wrap, share, slot, this.own, (...words) => this.trust(...words));
      need(opened.epoch === item.epoch, "an invitation is of another epoch");
      await this.checkOrder(zone, share[4], opened);
      return opened;
    }
    if (!item.link || !link) return null;
    return openLinkWrap(link, share, "", fromBase64(item.link)).catch(() => null);
  }

  /** Refuses what an administrator signed whose right has ended. */
  async checkOrder(zone, name, { epoch, right, identity, endedRights }) {
    const key = this.memory(`rights ${zone.key} ${name}`);
    const seen = (await kept.get(key)) || { epoch: 0, ended: [] };
    if (!right) return epoch > seen.epoch ? kept.put(key, { epoch, ended: [] }) : null;
    need(right.epoch >= seen.epoch && !seen.ended.includes(toHex(identity.fingerprint)), "an administrator's right has ended");
    return kept.put(key, { ...seen, ended: [...new Set([...seen.ended, ...endedRights])] });
  }

  async addKeyring(zone, share, key, item) {
    const ring = readKeyring(fromBase64(item.blob));
    if (ring.epoch !== item.epoch) return;
    for (const entry of ring.entries) {
      const value = await openKeyringEntry(ring, share, entry, key);
      if (entry.kind === 1) this.addShareKey(zone, share[4], entry.epoch, value);
      else if (entry.kind === 3) zone.links.set(share[4], value);
      else if (!zone.isOwn) zone.zoneKeys.set(entry.epoch, await deriving(value));
    }
  }

  async learnStatement(zone, record, share) {
    const name = record.recordName;
    const epoch = zone.newest.get(name);
    const key = this.keyOfShare(zone, name, epoch);
    zone.statements.delete(name);
    zone.distrusted.delete(name);
    if (!key) return;
    try {
      const item = record.shareKeys.epochs.find((other) => other.epoch === epoch);
      need(item?.statement, "the cloud shows keys of the share without a statement");
      const stated = await openShareStatement(fromBase64(item.statement), share, epoch, key, (...words) => this.trust(...words));
      if (stated.right) await this.checkOrder(zone, name, stated);
      const memoryKey = this.memory(`statement ${zone.key} ${name}`);
      const seen = await kept.get(memoryKey);
      need(!seen || seen.epoch < epoch || seen.counter < stated.counter || (seen.counter === stated.counter && seen.digest === stated.digest), "the cloud shows an earlier statement of the share");
      await kept.put(memoryKey, { epoch, counter: stated.counter, digest: stated.digest });
      need((record.rootRecordName ?? null) === stated.root, "the cloud names another root record of the share");
      need((permissions[record.publicPermission] || 1) <= stated.publicPermission, "the cloud gives users who have the link more than was stated");
      const isManager = zone.isOwn || record.currentUserParticipant?.type === "ADMINISTRATOR";
      for (const participant of record.participants || []) {
        const entry = stated.participants.get(participant.participantId);
        if (participant.type === "OWNER" || !entry || !(isManager || participant.participantId === record.currentUserParticipant?.participantId)) continue;
        const merged = [...stated.participants].filter(([id]) => !record.participants.some((other) => other.participantId === id)).map(([, other]) => other);
        const highest = Math.max(entry.permission, ...merged.map((other) => other.permission));
        need((permissions[participant.permission] || 1) <= highest, "the cloud gives a participant more than was stated");
        need(participant.type !== "ADMINISTRATOR" || entry.isAdministrator || merged.some((other) => other.isAdministrator), "the cloud names an administrator who was not stated");
      }
      zone.statements.set(name, stated);
    } catch (error) {
      if (!(error instanceof EncryptionError)) throw error;
      zone.distrusted.set(name, error);
    }
  }

  /** Remembers the secret of a link that was opened, before its share's keys are. */
  async learnLink(fragment, info) {
    if (!fragment || !info.share) return;
    const zone = this.zone(info.zoneID);
    if (zone.isOwn) return;
    const secret = readFragment(fragment);
    zone.links.set(info.share.recordName, secret);
    await kept.put(this.memory(`link ${zone.key} ${info.share.recordName}`), secret);
  }

  /** The proof that this account has the secret of a link, for owner and administrators. */
  async linkProof(fragment, info) {
    const zone = this.zone(info.zoneID);
    return toBase64(await linkProof(readFragment(fragment), this.record(zone, info.share.recordName), this.user, this.identity));
  }

  /** What follows the `#` of a share's link; null: the share has no keys, or this browser does not know it. */
  async linkFragment(_database, record) {
    const zone = this.zone(record.zoneID);
    if (!record.shareKeys && !zone.newest.has(record.recordName)) return null;
    const secret = await (zone.isOwn ? this.ownLink(zone, record) : this.link(zone, record.recordName));
    return secret && (record.publicPermission || "NONE") !== "NONE" ? writeFragment(secret) : null;
  }

  /** null: no statement confirms which tree is shared. */
  async ownLink(zone, { recordName, shareKeys }) {
    const share = this.record(zone, recordName);
    const stated = zone.statements.get(recordName) || zone.planned.get(recordName);
    if (!stated) return null;
    const secret = await linkSecret(this.root, share, stated.root);
    const link = list(shareKeys?.epochs).find(({ epoch }) => epoch === shareKeys.epoch)?.link;
    // A tree that was shared before trees had secrets of their own.
    const isFormer = link && !(await openLinkWrap(secret, share, "", fromBase64(link)).catch(() => null));
    return isFormer ? linkSecret(this.root, share) : secret;
  }

  // --- Keys of records

  /** Finds the key of a record in an epoch (docs/encryption.md, "Finding a key"). */
  async recordKey(zone, database, name, epoch, depth = 0) {
    need(depth <= depthMax, `the key of record '${name}' is too far away`);
    const record = this.record(zone, name);
    if (!zone.protections.has(name)) {
      const derived = zone.isOwn && (await this.zoneKey(zone, epoch));
      if (derived && depth > 0) zone.protections.set(name, null);
      else await this.look(zone, database, [name]);
    }
    const protection = zone.protections.get(name);
    const derived = async () => {
      const key = await this.zoneKey(zone, epoch);
      if (key) return recordKey(key, name);
      throw noKey(`Record '${name}' is waiting for a key: a device of the share's owner has to hand it to this account.`);
    };
    if (!protection || epoch > protection.epoch) return derived();
    if (epoch < protection.epoch) {
      const wrap = protection.wraps.find((other) => other.kind === ofPresent && other.epoch === epoch);
      if (!wrap) return derived();
      const present = await this.recordKey(zone, database, name, protection.epoch, depth + 1).catch((error) => {
        if (hasNoKey(error)) return null;
        throw error;
      });
      return present ? openWrap(protection, record, wrap, present) : derived();
    }
    if (protection.isDerived && (await this.zoneKey(zone, epoch))) return derived();
    for (const isLoaded of [false, true]) {
      const shares = protection.wraps.filter((other) => other.kind === ofShare);
      if (isLoaded && !zone.isOwn) await this.look(zone, database, [...new Set([...shares.map((wrap) => wrap.name), wholeZone])]);
      if (isLoaded && protection.isDerived && (await this.zoneKey(zone, epoch))) return derived();
      for (const wrap of shares) {
        const key = this.keyOfShare(zone, wrap.name, wrap.epoch) || (zone.isOwn ? await shareKey(this.root, this.record(zone, wrap.name), wrap.epoch) : null);
        if (!key) continue;
        try {
          return await openWrap(protection, record, wrap, key);
        } catch (error) {
          // A key of an administrator's epoch, which the owner cannot derive.
          if (!zone.isOwn) throw error;
        }
      }
      const forOwner = zone.isOwn && protection.wraps.find((other) => other.kind === ofOwner);
      if (forOwner) return openOwnerWrap(protection, record, forOwner, this.own);
      const parent = protection.wraps.find((other) => other.kind === ofParent);
      if (parent) {
        const opener = await this.recordKey(zone, database, parent.name, parent.epoch, depth + 1).catch((error) => {
          if (hasNoKey(error)) return null;
          throw error;
        });
        if (opener) return openWrap(protection, record, parent, opener);
      }
    }
    return derived();
  }

  // --- Opening

  async open(database, records, desiredKeys) {
    const results = [];
    for (const record of records) results.push(await this.opened(database, record, desiredKeys));
    return results;
  }

  async opened(database, record, wanted) {
    if (record.serverErrorCode) return record;
    const zone = this.zone(record.zoneID);
    const key = `${zone.key} ${record.recordName}`;
    if (record.deleted) {
      this.versions.delete(key);
      return record;
    }
    try {
      await this.learn(zone, database, record);
      if (zone.distrusted.has(record.recordName)) throw zone.distrusted.get(record.recordName);
      return await this.openedRecord(zone, database, record, wanted, key);
    } catch (error) {
      if (!(error instanceof EncryptionError)) throw error;
      return refusal(record, error);
    }
  }

  async openedRecord(zone, database, record, wanted, versionKey) {
    const fields = Object.entries(record.fields || {});
    const hasSealed = fields.some(([, value]) => isSealed(value) || assetsOf(value).some((asset) => asset.wrappingKey));
    const isStated = Boolean(record.protection?.statement);
    if (!hasSealed && !isStated) {
      const seen = this.versions.get(versionKey);
      need(!seen?.isListing, "the record lost its encrypted values: the cloud shows it without the statement that this page has seen");
      return record;
    }
    need(record.protection, "the record has encrypted values and no protection");
    const present = new Map();
    for (const [name, value] of fields) {
      if (isSealed(value)) present.set(name, tagOfSealed(fromBase64(value.value)));
      const keys = assetsOf(value).map((asset) => fromBase64(asset.wrappingKey || ""));
      if (keys.some((bytes) => bytes.length > 0)) present.set(name, value.type.endsWith("_LIST") ? await tagOfKeys(keys) : tagOfSealed(keys[0]));
    }
    need(isStated, "the record is not as its device stated: the statement is missing");
    const statement = readStatement(fromBase64(record.protection.statement));
    checkValues(statement, present, wanted);
    const at = { record: this.record(zone, record.recordName), recordType: record.recordType, epoch: record.protection.epoch || 0, key: null };
    try {
      at.key = await this.recordKey(zone, database, record.recordName, at.epoch);
    } catch (error) {
      // Plain fields can be read without a key.
      if (!hasNoKey(error) || hasSealed) throw error;
      return record;
    }
    const opened = { ...record, fields: { ...record.fields } };
    for (const [name, value] of fields) {
      if (isSealed(value)) {
        opened.fields[name] = await this.openedField(at, name, value);
      } else {
        for (const [position, asset] of assetsOf(value).entries()) {
          need(asset.wrappingKey, `the key of file '${name}' is missing`);
          const secret = await openAssetSecret(at, name, value.type.endsWith("_LIST") ? position : undefined, fromBase64(asset.wrappingKey));
          this.files.set(asset, secret);
        }
      }
    }
    const creator = record.created?.userRecordName;
    await checkStatement(at, statement, { parent: record.parent?.recordName, creator, created: record.created?.timestamp });
    const tag = toHex(statement.tag);
    const seen = this.versions.get(versionKey);
    need(!seen || statement.version > seen.version || (statement.version === seen.version && tag === seen.tag), "the cloud shows an older version of the record than this page has seen");
    this.versions.set(versionKey, { version: statement.version, tag, isListing: statement.values.size > 0 });
    return opened;
  }

  async openedField(at, name, value) {
    let failure;
    for (const type of sealedTypes(value.type)) {
      try {
        const plain = await openField(at, name, type, fromBase64(value.value));
        return { value: JSON.parse(decoder.decode(plain)), type: type.replace("ENCRYPTED_", ""), isEncrypted: true };
      } catch (error) {
        if (!(error instanceof EncryptionError)) throw new EncryptionError(`field '${name}' is malformed`);
        failure = error;
      }
    }
    throw failure;
  }

  async openAsset(asset, response, type) {
    const secret = this.files.get(asset);
    need(secret, "The file's key is not known: fetch its record first.");
    return openFile(secret, response.body, type);
  }

  // --- Sealing

  /** Saves and deletes records of one zone; returns results and errors in order. */
  async modify(database, zoneID, operations, { send, upload, root, desiredKeys, atomic }) {
    const zone = this.zone(zoneID);
    const isAtomic = atomic !== false && zone.zoneID.zoneName !== "_defaultZone";
    const planned = operations.map((operation, index) => ({ ...operation, index }));
    if (root !== undefined) await this.planShare(zone, database, planned, root);
    const results = [];
    let pending = planned;
    for (let attempt = 0; ; attempt += 1) {
      const sent = await this.sealedOperations(zone, database, pending, upload, attempt > 0);
      const ready = isAtomic && sent.some((item) => item.error) ? [] : sent.filter((item) => !item.error);
      const answers = ready.length > 0 ? (await send(ready.map((item) => item.operation))).records : [];
      const outcomes = new Map(ready.map((item, index) => [item.index, answers[index]]));
      for (const item of sent) {
        const unsent = { recordName: item.record.recordName, serverErrorCode: "ATOMIC_ERROR", reason: "The record was not saved because of another one's error." };
        results[item.index] = item.error ? refusal(item.record, item.error) : (outcomes.get(item.index) ?? unsent);
        const statement = item.operation?.record.protection?.statement;
        const answer = results[item.index];
        if (statement && !answer.serverErrorCode && answer.protection?.statement !== statement) {
          results[item.index] = refusal(item.record, new EncryptionError("the cloud saved another version"));
        }
      }
      const stale = pending.filter((item) => isStale(results[item.index]));
      if (stale.length === 0 || attempt >= 3) break;
      // Of an earlier record, up to half of all versions.
      for (const { index } of stale) zone.last = Math.max(zone.last || 0, results[index].lastVersion % 2 ** 47 || 0);
      if (!isAtomic) pending = stale;
    }
    return this.open(database, results, desiredKeys);
  }

  async sealedOperations(zone, database, pending, upload, isRetry) {
    const items = pending.map((item) => ({ ...item, operation: null, error: null }));
    const toSeal = items.filter(needsSealing);
    if (toSeal.length > 0) {
      for (const { record } of toSeal) record.recordName ??= crypto.randomUUID().toUpperCase();
      await this.zoneEpoch(zone, database, isRetry);
      const current = await this.currentRecords(zone, database, toSeal.filter((item) => item.operationType !== "create"));
      const inBatch = new Set(toSeal.map((item) => item.record.recordName));
      const slots = [];
      // A parent that is saved along comes before its children.
      const rest = [...toSeal];
      while (rest.length > 0) {
        const next = rest.findIndex(({ record }) => !record.parent || !inBatch.has(record.parent.recordName) || record.parent.recordName === record.recordName);
        const [item] = rest.splice(Math.max(next, 0), 1);
        inBatch.delete(item.record.recordName);
        try {
          item.operation = await this.sealedOperation(zone, database, item, current.get(item.record.recordName), slots);
        } catch (error) {
          if (!(error instanceof EncryptionError)) throw error;
          item.error = error;
        }
      }
      await upload(slots.filter((slot) => !slot.item.error));
      for (const item of toSeal) if (item.operation) await item.operation.state?.();
      for (const item of toSeal) if (item.operation) delete item.operation.state;
    }
    for (const item of items) item.operation ??= item.error ? null : { operationType: item.operationType, record: sendable(item.record) };
    return items;
  }

  async currentRecords(zone, database, items) {
    const current = new Map();
    if (items.length === 0) return current;
    const names = items.map(({ record }) => record.recordName);
    const answer = await database._call("records/lookup", { zoneID: zone.zoneID, records: names.map((recordName) => ({ recordName })) }, { isNative: true });
    for (const [index, record] of answer.records.entries()) {
      if (record.serverErrorCode) continue;
      current.set(names[index], { record, opened: await this.opened(database, record) });
    }
    return current;
  }

  async treeOf(zone, database, record, current) {
    if (current?.record.share) return current.record.share.recordName;
    let parent = record.parent === undefined ? current?.record.parent?.recordName : record.parent?.recordName;
    if (zone.zoneID.zoneName === "_defaultZone" && zone.isOwn) return null;
    for (let depth = 0; parent && depth < depthMax; depth += 1) {
      if (!zone.standings.has(parent)) await this.look(zone, database, [parent]);
      const standing = zone.standings.get(parent);
      if (standing?.share) return standing.share;
      parent = standing?.parent;
    }
    if (!zone.isOwn && !zone.newest.has(wholeZone)) await this.look(zone, database, [wholeZone]);
    return null;
  }

  async sealedOperation(zone, database, item, current, slots) {
    const { epoch } = zone;
    const record = { ...sendable(item.record), fields: { ...item.record.fields } };
    const name = record.recordName;
    if (current && current.opened.ckErrorCode) throw new EncryptionError(current.opened.reason, current.opened.ckErrorCode);
    const recordType = record.recordType || current?.record.recordType;
    need(recordType, `Record '${name}' needs its recordType.`);
    const held = current ? zone.protections.get(name) : null;
    const parent = record.parent === undefined ? current?.record.parent?.recordName : record.parent?.recordName;
    const isMoved = (record.parent !== undefined && parent !== current?.record.parent?.recordName) || Boolean(item.shareKey);
    zone.standings.delete(name);
    const tree = await this.treeOf(zone, database, record, current);
    if (tree && !zone.newest.has(tree)) await this.look(zone, database, [tree]);
    // The key of the record, with its wraps.
    const place = this.record(zone, name);
    const isSameKey = held?.epoch === epoch;
    const last = held ? await this.recordKey(zone, database, name, held.epoch) : null;
    const derivedFrom = await this.zoneKey(zone, epoch);
    if (!isSameKey && !derivedFrom && zone.newest.has(wholeZone) && !zone.owners.has(wholeZone)) throw noKey(`Zone '${zone.zoneID.zoneName}' is waiting for its newest key.`);
    const protection = isSameKey ? { ...held } : { epoch, isDerived: Boolean(derivedFrom), wraps: [] };
    const key = isSameKey ? last : derivedFrom ? await recordKey(derivedFrom, name) : random(32);
    if (held && !isSameKey) await this.keepEarlier(zone, protection, held, place, last, key);
    if (!isSameKey || isMoved) {
      protection.wraps = protection.wraps.filter((wrap) => wrap.kind !== ofParent);
      const opener = parent && parent !== name ? await this.parentKey(zone, database, parent, epoch) : null;
      if (opener) await addWrap(protection, place, { kind: ofParent, name: parent, epoch }, opener, key);
      const share = item.shareKey?.name || tree || (protection.isDerived || !zone.newest.has(wholeZone) ? null : wholeZone);
      protection.wraps = protection.wraps.filter((wrap) => wrap.kind !== ofShare || wrap.name === share || (zone.isOwn && !tree));
      if (share) await this.wrapForShare(zone, protection, place, key, share, item.shareKey);
      if (!protection.isDerived && protection.wraps.length === 0) throw noKey(`Record '${name}' is waiting for a key: a device of the share's owner has to hand it to this account.`);
    }
    zone.protections.set(name, protection);
    zone.standings.set(name, { parent, share: current?.record.share?.recordName });
    // The values that it seals.
    const at = { record: place, recordType, epoch, key };
    const values = new Map();
    const files = [];
    // With other wraps all values are sealed again, if no other device changed them.
    const isRewrapped = current && (!isSameKey || isMoved);
    if (isRewrapped) this.reseal(record, current, files);
    for (const [field, value] of Object.entries(record.fields)) {
      if (value.isEncrypted && value.value !== null && value.value !== undefined) {
        const { type, plain } = plainValue(value, field);
        const sealed = await sealField(at, field, type, plain);
        record.fields[field] = { value: toBase64(sealed), type, isEncrypted: true };
        values.set(field, tagOfSealed(sealed));
      } else if (list(value.value).some((file) => file instanceof Blob) || assetsOf(value).some((asset) => asset.wrappingKey || asset.downloadURL)) {
        files.push(field);
      }
    }
    for (const field of new Set(files)) await this.sealFiles(at, record, field, slots, item);
    const base = current?.record.protection?.statement ? readStatement(fromBase64(current.record.protection.statement)) : null;
    const replaces = /replace/i.test(item.operationType);
    const operation = { operationType: item.operationType, record };
    if (isRewrapped && item.operationType === "forceUpdate") Object.assign(operation, { operationType: "update", record: Object.assign(record, { recordChangeTag: current.record.recordChangeTag }) });
    // Once the files are uploaded.
    operation.state = async () => {
      for (const field of new Set(files)) {
        const value = record.fields[field];
        const keys = list(value.value).map((asset) => fromBase64(asset.wrappingKey || ""));
        values.set(field, Array.isArray(value.value) ? await tagOfKeys(keys) : tagOfSealed(keys[0]));
      }
      if (base && !replaces) for (const [field, tag] of base.values) if (!(field in record.fields)) values.set(field, tag);
      const bytes = writeProtection(protection);
      record.protection = { epoch, ...(bytes.length > 0 ? { keys: toBase64(bytes) } : {}) };
      if (!base && values.size === 0) return;
      const seen = this.versions.get(`${zone.key} ${name}`)?.version || 0;
      const facts = { parent, creator: current?.record.created?.userRecordName, created: current?.record.created?.timestamp };
      record.protection.statement = toBase64(await makeStatement(at, base, base ? base.version + 1 : Math.max(Date.now(), seen + 1, zone.last + 1 || 0), values, facts));
    };
    return operation;
  }

  async parentKey(zone, database, parent, epoch) {
    const derived = await this.zoneKey(zone, epoch);
    if (zone.isOwn) return recordKey(derived, parent);
    if (!zone.protections.has(parent)) await this.look(zone, database, [parent]);
    if (zone.protections.get(parent)?.epoch === epoch) return this.recordKey(zone, database, parent, epoch);
    return derived ? recordKey(derived, parent) : null;
  }

  async wrapForShare(zone, protection, place, key, share, begun) {
    if (zone.distrusted.has(share)) throw zone.distrusted.get(share);
    const epoch = begun?.epoch ?? zone.newest.get(share);
    const opener = begun?.key ?? this.keyOfShare(zone, share, epoch);
    if (!opener) {
      if (zone.isOwn && epoch === undefined) return;
      throw noKey(`Share '${share}' is waiting for a key: open it on a device of its owner.`);
    }
    await addWrap(protection, place, { kind: ofShare, name: share, epoch }, opener, key);
    const owner = zone.owners.get(share);
    if (protection.isDerived || !owner) return;
    const wrap = { kind: ofOwner, name: undefined, epoch: undefined };
    const bytes = await hpkeSeal(owner.agreement, ownerInfo, key, wrapPlace(place, protection.epoch, wrap));
    protection.wraps = [...protection.wraps.filter((other) => other.kind !== ofOwner), { ...wrap, bytes }];
  }

  /** Keeps the keys that a record had in earlier epochs, for children that were not written since. */
  async keepEarlier(zone, protection, held, place, last, key) {
    const keep = (epoch, earlier) => addWrap(protection, place, { kind: ofPresent, name: undefined, epoch }, key, earlier);
    await keep(held.epoch, last);
    const wraps = held.wraps.filter((wrap) => wrap.kind === ofPresent).toSorted((left, right) => right.epoch - left.epoch);
    for (const wrap of wraps.slice(0, 500)) await keep(wrap.epoch, await openWrap(held, place, wrap, last));
    if (!zone.isOwn) return;
    for (let epoch = Math.max(held.epoch + 1, protection.epoch - 24); epoch < protection.epoch; epoch += 1) await keep(epoch, await recordKey(await this.zoneKey(zone, epoch), place[4]));
  }

  reseal(record, current, files) {
    for (const [field, value] of Object.entries(current.opened.fields || {})) {
      if (field in record.fields) continue;
      if (value.isEncrypted) {
        record.fields[field] = value;
      } else if (assetsOf(value).some((asset) => asset.wrappingKey)) {
        record.fields[field] = { ...value };
        files.push(field);
      }
    }
  }

  async sealFiles(at, record, field, slots, item) {
    const value = record.fields[field];
    const isList = Array.isArray(value.value);
    const sent = [];
    record.fields[field] = { ...value, value: isList ? sent : null };
    const put = (position, asset) => (isList ? (sent[position] = asset) : (record.fields[field].value = asset));
    for (const [position, file] of list(value.value).entries()) {
      const at2 = isList ? position : undefined;
      if (file instanceof Blob) {
        const { sealed, secret } = await sealFile(file);
        const wrappingKey = toBase64(await sealAssetSecret(at, field, at2, secret));
        slots.push({ item, record, fieldName: field, file: sealed, extra: { wrappingKey }, put: (asset) => put(position, asset) });
      } else {
        const secret = this.files.get(file);
        need(secret, `Field '${field}': fetch the record whose file is kept.`);
        put(position, { ...file, wrappingKey: toBase64(await sealAssetSecret(at, field, at2, secret)) });
      }
    }
  }

  // --- Shares that begin

  /** Gives a share its first keys, with a statement of what is shared with whom. */
  async planShare(zone, database, planned, root) {
    const [{ record: share }] = planned;
    const zoneEpoch = await this.zoneEpoch(zone, database, true);
    if (!zone.isOwn) return;
    // The root is saved along, with its key wrapped for the share.
    const item = { operationType: "forceUpdate", record: { recordName: root?.recordName, fields: {} }, index: planned.length };
    if (root) {
      delete share.forRecord.recordChangeTag;
      planned.push(item);
      // A device may have to seal records again.
      if (zoneEpoch > 0) return;
    }
    const place = this.record(zone, share.recordName);
    const epoch = zoneEpoch + 1;
    const key = await shareKey(this.root, place, epoch);
    const isOpen = (permissions[share.publicPermission] || 1) > 1;
    const participants = await this.statedParticipants(share, place);
    const entries = [];
    for (let of = root ? epoch : 0; of < epoch; of += 1) entries.push({ kind: 2, epoch: of, key: new Uint8Array(await zoneKey(this.root, zone.place, of)) });
    const link = isOpen ? await linkSecret(this.root, place, root?.recordName) : null;
    if (link) entries.push({ kind: 3, epoch: 0, key: link });
    const terms = { root: root ? root.recordName : null, publicPermission: permissions[share.publicPermission] || 1, participants };
    share.shareKeys = {
      epoch, begins: true, blob: toBase64(await makeKeyring(place, epoch, entries, key)), wraps: [],
      ...(link ? { link: toBase64(await wrapForLink(link, place, epoch, "", key)) } : {}),
      statement: { counter: 1, value: toBase64(await makeShareStatement(terms, place, epoch, 1, key, this.user, this.identity, this.signingKey)) },
    };
    this.addShareKey(zone, share.recordName, epoch, key);
    zone.planned.set(share.recordName, terms);
    item.shareKey = { name: share.recordName, epoch, key };
  }

  /** Participants as the statement names them; each gets its id in the cloud. */
  async statedParticipants(share, place) {
    const participants = share.participants || [];
    if (participants.length === 0) return [];
    const lookupInfos = participants.map(({ userIdentity }) => userIdentity.lookupInfo);
    const path = this.connection.path("database", "public/users/lookup/participants");
    const answer = await this.connection.call(path, { lookupInfos }, { isNative: true });
    const kinds = [["emailAddress", 1], ["phoneNumber", 2], ["userRecordName", 3]];
    const stated = [];
    for (const [index, participant] of participants.entries()) {
      const found = answer.participants[index];
      if (found.serverErrorCode) throw new EncryptionError(found.reason);
      participant.participantId = found.participantId;
      const [name, kind] = kinds.find(([key]) => lookupInfos[index]?.[key]);
      const text = found.userIdentity?.lookupInfo?.[name] || lookupInfos[index][name];
      const isAdministrator = participant.type === "ADMINISTRATOR";
      stated.push({
        id: found.participantId, isAdministrator, permission: isAdministrator ? 3 : permissions[participant.permission] || 3,
        subjectKind: kind, subject: await subject(place, kind, text.toLowerCase()),
      });
    }
    return stated;
  }
}

const isStale = (result) => ["staleKeyEpoch", "staleRecordStatement"].includes(result?.failure);

/** Whether a save changes what a statement covers. */
function needsSealing({ operationType, record, shareKey: begun }) {
  if (/delete/i.test(operationType) || record.recordType === shareType) return false;
  const fields = Object.values(record.fields || {});
  return Boolean(begun) || record.parent !== undefined || /replace/i.test(operationType)
    || fields.some((value) => value.isEncrypted || value.value === null || assetsOf(value).length > 0 || list(value.value).some((item) => item instanceof Blob));
}

const sendable = ({ protection: _protection, shareKeys, ...record }) => ({ ...record, ...(shareKeys?.begins ? { shareKeys } : {}) });
