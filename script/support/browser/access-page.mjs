// Runs in a page: what a user of a role does for a cell of docs/access.md, with welkin.js alone, as AccessMatrixTests do it over HTTP.

const words = { ACCESS_DENIED: "deny", NOT_FOUND: "hide", ZONE_NOT_FOUND: "hide", BAD_REQUEST: "bad", AUTHENTICATION_REQUIRED: "sign in" };

/** The table's word for what came of a call, or of its only item. */
async function word(promise) {
  let error;
  try {
    const response = await promise;
    error = response?.errors?.[0];
    if (!error) return "yes";
  } catch (failure) {
    error = failure;
  }
  if (!words[error.ckErrorCode]) throw new Error(`${error.ckErrorCode}: ${error.reason ?? error.message}`);
  return words[error.ckErrorCode];
}

const nameOf = { "in tree": "In", root: "Root", outside: "Outside", share: "S" };
const shareType = "cloudkit.share";

/** What pages of one user do. */
export class AccessPage {
  constructor(container) {
    this.container = container;
    this.databases = { public: container.publicCloudDatabase, private: container.privateCloudDatabase, shared: container.sharedCloudDatabase };
  }

  // --- As the owner

  /** Makes a zone with a tree that is shared, or a public record; returns the share's short GUID. */
  async build({ zone, database, object, permission, participants }) {
    if (database === "public" && ["record", "file", "subscription"].includes(object)) {
      (await this.databases.public.saveRecords({ recordName: `P${zone}`, recordType: "Leaflet", fields: { n: `P${zone}` } })).orThrow();
      return null;
    }
    const own = this.databases.private;
    (await own.saveRecordZones(zone)).orThrow();
    const record = (recordName, parent) => ({ recordName, recordType: "Note", fields: { n: recordName }, ...(parent ? { parent: { recordName: parent } } : {}) });
    const share = { recordName: "S", recordType: shareType, forRecord: { recordName: "Root" }, allowsAccessRequests: true, publicPermission: permission, participants };
    const saved = await own.newRecordsBatch({ zoneID: { zoneName: zone } }).create([record("Root"), record("In", "Root"), record("Outside"), share]).commit();
    return saved.orThrow().records.find(({ recordName }) => recordName === "S").shortGUID;
  }

