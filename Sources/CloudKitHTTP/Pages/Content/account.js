/** The page of an account: devices, storage, shares, everything as an archive, the password, the deletion. The password stays in this page. */

const place = document.getElementById("account");
const messageLine = document.getElementById("message");
const say = (text) => (messageLine.textContent = text);
const { container: own, environment, token: apiToken } = place.dataset;
const { CloudKit } = await import(place.dataset.library);
const encryption = await import(place.dataset.encryption);
const archives = await import(place.dataset.archive);
const { fromBase64, toBase64 } = encryption;
const roundsMin = 600_000;

/** Everything that is known while somebody is signed in. */
let session = null;

/** An element with its content. */
function element(name, properties = {}, ...content) {
  const { label, ...rest } = properties;
  const made = Object.assign(document.createElement(name), rest);
  if (label) made.setAttribute("aria-label", label);
  made.append(...content);
  return made;
}

function button(text, act, properties = {}) {
  const made = element("button", { type: "button", textContent: text, ...properties });
  made.addEventListener("click", () => attempt(made, act));
  return made;
}

/** Does a step, with its button off meanwhile. */
async function attempt(control, act) {
  control.disabled = true;
  try {
    await act();
  } catch (error) {
    fail(error);
  }
  control.disabled = false;
}

class CloudError extends Error {}

/** Sends a request about the account. */
async function post(action, body) {
  const query = new URLSearchParams({ ckAPIToken: apiToken });
  if (session?.token) query.set("ckWebAuthToken", session.token);
  let response;
  try {
    response = await fetch(`/device/1/${encodeURIComponent(own)}/${environment}/${action}?${query}`, {
      method: "POST", credentials: "omit", cache: "no-store", headers: { "Content-Type": "application/json", "X-Welkin-Client": "sdk/1" }, body: JSON.stringify(body) });
  } catch (error) {
    throw new CloudError("The cloud cannot be reached. Check the connection and try again.", { cause: error });
  }
  const answer = await response.json().catch(() => ({}));
  const next = response.headers.get("X-Apple-CloudKit-Web-Auth-Token");
  if (next && session) session.token = next;
  if (response.ok) return answer;
  const wait = answer.retryAfter ? ` Try again in ${Math.ceil(answer.retryAfter)} seconds.` : "";
  const reason = answer.reason || "The cloud refused it";
  throw Object.assign(new CloudError(`${reason[0].toUpperCase()}${reason.slice(1)}.${wait}`), { failure: answer.failure, isOver: Boolean(session) && response.status === 421 });
}

function fail(error) {
  if (error.isOver || error.isSessionOver || (session && error.ckErrorCode === "AUTHENTICATION_REQUIRED")) {
    session = null;
    showSignIn();
    return say("You are signed out: the session has ended. Sign in again.");
  }
  return say(error.reason || error.message);
}

function show(...content) {
  place.replaceChildren(...content);
  // The keyboard goes on where the page does.
  place.querySelector("input, h2[tabindex]")?.focus();
}

function form(id, text, fields, act) {
  const submit = element("button", { type: "submit", textContent: text });
  const made = element("form", { id }, ...fields.map(([label, properties]) => element("label", {}, label, element("input", { required: true, ...properties }))), submit);
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(submit, () => act(made.elements));
  });
  return made;
}

// --- Signing in

/** What follows from the password: the proof for the cloud and the key that opens the account's own. */
async function passwordKeys(email, password) {
  const puzzle = await post("sessions/prepare", { email });
  if (!(puzzle.rounds >= roundsMin)) throw new CloudError("The cloud asks for a proof from which the password could be guessed. Nothing was sent.");
  const keys = await encryption.passwordKeys(password, fromBase64(puzzle.salt), puzzle.rounds);
  return { ...keys, proof: toBase64(keys.proof) };
}

/** The account's address as its keys name it. */
const normalised = (email) => email.trim().normalize("NFC").toLowerCase();

async function openKeychain(keychain, wrappingKey, email, isExtractable = false) {
  const secret = await encryption.openAccountSecret(wrappingKey, fromBase64(keychain.passwordWrap), "password", normalised(email), isExtractable);
  const identity = await encryption.publicIdentity(fromBase64(keychain.identity));
  const keys = await encryption.identityKeys(secret);
  if (!encryption.same(keys.signing, identity.signing) || !encryption.same(keys.agreement, identity.agreement)) throw new CloudError("The cloud shows other keys than the account's. Nothing was opened.");
  return { secret, identity, keys };
}

