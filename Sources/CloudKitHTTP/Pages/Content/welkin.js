/**
 * CloudKit in the browser, for a Welkin cloud and in the names of CloudKit JS. No dependencies, no build step.
 * Guide: docs/welkin-js.md. Encryption is a module of its own.
 *
 * @module welkin
 */

/** @typedef {{zoneName: string, ownerRecordName?: string, zoneType?: string}} ZoneID */
/** @typedef {{value: any, type?: string, isEncrypted?: boolean}} FieldValue */
/**
 * A record. In requests a field may be a bare value: text, a number, `Date`, `Uint8Array`, `Blob` (an asset), a location, a reference, an array.
 *
 * @typedef {object} CKRecord
 * @property {string} [recordName] The cloud makes one if it is missing.
 * @property {string} [recordType]
 * @property {string} [recordChangeTag]
 * @property {Object<string, FieldValue|any>} [fields]
 * @property {{recordName: string}|null} [parent]
 * @property {ZoneID} [zoneID]
 */
/**
 * Settings of one call.
 *
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal] Ends the call with an `AbortError`.
 * @property {"userInitiated"|"default"} [qualityOfService] `userInitiated` is sent once; other calls are repeated where that is harmless.
 */

/** An error of the cloud, of one item or of a whole request; or of this module. */
export class CKError extends Error {
  /** @param {Object<string, any>} details As the cloud sends them, or with `ckErrorCode`. */
  constructor(details) {
    super(details.reason || details.ckErrorCode || details.serverErrorCode || "unknown error");
    this.name = "CKError";
    Object.assign(this, details);
    /** @type {string} The cloud's code, or `NETWORK_ERROR`, `CONFIGURATION_ERROR`, `INVALID_ARGUMENTS`, `SIGN_IN_FAILED`, `ENCRYPTION_ERROR`. */
    this.ckErrorCode = details.ckErrorCode || details.serverErrorCode || "UNKNOWN_ERROR";
    /** @type {boolean} */
    this.isServerError = Boolean(details.serverErrorCode);
  }
}

const invalid = (reason) => new CKError({ ckErrorCode: "INVALID_ARGUMENTS", reason });
const list = (value) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);
const named = (value, key) => (typeof value === "object" && value ? value : { [key]: value });

/** What a call answers: items that succeeded, and errors of those that did not. */
export class Response {
  /**
   * @param {string} key The name of the list.
   * @param {any[]} items Results and errors, in the order of the request.
   * @param {Object<string, any>} [rest] Further keys of the answer.
   */
  constructor(key, items, rest = {}) {
    const results = items.map((item) => ((item?.serverErrorCode || item?.ckErrorCode) && !(item instanceof CKError) ? new CKError(item) : item));
    Object.assign(this, rest);
    /** Results and errors in the order of the request. */
    this._results = results;
    this[key] = results.filter((item) => !(item instanceof CKError));
    /** @type {CKError[]} */
    this.errors = results.filter((item) => item instanceof CKError);
    /** @type {boolean} */
    this.hasErrors = this.errors.length > 0;
  }

  /** Returns the response where everything succeeded. @throws {CKError} The first error. */
  orThrow() {
    if (this.hasErrors) throw this.errors[0];
    return this;
  }
}

const base64 = (bytes) => {
  let text = "";
  for (let start = 0; start < bytes.length; start += 32_768) text += String.fromCharCode(...bytes.subarray(start, start + 32_768));
  return btoa(text);
};

const isBytes = (item) => ArrayBuffer.isView(item) || item instanceof ArrayBuffer;
const shownType = (item) => (item instanceof Date ? "TIMESTAMP" : isBytes(item) ? "BYTES" : item instanceof Blob ? "ASSETID" : "");
const plainItem = (item) => {
  if (item instanceof Date) return item.getTime();
  if (item instanceof ArrayBuffer) return base64(new Uint8Array(item));
  return isBytes(item) ? base64(new Uint8Array(item.buffer, item.byteOffset, item.byteLength)) : item;
};

/** A field as it is sent; bare values get the type that they show. */
function field(given) {
  const isWhole = given && typeof given === "object" && !isBytes(given) && "value" in given;
  const { value, ...rest } = isWhole ? given : { value: given };
  const isList = Array.isArray(value);
  const shown = shownType(isList ? value[0] : value);
  const type = rest.type || (shown && shown + (isList ? "_LIST" : ""));
  return { ...rest, ...(type ? { type } : {}), value: isList ? value.map(plainItem) : plainItem(value) };
}

function recordToSend(given) {
  const { created: _c, modified: _m, pluginFields: _p, deleted: _d, share: _s, shortGUID: _g, ...record } = given;
  if (record.fields) record.fields = Object.fromEntries(Object.entries(record.fields).map(([name, value]) => [name, value === null ? { value: null } : field(value)]));
  return record;
}

/** Ends a wait early when a signal is aborted. */
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Text that outlives the page, where the browser allows it. */
const memory = {
  get(isKept, key) {
    try {
      return (isKept ? localStorage : sessionStorage).getItem(key);
    } catch {
      return null;
    }
  },
  set(isKept, key, text) {
    try {
      const store = isKept ? localStorage : sessionStorage;
      if (text) store.setItem(key, text);
      else store.removeItem(key);
    } catch {
      // Blocked storage: a reload signs out.
    }
  },
};

const gates = new Map();