  async #held(zone, name) {
    try {
      return (await this.databases.private.fetchRecords(name, { zoneID: { zoneName: zone } })).records[0];
    } catch (error) {
      if (error.ckErrorCode === "ZONE_NOT_FOUND") return undefined;
      throw error;
    }
  }

  async exists(zone, name) {
    return Boolean(await this.#held(zone, name));
  }

  async tag(zone, name) {
    return (await this.#held(zone, name))?.recordChangeTag ?? "none";
  }

  async setParticipants(zone, participants) {
    const share = { recordName: "S", recordType: shareType, recordChangeTag: await this.tag(zone, "S"), participants };
    (await this.databases.private.saveRecords(share, { zoneID: { zoneName: zone } })).orThrow();
  }

  storeKeys(zone, shareKeys) {
    return this.databases.private._call("shares/keys/store", { zoneID: { zoneName: zone }, recordName: "S", shareKeys });
  }

  /** Before the keys of a share can begin again: a user who had the first ones is removed. Returns the owner's participant. */
  async removeKeyHolder(zone, participants, isPublic) {
    const gone = { participantId: "gone", permission: "READ_ONLY", userIdentity: { lookupInfo: { emailAddress: "gone@example.com" } } };
    // People of a public share cannot be changed one by one (B-PRT-03).
    if (isPublic) return (await this.#held(zone, "S")).owner.participantId;
    await this.setParticipants(zone, [...participants, gone]);
    await this.storeKeys(zone, { epoch: 1, blob: "AAAA", wraps: [{ participantId: "gone", wrap: "AAAA" }] });
    await this.setParticipants(zone, participants);
    return (await this.#held(zone, "S")).owner.participantId;
  }

  addFile(database, zoneID, recordName) {
    const recordType = database === "public" ? "Leaflet" : "Note";
    return word(this.databases[database].saveRecords({ recordName, recordType, fields: { photo: new Blob(["the bytes of a file"]) } }, { zoneID, operationType: "forceUpdate" }));
  }

  subscribe(database, zoneID, subscriptionID, name) {
    const kinds = {
      private: { subscriptionType: "zone", zoneID },
      shared: { subscriptionType: "database" },
      public: { subscriptionType: "query", firesOn: ["create"], query: { recordType: "Leaflet", filterBy: [{ fieldName: "n", comparator: "EQUALS", fieldValue: { value: name } }] } },
    };
    return word(this.databases[database].saveSubscriptions({ subscriptionID, ...kinds[database] }));
  }

  // --- In a role

  accept(guid) {
    return this.container.acceptShares(guid).then((response) => response.orThrow() && true);
  }

  async isMember(zone) {
    return (await this.databases.shared.fetchAllRecordZones()).zones.some(({ zoneID }) => zoneID.zoneName === zone);
  }

  /** Does what a cell says, and returns the table's word for what came of it. */
  async attempt(cell, scene) {
    const database = this.databases[cell.database];
    const given = { ...scene, database, zoneID: cell.database === "public" ? undefined : scene.zoneID };
    switch (cell.object) {
      case "zone": return this.#zone(cell, given);
      case "link": return this.#link(cell, given);
      case "record": return this.#publicRecord(cell, given);
      case "file": case "file outside": return this.#file(cell, given);
      case "subscription": return this.#subscription(cell, given);
      case "share":
        if (cell.database === "public") return word(database.saveRecords({ recordName: `S${scene.zone}`, recordType: shareType, forRecord: { recordName: `R${scene.zone}` } }));
    }
    const name = nameOf[cell.object];
    const { zoneID, tag } = given;
    const save = (record, operationType) => word(database.saveRecords({ recordType: "Note", ...record }, { zoneID, operationType }));
    const share = { recordName: "S", recordType: shareType, recordChangeTag: tag };
    const keys = (path, shareKeys) => word(database._call(`shares/keys/${path}`, { zoneID, recordName: "S", shareKeys }));
    switch (cell.verb) {
      case "look up": return word(database.fetchRecords(name, { zoneID }));
      case "query": return this.#query(database, { recordType: "Note", filterBy: [{ fieldName: "n", comparator: "EQUALS", fieldValue: { value: name } }] }, { zoneID });
      case "follow": return this.#follow(database, zoneID, name);
      case "change": return save({ recordName: name, fields: { n: "x" } }, "forceUpdate");
      case "rename": return save({ ...share, fields: { "cloudkit.title": "T" } }, "update");
      case "open to all": return save({ ...share, publicPermission: "READ_WRITE" }, "update");
      case "create": return save({ recordName: "New", ...(cell.object === "outside" ? {} : { parent: { recordName: "In" } }) }, "create");
      case "move out": return save({ recordName: name, parent: null }, "forceUpdate");
      case "delete": return word(database.deleteRecords(name, { zoneID }));
      case "read keys": return keys("lookup");
      case "store keys": return keys("store", { epoch: 1, blob: "AAAA", wraps: [] });
      case "begin keys": return keys("store", { epoch: 2, blob: "AAAA", wraps: scene.isOwner ? [] : [{ participantId: scene.owner, wrap: "AAAA" }] });
      default: throw new Error(`no verb ${cell.verb}`);
    }
  }

  async #query(database, query, options) {
    let isFound;
    const outcome = await word(database.performQuery(query, options).then(({ records }) => { isFound = records.length > 0; }));
    return outcome === "yes" && !isFound ? "hide" : outcome;
  }

  async #follow(database, zoneID, name) {
    let isFound;
    const outcome = await word(database.fetchRecordZoneChanges({ zoneID }).then((response) => {
      isFound = response.zones[0]?.records.some(({ recordName }) => recordName === name);
      return response;
    }));
    return outcome === "yes" && !isFound ? "hide" : outcome;
  }

  async #zone({ verb }, { database, zone, zoneID }) {
    const listed = async (call) => {
      let isFound;
      const outcome = await word(call.then(({ zones }) => { isFound = zones.some((item) => item.zoneID.zoneName === zone && !item.deleted); }));
      return outcome === "yes" && !isFound ? "hide" : outcome;
    };
    switch (verb) {
      case "look up": return word(database.fetchRecordZones(zoneID));
      case "list": return listed(database.fetchAllRecordZones());
      case "see change": return listed(database.fetchDatabaseChanges());
      case "create": return word(database.saveRecordZones(`New${zone}`));
      case "delete": return word(database.deleteRecordZones(zoneID ?? { zoneName: zone }));
      default: throw new Error(`no verb ${verb}`);
    }
  }

  #link({ verb }, { guid }) {
    const calls = { resolve: "fetchRecordInfos", accept: "acceptShares", "ask for access": "requestShareAccess" };
    return word(this.container[calls[verb]](guid));
  }

  #publicRecord({ verb }, { database, zone }) {
    const recordName = `P${zone}`;
    const fields = { n: recordName };
    switch (verb) {
      case "look up": return word(database.fetchRecords(recordName));
      case "query": return this.#query(database, { recordType: "Leaflet", filterBy: [{ fieldName: "n", comparator: "EQUALS", fieldValue: { value: recordName } }] });
      case "change": return word(database.saveRecords({ recordName, recordType: "Leaflet", fields }, { operationType: "forceUpdate" }));
      case "create": return word(database.saveRecords({ recordName: `New${recordName}`, recordType: "Leaflet", fields }));
      case "delete": return word(database.deleteRecords(recordName));
      default: throw new Error(`no verb ${verb}`);
    }
  }

  async #file({ verb, object, database: scope }, { database, zone, zoneID }) {
    const name = scope === "public" ? `P${zone}` : object === "file" ? "In" : "Outside";
    if (verb === "add") return this.addFile(scope, zoneID, name);
    if (verb === "copy") {
      const copies = database._call("assets/rereference", { zoneID, assets: [{ recordName: name, fieldName: "photo" }] });
      return word(copies.then(({ assets }) => ({ errors: assets.filter((item) => item.serverErrorCode).map((item) => ({ ckErrorCode: item.serverErrorCode })) })));
    }
    const found = await database.fetchRecords(name, { zoneID }).catch((error) => ({ errors: [error] }));
    const outcome = await word(Promise.resolve(found));
    if (outcome !== "yes") return outcome;
    const text = await (await database.fetchAsset(found.records[0].fields.photo.value)).text();
    if (text !== "the bytes of a file") throw new Error(`the file is ${text}`);
    return "yes";
  }

  async #subscription({ verb, database: scope }, { database, zone, zoneID }) {
    const id = `Sub${zone}`;
    switch (verb) {
      case "create": return this.subscribe(scope, zoneID, id, `P${zone}`);
      case "list": {
        let isFound;
        const outcome = await word(database.fetchAllSubscriptions().then(({ subscriptions }) => { isFound = subscriptions.some(({ subscriptionID }) => subscriptionID === id); }));
        return outcome === "yes" && !isFound ? "hide" : outcome;
      }
      case "look up": return word(database.fetchSubscriptions(id));
      case "delete": return word(database.deleteSubscriptions(id));
      default: throw new Error(`no verb ${verb}`);
    }
  }
}