async function signIn(email, password, keepsAccount) {
  say("One moment…");
  const { proof, wrappingKey } = await passwordKeys(email, password);
  const answer = await post("sessions/create", { email, proof, deviceName: "Account page", lifetime: "session", wantsKeychain: true, keepsAccount: keepsAccount || undefined });
  const { keychain } = answer;
  const account = keychain ? await openKeychain(keychain, wrappingKey, email) : null;
  session = { token: answer.ckWebAuthToken, email, keychain, account };
  say(!account && answer.withholdsKeychain ? "You let no browser read encrypted data (welkin keychain web on), so this page cannot open it." : "");
  await showAccount();
}

function showSignIn() {
  show(
    element("p", {}, "Sign in to see your devices, your data and your shares on this cloud, to take your data along, or to delete your account."),
    form("sign-in", "Sign in", [
      ["E-mail address", { name: "email", type: "email", autocomplete: "username" }],
      ["Password", { name: "password", type: "password", autocomplete: "current-password" }],
    ], async ({ email, password }) => {
      try {
        await signIn(email.value, password.value, false);
      } catch (error) {
        if (error.failure !== "accountRestricted" || !/going to be deleted/.test(error.message)) throw error;
        say(error.message);
        document.getElementById("keep")?.remove();
        place.append(button("Keep my account", () => signIn(email.value, password.value, true), { id: "keep" }));
      }
    }),
  );
}

async function signOut() {
  await post("sessions/delete", {}).catch(() => {});
  session = null;
  showSignIn();
  say("You are signed out.");
}

// --- Containers

/** The databases of a container, with keys where the page has them. */
async function open({ container, environment: at, apiToken: token, ckWebAuthToken }) {
  CloudKit.configure({ encryption, containers: [{ containerIdentifier: container, environment: at, apiTokenAuth: { apiToken: token } }] });
  const opened = CloudKit.getContainer(container);
  const connection = opened._connection;
  // The token ends with this page.
  connection.keep = (next) => (connection.token = next || null);
  connection.keep(ckWebAuthToken);
  connection.user = await connection.call(connection.path("database", "public/users/caller"), {});
  if (session.account) {
    const { secret, identity, keys } = session.account;
    const bytes = await encryption.containerRoot(secret, container, at);
    const root = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    connection.keys = await encryption.keysOf({ root, signingKey: keys.signingKey, agreementKey: keys.agreementKey, identity: identity.bytes }, connection);
    keepExactText(connection.keys);
  }
  return { container, environment: at, user: connection.user.userRecordName, databases: opened };
}