/** The way to one container. */
class Connection {
  constructor(settings) {
    this.endpoint = (settings.endpoint || globalThis.location?.origin || "").replace(/\/$/, "");
    this.container = settings.containerIdentifier;
    this.environment = settings.environment || "development";
    this.apiToken = settings.apiTokenAuth?.apiToken;
    this.isKept = Boolean(settings.apiTokenAuth?.persist);
    this.qualityOfService = settings.qualityOfService || "default";
    this.requestTimeout = settings.requestTimeout || 60_000;
    this.fetch = settings.fetch || ((...words) => globalThis.fetch(...words));
    if (!this.container) throw new CKError({ ckErrorCode: "CONFIGURATION_ERROR", reason: "A container needs its containerIdentifier." });
    if (!this.apiToken) throw new CKError({ ckErrorCode: "CONFIGURATION_ERROR", reason: "A container needs apiTokenAuth.apiToken; make one with: welkin token create" });
    this.place = `${this.endpoint} ${this.container} ${this.environment}`;
    this.token = memory.get(this.isKept, `welkin ${this.place}`);
    this.session = {};
    this.user = null;
    this.keys = null;
  }

  keep(token) {
    this.token = token || null;
    memory.set(this.isKept, `welkin ${this.place}`, token);
  }

  begin(token) {
    this.session = {};
    this.user = this.keys = null;
    this.keep(token);
  }

  /** Ends a call that began for another user. */
  check(session) {
    if (session !== this.session) throw new CKError({ ckErrorCode: "AUTHENTICATION_REQUIRED", reason: "Someone has signed in or out since the call began." });
  }

