// The shopping list as a web app: joins a list that someone shares, shows it, adds items and ticks them off.
// Opened as index.html?endpoint=CLOUD&token=API_TOKEN

const given = new URLSearchParams(location.search);
const endpoint = given.get("endpoint");
const find = (id) => document.getElementById(id);
const say = (text) => { find("message").textContent = text; };

const { CloudKit } = await import(`${endpoint}/welkin/1/welkin.js`);
const encryption = await import(`${endpoint}/welkin/1/welkin-encryption.js`);
CloudKit.configure({
  endpoint, encryption,
  containers: [{
    containerIdentifier: "iCloud.org.welkin.shopping", environment: "development",
    apiTokenAuth: { apiToken: given.get("token"), persist: true },
  }],
});
const container = CloudKit.getDefaultContainer();
const database = container.sharedCloudDatabase;

/** The lists that others share with the user: zones with the changes since the last look. */
const lists = new Map();
const zoneKey = ({ zoneName, ownerRecordName }) => `${ownerRecordName}/${zoneName}`;

/** Runs a step, and says why it failed; a quiet one leaves an earlier message to be read. */
async function attempt(step, { isQuiet = false } = {}) {
  try {
    if (!isQuiet) say("");
    await step();
  } catch (error) {
    say(error.ckErrorCode === "NETWORK_ERROR" ? "The cloud cannot be reached. Try again." : error.reason ?? error.message);
  }
}

async function fetchLists() {
  const { zones } = (await database.fetchAllRecordZones()).orThrow();
  const known = new Set(zones.map(({ zoneID }) => zoneKey(zoneID)));
  for (const key of lists.keys()) if (!known.has(key)) lists.delete(key);
  for (const { zoneID } of zones) {
    const list = lists.get(zoneKey(zoneID)) ?? { zoneID, records: new Map() };
    lists.set(zoneKey(zoneID), list);
    for (let isMore = true; isMore;) {
      const page = (await database.fetchRecordZoneChanges({ zoneID, syncToken: list.syncToken })).orThrow().zones[0];
      for (const record of page.records) {
        if (record.deleted) list.records.delete(record.recordName);
        else list.records.set(record.recordName, record);
      }
      list.syncToken = page.syncToken;
      isMore = page.moreComing;
    }
  }
  draw();
}

const titleOf = (record) => record.fields.title?.value ?? "An item that this browser cannot open yet";

/** The oldest first; items that were added together by title. */
const inOrder = (one, other) => one.created.timestamp - other.created.timestamp || titleOf(one).localeCompare(titleOf(other));

function itemRow(list, record) {
  const row = document.createElement("li");
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: record.fields.done?.value === 1 });
  box.addEventListener("change", () => {
    // Until it is saved, and drawn again.
    box.disabled = true;
    attempt(async () => {
      (await database.saveRecords({ ...record, fields: { done: box.checked ? 1 : 0 } }, { zoneID: list.zoneID })).orThrow();
    }).then(() => attempt(fetchLists, { isQuiet: true }));
  });
  label.append(box, titleOf(record));
  row.append(label);
  return row;
}

function draw() {
  const rows = [];
  for (const list of lists.values()) {
    const records = [...list.records.values()].filter((record) => record.recordType === "Item");
    rows.push(...records.toSorted(inOrder).map((record) => itemRow(list, record)));
  }
  find("items").replaceChildren(...rows);
  find("add").hidden = !lists.size;
}

async function add(title) {
  const list = [...lists.values()][0];
  const root = [...list.records.values()].find((record) => record.recordType === "List");
  const item = {
    recordType: "Item", parent: { recordName: root.recordName },
    fields: { title: { value: title, isEncrypted: true }, done: 0 },
  };
  (await database.saveRecords(item, { zoneID: list.zoneID })).orThrow();
  await fetchLists();
}

async function join(link) {
  (await container.acceptShares(link)).orThrow();
  await fetchLists();
}

async function begin() {
  find("sign-in").hidden = true;
  for (const id of ["join", "sign-out"]) find(id).hidden = false;
  if (!container.hasKeys) say(container.keysMissingReason);
  await fetchLists();
  container.addNotificationListener(() => attempt(fetchLists, { isQuiet: true }));
  await container.registerForNotifications();
}

/** Runs a function with the text of a form's only field when the form is sent. */
function onSubmit(form, field, act) {
  find(form).addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      await act(find(field).value);
      find(field).value = "";
    });
  });
}

onSubmit("join", "link", join);
onSubmit("add", "item", add);
// In a window of the cloud, where the person agrees that this page gets keys: it never sees the password.
find("sign-in").addEventListener("click", () => attempt(async () => {
  await container.signIn();
  await begin();
}));
find("sign-out").addEventListener("click", () => attempt(async () => {
  await container.signOut();
  location.reload();
}));

await attempt(async () => {
  if (await container.setUpAuth()) await begin();
  else find("sign-in").hidden = false;
});