/** Makes opened fields carry the JSON that was sealed: the numbers of this page are not exact beyond 2^53. */
function keepExactText(keys) {
  keys.openedField = async (at, name, given) => {
    const type = given.type.startsWith("ENCRYPTED_") ? given.type : `ENCRYPTED_${given.type}`;
    const types = [type];
    if (type.startsWith("ENCRYPTED_DOUBLE")) types.push(type.replace("DOUBLE", "INT64"));
    if (type.endsWith("_LIST")) types.push("ENCRYPTED_UNKNOWN_LIST");
    let failure;
    for (const tried of types) {
      try {
        const json = new TextDecoder().decode(await encryption.openField(at, name, tried, fromBase64(given.value)));
        return { value: JSON.parse(json), json, type: tried.replace("ENCRYPTED_", ""), isEncrypted: true };
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  };
}

async function containers() {
  const answer = await post("accounts/data", {});
  return answer.containers;
}

// --- The page

const date = (milliseconds) => new Date(milliseconds).toLocaleDateString(undefined, { dateStyle: "medium" });
const size = (bytes) => {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
};

const section = (id, title, ...content) => element("section", { id, label: title }, element("h2", { textContent: title, tabIndex: -1 }), ...content);

async function showAccount() {
  show(
    element("p", {}, "Signed in as ", element("strong", { textContent: session.email }), ". ", button("Sign out", signOut, { id: "sign-out" })),
    section("address", "Address", element("p", { textContent: "One moment…" })),
    section("storage", "Storage", element("p", { textContent: "One moment…" })),
    section("devices", "Devices and browsers", element("p", { textContent: "One moment…" })),
    section("shares", "Shares", element("p", { textContent: "One moment…" })),
    section("download", "Download everything", ...downloadPart()),
    section("password", "Password", ...passwordPart()),
    section("deletion", "Delete the account", element("p", { textContent: "One moment…" })),
  );
  place.querySelector("h2").focus();
  const found = containers();
  const parts = [showAddress, () => showStorage(found), showDevices, showDeletion, () => showShares(found)];
  for (const part of parts) {
    try {
      await part();
    } catch (error) {
      fail(error);
      if (!session) return;
    }
  }
}

/** Replaces what a section has below its title. */
function fill(id, ...content) {
  const part = document.getElementById(id);
  part?.replaceChildren(part.querySelector("h2"), ...content);
}

async function showAddress() {
  const { email, isProved, isRequired } = await post("accounts/address", {});
  const text = isProved ? " is proved to be yours." : isRequired ? " is not proved: others cannot share with you by it yet." : "";
  const send = button("Mail me a link", async () => {
    await post("accounts/address", { sendsLink: true });
    say(`A link was mailed to ${email}. Open it within three days.`);
  }, { id: "send-link" });
  fill("address", element("p", {}, element("strong", { textContent: email }), text), ...(isProved || !isRequired ? [] : [send]));
}

async function showStorage(found) {
  const lines = (await found).map((line) => {
    const quota = line.quotaBytes === undefined ? "" : ` of ${size(line.quotaBytes)}`;
    return element("li", {}, element("strong", { textContent: line.container }), ` (${line.environment}): ${line.records} records, ${size(line.recordBytes + line.assetBytes)}${quota}`);
  });
  fill("storage", lines.length > 0 ? element("ul", {}, ...lines) : element("p", { textContent: "Nothing is stored yet." }));
}

async function showDevices() {
  const { devices } = await post("devices/list", {});
  const lines = devices.map((device) => {
    const kind = device.isBrowser ? "browser" : "device";
    const line = element("li", {}, element("strong", { textContent: device.name || "without a name" }), ` (${kind}), since ${date(device.created)}, until ${date(device.expires)} `);
    if (device.isCaller) line.append("– this page");
    else line.append(button("Sign out", async () => {
      await post("devices/revoke", { revoke: device.deviceID });
      say(`${device.name || "The device"} is signed out.`);
      await showDevices();
      document.querySelector("#devices h2").focus();
    }, { label: `Sign out ${device.name || "the device"}` }));
    return line;
  });
  fill("devices", element("ul", {}, ...lines));
}

const sharesPart = (title, lines, nothing) => [
  element("h3", { textContent: title }), lines.length > 0 ? element("ul", {}, ...lines) : element("p", { textContent: nothing }),
];

async function showShares(found) {
  const mine = [];
  const theirs = [];
  for (const line of await found) {
    const { databases, container } = await open(line);
    const title = (share) => `${share.title || share.root || share.zone} (${container})`;
    for (const zone of (await databases.privateCloudDatabase.fetchAllRecordZones()).orThrow().zones) {
      if (zone.zoneID.zoneName === "_defaultZone") continue;
      for (const record of await archives.sharesOf(databases.privateCloudDatabase, zone.zoneID)) {
        const share = archives.listedShare(record, true);
        const people = share.participants.filter((person) => person.role !== "owner").map((person) => `${person.contact || person.name || "someone with the link"}${person.acceptance === "accepted" ? "" : ", invited"}`);
        if (share.publicPermission !== "none") people.push("everyone who has the link");
        mine.push(element("li", {}, element("strong", { textContent: title(share) }), ` with ${people.length > 0 ? people.join("; ") : "nobody yet"}`));
      }
    }
    for (const share of await archives.joinedShares(databases.sharedCloudDatabase)) {
      const owner = share.participants.find((person) => person.role === "owner");
      theirs.push(element("li", {}, element("strong", { textContent: title(share) }), ` by ${owner?.name || owner?.contact || "its owner"}`));
    }
  }
  fill("shares", ...sharesPart("What you share", mine, "You share nothing."), ...sharesPart("What others share with you", theirs, "Nothing is shared with you."));
}

// --- Everything as a file

function downloadPart() {
  const text = "Your records, files and shares of all containers, as one tar file that welkin account import takes. Encrypted values are opened in this page and are in the file in clear: keep it where only you can read it. Files are held by this browser until it is saved; for many gigabytes use welkin account export on a device.";
  return [element("p", { textContent: text }), button("Make the file", makeFile, { id: "make" })];
}

async function makeFile() {
  const archive = new archives.AccountArchive({ cloud: location.origin, account: session.email, program: "account page", say: (text) => say(`Reading ${text}…`) });
  for (const line of await containers()) await archive.addContainer(await open(line));
  const blob = archive.finish();
  const { containers: made } = archive.manifest;
  const files = made.flatMap((item) => [...item.zones.map((zone) => zone.file), item.publicRecords]);
  const [records, problems] = ["lines", "problems"].map((key) => files.reduce((sum, file) => sum + file[key], 0));
  const link = element("a", { className: "button", id: "save", href: URL.createObjectURL(blob), download: `${archives.AccountArchive.folder}.tar`, textContent: `Save the file (${size(blob.size)})` });
  document.getElementById("save")?.remove();
  document.getElementById("make").after(" ", link);
  link.focus();
  say(`${records} records and ${archive.manifest.assetCount} files are ready${problems > 0 ? `; ${problems} records are incomplete, and say why` : ""}.`);
}

// --- The password

function passwordPart() {
  return [
    element("p", { textContent: "Your devices stay signed in. Your recovery words stay as they are." }),
    form("change-password", "Change the password", [
      ["Password", { name: "old", type: "password", autocomplete: "current-password" }],
      ["New password", { name: "wanted", type: "password", autocomplete: "new-password" }],
      ["New password again", { name: "again", type: "password", autocomplete: "new-password" }],
    ], changePassword),
  ];
}

async function changePassword({ old, wanted, again }) {
  if (wanted.value !== again.value) throw new CloudError("The two passwords differ.");
  say("One moment…");
  const before = await passwordKeys(session.email, old.value);
  // The salt is made here, so that no cloud can choose it.
  const salt = crypto.getRandomValues(new Uint8Array(16));
  const after = await encryption.passwordKeys(wanted.value, salt, roundsMin);
  const body = { proof: before.proof, newProof: toBase64(after.proof), salt: toBase64(salt), rounds: roundsMin };
  if (session.keychain) {
    const { secret } = await openKeychain(session.keychain, before.wrappingKey, session.email, true);
    body.generation = session.keychain.generation;
    body.passwordWrap = toBase64(await wrapped(secret, after.wrappingKey, normalised(session.email)));
  }
  await post("accounts/password", body);
  if (session.keychain) session.keychain.passwordWrap = body.passwordWrap;
  document.getElementById("change-password").reset();
  say("The password is changed.");
}

/** The account's secret under the key of a password; its bytes are never in a script's hands. */
async function wrapped(secret, wrappingKey, account) {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const key = await crypto.subtle.importKey("raw", wrappingKey, "AES-GCM", false, ["wrapKey"]);
  const additionalData = encryption.frame("welkin account secret 1", "password", account);
  const sealed = await crypto.subtle.wrapKey("raw", secret, key, { name: "AES-GCM", iv, additionalData });
  return encryption.concat(Uint8Array.of(1), iv, new Uint8Array(sealed));
}

// --- The deletion

async function showDeletion() {
  const { graceSeconds } = await post("accounts/delete", {});
  const days = Math.ceil(graceSeconds / 86_400);
  const when = graceSeconds < 86_400 ? "at once" : `in ${days} day${days === 1 ? "" : "s"}`;
  fill("deletion",
    element("p", { textContent: `When you delete the account, all of your devices are signed out at once. Your records, files and keys are deleted ${when}: your shares end for all who take part in them, and you leave those of others. ${graceSeconds < 86_400 ? "It cannot be taken back." : "To keep the account, sign in here before that."} Records in public databases stay; download everything first if you want to keep it.` }),
    form("delete-account", "Delete my account", [["Password", { name: "password", type: "password", autocomplete: "current-password" }], ["Type delete to confirm", { name: "sure", pattern: "delete", autocomplete: "off" }]], async ({ password }) => {
      say("One moment…");
      const { proof } = await passwordKeys(session.email, password.value);
      const { due } = await post("accounts/delete", { proof });
      session = null;
      showSignIn();
      say(`The account will be deleted from ${date(due)} on. All devices are signed out.`);
    }));
}

if (!globalThis.crypto?.subtle) {
  say("The browser offers no encryption to pages without HTTPS. Open this page by an address that begins with https.");
} else {
  showSignIn();
}