  /** @returns {Promise<any>} The body of a successful answer. */
  async call(path, body, { isRepeatable = true, isNative = false, signal, qualityOfService, method = "POST" } = {}) {
    const attemptsMax = (qualityOfService || this.qualityOfService) === "userInitiated" ? 1 : 4;
    const { session } = this;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.once(path, body, { session, isNative, signal, method });
      } catch (error) {
        const mayRepeat = error.isWait || (error.ckErrorCode === "NETWORK_ERROR" && isRepeatable);
        const delay = Math.max((error.retryAfter || 0) * 1000, 500 * 2 ** (attempt - 1) * (0.5 + Math.random()));
        if (!(error instanceof CKError) || !mayRepeat || attempt >= attemptsMax || delay > 60_000) throw error;
        await pause(delay, signal);
      }
    }
  }

  async once(path, body, { session, isNative, signal, method }) {
    signal?.throwIfAborted();
    this.check(session);
    const wait = ((gates.get(this.place) || 0) - Date.now()) / 1000;
    if (wait > 0) throw new CKError({ ckErrorCode: "THROTTLED", reason: "the cloud asked for a pause", retryAfter: wait, isWait: true });
    const query = new URLSearchParams({ ckAPIToken: this.apiToken });
    if (this.token) query.set("ckWebAuthToken", this.token);
    const { response, answer } = await this.send(`${this.endpoint}${path}?${query}`, {
      method, signal,
      headers: isNative ? { "X-Welkin-Client": "sdk/1" } : {},
      // As text, which a browser sends to another origin without asking before.
      body: method === "GET" ? undefined : JSON.stringify(body),
    });
    this.check(session);
    const next = response.headers.get("X-Apple-CloudKit-Web-Auth-Token");
    if (next && this.token) this.keep(next);
    if (response.ok && answer) return answer;
    throw this.refusal(response, answer);
  }

  refusal(response, answer) {
    const asked = [answer?.retryAfter, response.headers.get("Retry-After")].map((text) => (text === null || text === undefined ? NaN : Number(text))).find(Number.isFinite);
    const retryAfter = asked === undefined ? undefined : Math.min(Math.max(asked, 0), 86_400);
    const code = answer?.serverErrorCode || (response.status === 429 ? "THROTTLED" : response.status >= 500 ? "TRY_AGAIN_LATER" : undefined);
    const isWait = code === "THROTTLED" || code === "TRY_AGAIN_LATER";
    if (isWait && retryAfter) gates.set(this.place, Math.max(gates.get(this.place) || 0, Date.now() + retryAfter * 1000));
    const isSessionOver = Boolean(this.token) && (code === "AUTHENTICATION_REQUIRED" || /web auth token/.test(answer?.reason));
    if (isSessionOver) this.keep(null);
    return new CKError({
      ckErrorCode: code ? undefined : "UNEXPECTED_SERVER_RESPONSE", reason: `the answer was ${response.status}`,
      ...answer, serverErrorCode: code, retryAfter, isWait, isSessionOver, status: response.status,
    });
  }

  /** Fetches, with a limit of time, and reads JSON. */
  async send(url, options) {
    const timer = new AbortController();
    const limit = setTimeout(() => timer.abort(), options.timeout || this.requestTimeout);
    const abort = () => timer.abort();
    options.signal?.addEventListener("abort", abort);
    try {
      const response = await this.fetch(url, { ...options, signal: timer.signal, credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" });
      const text = await response.text();
      let answer = null;
      try {
        answer = text ? JSON.parse(text, this.ownName) : null;
      } catch {
        // No JSON: a proxy's page.
      }
      return { response, answer };
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new CKError({ ckErrorCode: "NETWORK_ERROR", reason: "The cloud cannot be reached. Check the connection and try again.", cause: error });
    } finally {
      clearTimeout(limit);
      options.signal?.removeEventListener("abort", abort);
    }
  }

  /** The native surface calls the caller `__defaultOwner__`. */
  ownName = (key, value) =>
    value === "__defaultOwner__" && (key === "ownerRecordName" || key === "userRecordName") && this.user ? this.user.userRecordName : value;

  path(kind, entity) {
    return `/${kind}/1/${encodeURIComponent(this.container)}/${this.environment}/${entity}`;
  }

  device(entity, body, options = {}) {
    return this.call(this.path("device", entity), body, options);
  }
}

/** One database of a container. */
export class Database {
  /**
   * @param {Container} container
   * @param {"PUBLIC"|"PRIVATE"|"SHARED"} scope
   */
  constructor(container, scope) {
    this.container = container;
    this.databaseScope = scope;
    this.isPublic = scope === "PUBLIC";
    this.isPrivate = scope === "PRIVATE";
    this.isShared = scope === "SHARED";
  }

  get _keys() {
    return this.isPublic ? null : this.container._connection.keys;
  }

  _call(entity, body, options = {}) {
    const connection = this.container._connection;
    return connection.call(connection.path("database", `${this.databaseScope.toLowerCase()}/${entity}`), body, { isNative: Boolean(this._keys), ...options });
  }

  /** Records of an answer with their sealed values opened; an error takes the place of one that does not open. */
  async _opened(records, options = {}) {
    const items = list(records);
    if (this._keys) return this._keys.open(this, items, options.desiredKeys);
    return items;
  }

  /**
   * Fetches records by name; beyond 200 with several requests.
   *
   * @param {string|CKRecord|Array<string|CKRecord>} records
   * @param {CallOptions & {zoneID?: ZoneID, desiredKeys?: string[], numbersAsStrings?: boolean}} [options]
   * @returns {Promise<Response>} `records`
   */
  async fetchRecords(records, options = {}) {
    const wanted = list(records).map((record) => named(record, "recordName"));
    const zoneID = options.zoneID || wanted.find((record) => record.zoneID)?.zoneID;
    const results = Array.from({ length: wanted.length });
    let positions = wanted.map((_, index) => index);
    while (positions.length > 0) {
      const part = positions.slice(0, 200);
      const answer = await this._call("records/lookup", {
        records: part.map((index) => ({ recordName: wanted[index].recordName })), zoneID,
        desiredKeys: options.desiredKeys, numbersAsStrings: options.numbersAsStrings,
      }, options);
      // What an answer has no space for is fetched with the next one.
      const left = part.filter((index, at) => {
        const item = answer.records[at];
        const isLeft = item?.serverErrorCode === "TRY_AGAIN_LATER" && item.retryAfter === 0;
        if (!isLeft) results[index] = item;
        return isLeft;
      });
      if (left.length === part.length) throw new CKError({ ckErrorCode: "UNEXPECTED_SERVER_RESPONSE", reason: "the answer has no records" });
      positions = [...left, ...positions.slice(200)];
    }
    return new Response("records", await this._opened(results, options));
  }

  /**
   * Saves records: with a change tag those that exist, without one new ones.
   *
   * @param {CKRecord|CKRecord[]} records
   * @param {CallOptions & {zoneID?: ZoneID, atomic?: boolean, operationType?: string, desiredKeys?: string[]}} [options] `operationType` for all:
   *   `create`, `update`, `forceUpdate`, `replace`, `forceReplace`.
   * @returns {Promise<Response>} `records`
   */
  saveRecords(records, options = {}) {
    const operations = list(records).map((record) => ({ operationType: options.operationType || (record.recordChangeTag ? "update" : "create"), record }));
    return this._modify(operations, options);
  }

  /**
   * Deletes records; with a change tag only if they are still those.
   *
   * @param {string|CKRecord|Array<string|CKRecord>} records
   * @param {CallOptions & {zoneID?: ZoneID, atomic?: boolean}} [options]
   * @returns {Promise<Response>} `records`
   */
  deleteRecords(records, options = {}) {
    const operations = list(records).map((record) => {
      const { recordName, recordChangeTag, zoneID } = named(record, "recordName");
      return { operationType: recordChangeTag ? "delete" : "forceDelete", record: { recordName, recordChangeTag, zoneID } };
    });
    return this._modify(operations, options);
  }

  /**
   * Collects operations that are sent together.
   *
   * @param {CallOptions & {zoneID?: ZoneID, atomic?: boolean}} [options]
   */
  newRecordsBatch(options = {}) {
    const operations = [];
    const batch = { commit: () => this._modify(operations, options) };
    for (const operationType of ["create", "update", "forceUpdate", "replace", "forceReplace", "delete", "forceDelete"]) {
      batch[operationType] = (records) => {
        for (const record of list(records)) operations.push({ operationType, record: named(record, "recordName") });
        return batch;
      };
    }
    return batch;
  }

  async _modify(operations, options) {
    const zoneID = options.zoneID || operations.find(({ record }) => record.zoneID)?.record.zoneID || { zoneName: "_defaultZone" };
    const plain = operations.map((operation) => ({ ...operation, record: { ...recordToSend(operation.record), zoneID: undefined } }));
    const body = (sent) => ({ operations: sent, zoneID, atomic: options.atomic, desiredKeys: options.desiredKeys, numbersAsStrings: options.numbersAsStrings });
    const send = (sent) => this._call("records/modify", body(sent), { ...options, isRepeatable: false });
    const upload = (slots) => this._upload(slots, zoneID, options);
    if (this._keys) return new Response("records", await this._keys.modify(this, zoneID, plain, { send, upload, ...options }));
    if (plain.some(({ record }) => Object.values(record.fields || {}).some((value) => value.isEncrypted && value.type !== "ENCRYPTED_BYTES"))) {
      throw new CKError({ ckErrorCode: "ENCRYPTION_ERROR", reason: "Encrypted fields need a sign-in with keys." });
    }
    const slots = [];
    for (const { record } of plain) {
      for (const [fieldName, value] of Object.entries(record.fields || {})) {
        const files = list(value.value);
        files.forEach((file, index) => {
          if (file instanceof Blob) slots.push({ record, fieldName, file, put: (asset) => (Array.isArray(value.value) ? (value.value[index] = asset) : (value.value = asset)) });
        });
      }
    }
    await upload(slots);
    return new Response("records", (await send(plain)).records);
  }

  /** Uploads files and puts what the cloud answered into their places. */
  async _upload(slots, zoneID, { signal } = {}) {
    if (slots.length === 0) return;
    for (const { record } of slots) record.recordName = record.recordName || crypto.randomUUID().toUpperCase();
    const tokens = slots.map(({ record, fieldName }) => ({ recordType: record.recordType, recordName: record.recordName, fieldName }));
    const answer = await this._call("assets/upload", { zoneID, tokens }, { signal });
    for (const [index, slot] of slots.entries()) {
      const token = answer.tokens[index];
      if (token.serverErrorCode) throw new CKError(token);
      const connection = this.container._connection;
      const sent = await connection.send(token.url, { method: "POST", body: slot.file, signal, timeout: 3_600_000, headers: this._keys ? { "X-Welkin-Client": "sdk/1" } : {} });
      if (!sent.answer?.singleFile) throw connection.refusal(sent.response, sent.answer);
      slot.put({ ...sent.answer.singleFile, ...slot.extra });
    }
  }

  /**
   * Fetches the file of an asset; a sealed one is opened and verified.
   *
   * @param {{downloadURL: string, size: number}} asset The `value` of a field of a fetched record.
   * @param {{signal?: AbortSignal, type?: string}} [options] `type` is the media type of the result.
   * @returns {Promise<Blob>}
   */
  async fetchAsset(asset, { signal, type = "application/octet-stream" } = {}) {
    if (!asset?.downloadURL) throw invalid("An asset of a fetched record is needed.");
    const connection = this.container._connection;
    let response;
    try {
      response = await connection.fetch(asset.downloadURL.replace("${f}", "file"), { signal, credentials: "omit", referrerPolicy: "no-referrer" });
    } catch (error) {
      signal?.throwIfAborted();
      throw new CKError({ ckErrorCode: "NETWORK_ERROR", reason: "The file cannot be fetched. Check the connection and try again.", cause: error });
    }
    if (!response.ok) throw connection.refusal(response, await response.json().catch(() => null));
    if (asset.wrappingKey && !this.isPublic) {
      if (!this._keys) throw new CKError({ ckErrorCode: "ENCRYPTION_ERROR", reason: "This file is encrypted: sign in with keys." });
      return this._keys.openAsset(asset, response, type);
    }
    return new Blob([await response.arrayBuffer()], { type });
  }

  /**
   * Fetches the records that match a query; `continuationMarker` of an answer goes on.
   *
   * @param {{recordType: string, filterBy?: any[], sortBy?: any[]}|Response} query A query, or the response to go on from.
   * @param {CallOptions & {zoneID?: ZoneID, zoneWide?: boolean, resultsLimit?: number, desiredKeys?: string[], continuationMarker?: string}} [options]
   * @returns {Promise<Response>} `records`, `continuationMarker`, `moreComing`
   */
  async performQuery(query, options = {}) {
    const previous = query instanceof Response ? query : null;
    const { zoneID, zoneWide, resultsLimit, desiredKeys, numbersAsStrings } = { ...previous?._request, ...options };
    const marker = options.continuationMarker || previous?.continuationMarker;
    const sent = previous ? previous._query : { ...query, filterBy: query.filterBy && list(query.filterBy).map((filter) => ({ ...filter, fieldValue: filter.fieldValue === undefined ? undefined : field(filter.fieldValue) })), sortBy: query.sortBy && list(query.sortBy) };
    const answer = await this._call("records/query", { query: sent, zoneID: zoneWide ? undefined : zoneID, zoneWide, resultsLimit, desiredKeys, numbersAsStrings, continuationMarker: marker }, options);
    const response = new Response("records", await this._opened(answer.records, { desiredKeys }), { continuationMarker: answer.continuationMarker, moreComing: Boolean(answer.continuationMarker), syncToken: answer.syncToken });
    Object.defineProperty(response, "_query", { value: sent });
    Object.defineProperty(response, "_request", { value: { zoneID, zoneWide, resultsLimit, desiredKeys, numbersAsStrings } });
    return response;
  }

  /** @param {CallOptions} [options] @returns {Promise<Response>} `zones` */
  async fetchAllRecordZones(options) {
    return new Response("zones", (await this._call("zones/list", {}, options)).zones);
  }

  /** @param {string|ZoneID|Array<string|ZoneID>} zones @param {CallOptions} [options] @returns {Promise<Response>} `zones` */
  async fetchRecordZones(zones, options) {
    return new Response("zones", (await this._call("zones/lookup", { zones: zoneIDs(zones) }, options)).zones);
  }

  /** @param {string|ZoneID|Array<string|ZoneID>} zones @param {CallOptions} [options] @returns {Promise<Response>} `zones` */
  saveRecordZones(zones, options) {
    return this._modifyZones("create", zones, options);
  }

  /** @param {string|ZoneID|Array<string|ZoneID>} zones @param {CallOptions} [options] @returns {Promise<Response>} `zones` */
  deleteRecordZones(zones, options) {
    return this._modifyZones("delete", zones, options);
  }

  async _modifyZones(operationType, zones, options) {
    const operations = zoneIDs(zones).map((zoneID) => ({ operationType, zone: { zoneID } }));
    return new Response("zones", (await this._call("zones/modify", { operations }, { isRepeatable: false, ...options })).zones);
  }

  /**
   * Fetches the zones that changed since a token.
   *
   * @param {CallOptions & {syncToken?: string, resultsLimit?: number}} [options]
   * @returns {Promise<Response>} `zones`, `syncToken`, `moreComing`
   */
  async fetchDatabaseChanges(options = {}) {
    const { zones, ...rest } = await this._call("changes/database", { syncToken: options.syncToken, resultsLimit: options.resultsLimit }, options);
    return new Response("zones", zones, rest);
  }

  /**
   * Fetches the changes of zones since their tokens.
   *
   * @param {string|object|Array<string|object>} zones Names, or `{zoneID, syncToken, resultsLimit, desiredKeys, desiredRecordTypes, reverse}`.
   * @param {CallOptions} [options]
   * @returns {Promise<Response>} `zones`, each with `records`, `syncToken`, `moreComing`; a deleted record has `deleted`, one that does not open is in `errors`.
   */
  async fetchRecordZoneChanges(zones, options = {}) {
    const wanted = list(zones).map((zone) => (zone?.zoneID ? { ...zone, zoneID: named(zone.zoneID, "zoneName") } : { zoneID: named(zone, "zoneName") }));
    const answer = await this._call("changes/zone", { zones: wanted }, options);
    const results = [];
    for (const [index, zone] of answer.zones.entries()) {
      if (zone.serverErrorCode) {
        results.push(zone);
        continue;
      }
      const { records, ...rest } = zone;
      results.push(new Response("records", await this._opened(records, { desiredKeys: wanted[index].desiredKeys }), rest));
    }
    const response = new Response("zones", results);
    response.moreComing = response.zones.some((zone) => zone.moreComing);
    return response;
  }

  /** @param {CallOptions} [options] @returns {Promise<Response>} `subscriptions` */
  async fetchAllSubscriptions(options) {
    return new Response("subscriptions", (await this._call("subscriptions/list", {}, options)).subscriptions);
  }

  /** @param {string|object|Array<string|object>} subscriptions @param {CallOptions} [options] @returns {Promise<Response>} `subscriptions` */
  async fetchSubscriptions(subscriptions, options) {
    const wanted = list(subscriptions).map((item) => ({ subscriptionID: named(item, "subscriptionID").subscriptionID }));
    return new Response("subscriptions", (await this._call("subscriptions/lookup", { subscriptions: wanted }, options)).subscriptions);
  }

  /** @param {object|object[]} subscriptions @param {CallOptions} [options] @returns {Promise<Response>} `subscriptions` */
  saveSubscriptions(subscriptions, options) {
    return this._modifySubscriptions("create", subscriptions, options);
  }

  /** @param {string|object|Array<string|object>} subscriptions @param {CallOptions} [options] @returns {Promise<Response>} `subscriptions` */
  deleteSubscriptions(subscriptions, options) {
    return this._modifySubscriptions("delete", subscriptions, options);
  }

  async _modifySubscriptions(operationType, subscriptions, options) {
    const operations = list(subscriptions).map((item) => ({ operationType, subscription: named(item, "subscriptionID") }));
    return new Response("subscriptions", (await this._call("subscriptions/modify", { operations }, { isRepeatable: false, ...options })).subscriptions);
  }

  /**
   * Shares a record with all that is below it, or its whole zone.
   *
   * @param {CKRecord|null} root A saved record; null shares the zone `options.zoneID`.
   * @param {CallOptions & {zoneID?: ZoneID, title?: string, publicPermission?: string, participants?: any[], allowsAccessRequests?: boolean}} options
   *   A participant has `emailAddress`, `phoneNumber` or `userRecordName`, and `permission` (`READ_WRITE` if missing).
   * @returns {Promise<CKRecord & {url: string}>} The share; `url` is its link, with the secret after the `#` where the share has keys.
   */
  async createShare(root, options = {}) {
    const participants = list(options.participants).map(({ permission = "READ_WRITE", type = "USER", ...lookupInfo }) => ({ type, permission, userIdentity: lookupInfo.userIdentity || { lookupInfo } }));
    const share = {
      recordName: root ? crypto.randomUUID().toUpperCase() : "cloudkit.zoneshare", recordType: "cloudkit.share",
      ...(root ? { forRecord: { recordName: root.recordName, recordChangeTag: root.recordChangeTag } } : {}),
      publicPermission: options.publicPermission || "NONE", participants,
      ...(options.allowsAccessRequests === undefined ? {} : { allowsAccessRequests: options.allowsAccessRequests }),
      fields: { ...(options.title ? { "cloudkit.title": options.title } : {}), ...options.fields },
    };
    const { signal } = options;
    const response = await this._modify([{ operationType: "create", record: share }], { zoneID: options.zoneID || root?.zoneID, signal, root });
    if (response.hasErrors) throw response.errors.find((error) => error.ckErrorCode !== "ATOMIC_ERROR") || response.errors[0];
    const saved = response.records.find((record) => record.recordName === share.recordName);
    return { ...saved, url: await this.shareURL(saved) };
  }

  /**
   * Returns the link of a share.
   *
   * @param {CKRecord & {shortGUID: string}} share A fetched share.
   * @returns {Promise<string>}
   */
  async shareURL(share) {
    const fragment = this._keys ? await this._keys.linkFragment(this, share) : null;
    return `${this.container._connection.endpoint}/share/${encodeURIComponent(share.shortGUID)}${fragment ? `#${fragment}` : ""}`;
  }
}

const zoneIDs = (zones) => list(zones).map((zone) => zone?.zoneID || named(zone, "zoneName"));

/** The short GUID in a link, or the text itself. */
const shortGUID = (link) => {
  const text = typeof link === "object" && link ? link.value ?? link.shortGUID : link;
  const parts = String(text).split("#")[0].split("?")[0].split("/").filter(Boolean);
  return decodeURIComponent(parts.at(-1) || "");
};
const fragmentOf = (link) => (typeof link === "string" && link.includes("#") ? link.slice(link.indexOf("#") + 1) : undefined);

/** A notification that a subscription caused. */
function notification(payload) {
  const { aps = {}, ck = {} } = payload;
  const subject = ck.qry || ck.fet || ck.met || {};
  const alert = typeof aps.alert === "string" ? { body: aps.alert } : aps.alert || {};
  return {
    notificationID: ck.nid, containerIdentifier: ck.cid, subscriptionID: subject.sid, isPruned: ck.p === 1,
    notificationType: ck.qry ? "query" : ck.fet ? "recordZone" : ck.met ? "database" : "unknown",
    databaseScope: [undefined, "PUBLIC", "PRIVATE", "SHARED"][subject.dbs],
    zoneID: subject.zid ? { zoneName: subject.zid, ownerRecordName: subject.zoid } : undefined,
    recordName: subject.rid, queryNotificationReason: [undefined, "RECORD_CREATED", "RECORD_UPDATED", "RECORD_DELETED"][subject.fo],
    recordFields: subject.af, alertTitle: alert.title, alertSubtitle: alert.subtitle, alertBody: alert.body,
    alertLocalizationKey: alert["loc-key"], alertLocalizationArgs: alert["loc-args"], category: aps.category, badge: aps.badge, soundName: aps.sound,
  };
}

/** Puts a button into an element of the page, if there is one; without an act the element is empty. */
function putButton(id, text, act) {
  const place = document.getElementById(id);
  place?.replaceChildren();
  if (!place || !act) return;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", act);
  place.append(button);
}

/** A container: its databases, its user, shares and notifications. */
export class Container {
  /** @param {object} settings See `CloudKit.configure`. */
  constructor(settings) {
    this._connection = new Connection(settings);
    this._encryption = settings.encryption;
    this._auth = settings.apiTokenAuth;
    this._waiting = { in: [], out: [] };
    this._listeners = new Set();
    this.containerIdentifier = settings.containerIdentifier;
    this.environment = this._connection.environment;
    this.apnsEnvironment = this.environment;
    this.publicCloudDatabase = new Database(this, "PUBLIC");
    this.privateCloudDatabase = new Database(this, "PRIVATE");
    this.sharedCloudDatabase = new Database(this, "SHARED");
  }

  /** @param {"PUBLIC"|"PRIVATE"|"SHARED"} scope @returns {Database} */
  getDatabaseWithDatabaseScope(scope) {
    const database = { PUBLIC: this.publicCloudDatabase, PRIVATE: this.privateCloudDatabase, SHARED: this.sharedCloudDatabase }[scope];
    if (!database) throw invalid("A database scope is PUBLIC, PRIVATE or SHARED.");
    return database;
  }

  /**
   * Returns the user who is signed in, with the keys that this browser keeps; null: nobody is. Puts buttons for signing in and out into the
   * elements of the configuration (`apple-sign-in-button`, `apple-sign-out-button`), if the page has them.
   *
   * @param {CallOptions} [options]
   * @returns {Promise<object|null>}
   */
  async setUpAuth(options = {}) {
    const address = globalThis.location && new URL(location.href);
    const brought = address?.searchParams.get("ckWebAuthToken");
    if (brought) {
      this._connection.begin(brought);
      for (const name of ["ckWebAuthToken", "ckSession"]) address.searchParams.delete(name);
      history.replaceState(history.state, "", address);
    }
    const user = await this._identify(options);
    this._showButtons(user);
    return user;
  }

  async _identify(options = {}) {
    const connection = this._connection;
    connection.user = null;
    this._redirectURL = undefined;
    try {
      connection.user = await connection.call(connection.path("database", "public/users/caller"), {}, options);
    } catch (error) {
      if (error.ckErrorCode !== "AUTHENTICATION_REQUIRED" && !error.isSessionOver) throw error;
      this._redirectURL = error.redirectURL;
      // Keys of a session that has ended.
      await this._encryption?.forget(connection, ["account"]);
    }
    const account = connection.user && this._encryption ? await this._encryption.restore(connection) : null;
    connection.keys = account ? await this._encryption.keysOf(account, connection) : null;
    return connection.user;
  }

  /** Whether encrypted values can be read and written. */
  get hasKeys() {
    return Boolean(this._connection.keys);
  }

  /** Why encrypted values cannot be read after a sign-in with a password; null: they can. */
  get keysMissingReason() {
    return this.hasKeys ? null : this._connection.keysWithheld || "This browser has no keys: sign in with the password.";
  }

  _showButtons(user) {
    if (!globalThis.document) return;
    putButton(this._auth.signInButton?.id || "apple-sign-in-button", "Sign in", user ? null : () => this.signIn().catch(() => {}));
    putButton(this._auth.signOutButton?.id || "apple-sign-out-button", "Sign out", user ? () => this.signOut() : null);
  }

  /**
   * Signs in: with a window of the cloud, which hands over keys if the person agrees there; or with the password itself, which stays in this page.
   *
   * @param {CallOptions & {email?: string, password?: string, deviceName?: string}} [options]
   * @returns {Promise<object>} The user.
   */
  async signIn(options = {}) {
    const made = await (options.password === undefined ? this._signInByWindow() : this._signInByPassword(options));
    this._connection.begin(made.ckWebAuthToken);
    await this._encryption?.adopt(this._connection, made);
    const user = await this._identify(options);
    if (!user) throw new CKError({ ckErrorCode: "SIGN_IN_FAILED", reason: "The cloud does not know the new session. Sign in again." });
    this._showButtons(user);
    this._waiting.in.splice(0).forEach((resolve) => resolve(user));
    return user;
  }

  async _signInByPassword(options) {
    if (!this._encryption) throw new CKError({ ckErrorCode: "CONFIGURATION_ERROR", reason: "Signing in with a password needs the module welkin-encryption.js." });
    return this._encryption.signIn(this._connection, options);
  }

  async _signInByWindow() {
    if (!this._redirectURL) await this._identify();
    const address = this._redirectURL;
    const opened = address && globalThis.open(address + (this._encryption ? `#keys=${location.origin}` : ""), "welkin-sign-in", "width=480,height=640");
    if (!opened) throw new CKError({ ckErrorCode: "SIGN_IN_FAILED", reason: "The window for signing in could not be opened. Allow pop-up windows for this page." });
    const origin = new URL(address).origin;
    return new Promise((resolve, reject) => {
      const timer = setInterval(() => opened.closed && setTimeout(() => end(reject, new CKError({ ckErrorCode: "SIGN_IN_FAILED", reason: "The window for signing in was closed." })), 500), 500);
      const end = (settle, value) => {
        clearInterval(timer);
        removeEventListener("message", take);
        settle(value);
      };
      const take = (event) => {
        if (event.origin === origin && event.source === opened && event.data?.ckWebAuthToken) end(resolve, event.data);
      };
      addEventListener("message", take);
    });
  }

  /** Signs out: ends the session at the cloud, and removes token and keys from this browser. */
  async signOut() {
    const connection = this._connection;
    this.unregisterForNotifications();
    if (connection.token) await connection.device("sessions/delete", {}, { qualityOfService: "userInitiated" }).catch(() => {});
    connection.begin(null);
    await this._encryption?.forget(connection);
    this._showButtons(null);
    this._waiting.out.splice(0).forEach((resolve) => resolve());
  }

  /** @returns {Promise<object>} Resolves with the user at the next sign-in, or at once. */
  whenUserSignsIn() {
    return this._connection.user ? Promise.resolve(this._connection.user) : new Promise((resolve) => this._waiting.in.push(resolve));
  }

  /** @returns {Promise<void>} Resolves at the next sign-out. */
  whenUserSignsOut() {
    return new Promise((resolve) => this._waiting.out.push(resolve));
  }

  /** @param {CallOptions} [options] @returns {Promise<object>} The user who is signed in. */
  async fetchCurrentUserIdentity(options) {
    const user = await this._public("users/caller", {}, options);
    this._connection.user = this._connection.user || user;
    return user;
  }

  _public(entity, body, options) {
    const connection = this._connection;
    return connection.call(connection.path("database", `public/${entity}`), body, { isNative: Boolean(connection.keys), ...options });
  }

  /** @param {CallOptions} [options] @returns {Promise<Response>} `users` of this app who agreed to be found. */
  async discoverAllUserIdentities(options) {
    return new Response("users", (await this._public("users/discover", {}, options)).users);
  }

  /** @param {string} emailAddress @param {CallOptions} [options] @returns {Promise<Response>} `users` */
  discoverUserIdentityWithEmailAddress(emailAddress, options) {
    return this._discover({ emailAddress }, options);
  }

  /** @param {string} phoneNumber @param {CallOptions} [options] @returns {Promise<Response>} `users` */
  discoverUserIdentityWithPhoneNumber(phoneNumber, options) {
    return this._discover({ phoneNumber }, options);
  }

  /** @param {string} userRecordName @param {CallOptions} [options] @returns {Promise<Response>} `users` */
  discoverUserIdentityWithUserRecordName(userRecordName, options) {
    return this._discover({ userRecordName }, options);
  }

  async _discover(info, options) {
    return new Response("users", (await this._public("users/discover", { lookupInfos: [info] }, options)).users);
  }

  /**
   * Returns participants for a share, by address, number or user.
   *
   * @param {Array<{emailAddress?: string, phoneNumber?: string, userRecordName?: string}>} lookupInfos
   * @param {CallOptions} [options]
   * @returns {Promise<Response>} `participants`
   */
  async fetchShareParticipants(lookupInfos, options) {
    return new Response("participants", (await this._public("users/lookup/participants", { lookupInfos: list(lookupInfos) }, options)).participants);
  }

  /**
   * Returns what links lead to, before they are accepted.
   *
   * @param {string|Array<string>} links Links, or short GUIDs. The part after the `#` stays in this page.
   * @param {CallOptions & {shouldFetchRootRecord?: boolean, rootRecordDesiredKeys?: string[]}} [options]
   * @returns {Promise<Response>} `results`
   */
  fetchRecordInfos(links, options = {}) {
    const { shouldFetchRootRecord, rootRecordDesiredKeys } = options;
    return this._links("records/resolve", links, async () => ({ shouldFetchRootRecord, rootRecordDesiredKeys }), options);
  }

  /**
   * Takes part in the shares of links; their zones are in the shared database afterwards.
   *
   * @param {string|Array<string>} links
   * @param {CallOptions} [options]
   * @returns {Promise<Response>} `results`
   */
  async acceptShares(links, options = {}) {
    const keys = this._connection.keys;
    const proof = async (link) => {
      if (!keys || !fragmentOf(link)) return {};
      const [info] = (await this.fetchRecordInfos(link, { signal: options.signal })).results;
      return info ? { linkProof: await keys.linkProof(fragmentOf(link), info) } : {};
    };
    return this._links("records/accept", links, proof, options);
  }

  async _links(entity, links, more, options) {
    const given = list(links);
    const shortGUIDs = [];
    for (const link of given) shortGUIDs.push({ value: shortGUID(link), ...(await more(link)) });
    const answer = await this._public(entity, { shortGUIDs }, options);
    const keys = this._connection.keys;
    const results = [];
    for (const [index, result] of answer.results.entries()) {
      if (keys && result.share) {
        await keys.learnLink(fragmentOf(given[index]), result);
        const scope = result.databaseScope || "SHARED";
        const records = [result.share, result.rootRecord].filter(Boolean);
        const [share, root] = await keys.open(this.getDatabaseWithDatabaseScope(scope), records, options.rootRecordDesiredKeys);
        results.push({ ...result, share, ...(root ? { rootRecord: root } : {}) });
      } else {
        results.push(result);
      }
    }
    return new Response("results", results);
  }

  /**
   * Asks the owners of shares to be let in.
   *
   * @param {string|Array<string>} links
   * @param {CallOptions} [options]
   * @returns {Promise<Response>} `results`
   */
  async requestShareAccess(links, options) {
    const shortGUIDs = list(links).map((link) => ({ value: shortGUID(link) }));
    return new Response("results", (await this._public("shares/requestAccess", { shortGUIDs }, options)).results);
  }

  /** Whether notifications are received. */
  get isRegisteredForNotifications() {
    return Boolean(this._courier);
  }

  /** @param {(notification: object) => void} listener */
  addNotificationListener(listener) {
    this._listeners.add(listener);
  }

  /** @param {(notification: object) => void} listener */
  removeNotificationListener(listener) {
    this._listeners.delete(listener);
  }

  /**
   * Receives notifications while the page is open, by a request that waits for them.
   *
   * @param {CallOptions} [options]
   */
  async registerForNotifications(options) {
    if (this._courier) return;
    const ending = new AbortController();
    this._courier = ending;
    try {
      const first = await this._courierURL(options);
      this._listen(first, ending.signal).catch(() => {}).finally(() => {
        if (this._courier === ending) this._courier = null;
      });
    } catch (error) {
      this._courier = null;
      throw error;
    }
  }

  /** Ends receiving. */
  unregisterForNotifications() {
    this._courier?.abort();
    this._courier = null;
  }

  get _clientId() {
    const key = `welkin client ${this._connection.place}`;
    const known = memory.get(true, key) || crypto.randomUUID();
    memory.set(true, key, known);
    return known;
  }

  async _courierURL(options) {
    // One for each page: two of them do not take notifications from one another.
    const answer = await this._connection.device("tokens/create", { apnsEnvironment: this.environment, clientId: crypto.randomUUID() }, options);
    return answer.webcourierURL;
  }

  async _listen(first, signal) {
    const connection = this._connection;
    let url = first;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const { response, answer } = await connection.send(url, { method: "GET", signal, timeout: 60_000 });
        if (response.status === 404) {
          url = await this._courierURL({ signal });
        } else if (!response.ok) {
          throw connection.refusal(response, answer);
        } else if (answer) {
          this._listeners.forEach((listener) => listener(notification(answer)));
        }
        failures = 0;
      } catch (error) {
        if (signal.aborted || error.ckErrorCode?.startsWith("AUTHENTICATION")) return;
        failures += 1;
        await pause(Math.max((error.retryAfter || 0) * 1000, Math.min(1000 * 2 ** failures, 60_000) * (0.5 + Math.random())), signal);
      }
    }
  }

  /**
   * Lets notifications arrive while the page is closed (Web Push); the page's service worker shows them.
   *
   * @param {ServiceWorkerRegistration} registration
   * @param {CallOptions} [options]
   * @returns {Promise<{unregister: () => Promise<void>}>}
   */
  async registerForWebPush(registration, options = {}) {
    const connection = this._connection;
    const { services } = await connection.device("tokens/services", {}, options);
    const service = services.find((item) => item.service === "webPush");
    if (!service) throw new CKError({ ckErrorCode: "CONFIGURATION_ERROR", reason: "This cloud sends no notifications to browsers; its operator can switch that on." });
    const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: service.applicationServerKey });
    const push = { service: "webPush", subscription: subscription.toJSON() };
    const { apnsToken } = await connection.device("tokens/create", { apnsEnvironment: this.environment, clientId: this._clientId, push }, options);
    return {
      unregister: async () => {
        await connection.device("tokens/delete", { apnsToken });
        await subscription.unsubscribe();
      },
    };
  }
}

let containers = new Map();

export const CloudKit = {
  PUBLIC: "PUBLIC", PRIVATE: "PRIVATE", SHARED: "SHARED",
  CKError, Response,

  /**
   * Sets up the containers of a page.
   *
   * @param {object} configuration
   * @param {string} [configuration.endpoint] The address of the cloud; the page's own origin if it is missing.
   * @param {object} [configuration.encryption] The module `welkin-encryption.js`, for encrypted values.
   * @param {Array<{containerIdentifier: string, environment?: string, apiTokenAuth: {apiToken: string, persist?: boolean,
   *   signInButton?: {id: string}, signOutButton?: {id: string}}}>} configuration.containers `persist` keeps a user signed in after the tab was closed.
   * @returns {typeof CloudKit}
   */
  configure({ containers: given, services: _services, ...shared }) {
    const made = list(given).map((settings) => new Container({ ...shared, ...settings }));
    if (made.length === 0) throw new CKError({ ckErrorCode: "CONFIGURATION_ERROR", reason: "CloudKit.configure needs a container." });
    containers = new Map(made.map((container) => [container.containerIdentifier, container]));
    return CloudKit;
  },

  /** @returns {Container} The first one of the configuration. */
  getDefaultContainer() {
    const [first] = containers.values();
    if (!first) throw new CKError({ ckErrorCode: "CONFIGURATION_ERROR", reason: "Call CloudKit.configure first." });
    return first;
  },

  /** @param {string} containerIdentifier @returns {Container} */
  getContainer(containerIdentifier) {
    const found = containers.get(containerIdentifier);
    if (!found) throw new CKError({ ckErrorCode: "CONFIGURATION_ERROR", reason: `The configuration has no container ${containerIdentifier}.` });
    return found;
  },

  /** @returns {Container[]} */
  getAllContainers() {
    return [...containers.values()];
  },
};

export default CloudKit;
