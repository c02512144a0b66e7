/** The page of an account: devices, storage, shares, everything as an archive, recovery words, passkeys, the provider of identities, the password, the deletion. Password, words and keys stay in this page. */

const place = document.getElementById("account");
const messageLine = document.getElementById("message");
const say = (text) => (messageLine.textContent = text);
const { container: own, environment, token: apiToken } = place.dataset;
const { CloudKit } = await import(place.dataset.library);
const encryption = await import(place.dataset.encryption);
const archives = await import(place.dataset.archive);
const recovery = await import(place.dataset.words);
const passkeys = await import(place.dataset.passkeys);
const provider = await import(place.dataset.providerScript);
const elements = await import(place.dataset.elements);
const { openContainer } = await import(place.dataset.databases);
const approval = await import(place.dataset.approval);
const protocol = await import(place.dataset.protocol);
const { devicesOf } = await import(place.dataset.devices);
const providerName = place.dataset.provider;
const { fromBase64, toBase64 } = encryption;
const { element, section, fill, date, size } = elements;
const roundsMin = 600_000;

/** Everything that is known while somebody is signed in. */
let session = null;

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

const { button, form } = elements.acting(fail);

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

/** Opens the account's secret, sealed for a purpose, and compares it with the identity that the cloud shows. */
async function openKeychain(keychain, sealed, purpose, wrappingKey, email, isExtractable = false) {
  const secret = await encryption.openAccountSecret(wrappingKey, fromBase64(sealed), purpose, normalised(email), isExtractable);
  const identity = await encryption.publicIdentity(fromBase64(keychain.identity));
  const keys = await encryption.identityKeys(secret);
  if (!encryption.same(keys.signing, identity.signing) || !encryption.same(keys.agreement, identity.agreement)) throw new CloudError("The cloud shows other keys than the account's. Nothing was opened.");
  return { secret, identity, keys };
}

/** What a person came back with from the provider, until they have an account or have connected it. */
let arrival = null;

/** Opens the page for a session; `locked` is a password that opens no keys yet. */
async function enter(answer, email, account, locked = null) {
  session = { token: answer.ckWebAuthToken, deviceID: answer.deviceID, email, keychain: answer.keychain, account, isWithheld: Boolean(answer.withholdsKeychain), locked, methods: null, wraps: new Map() };
  session.methods = await post("accounts/methods", {});
  say("");
  if (!session.keychain && !session.isWithheld && !session.methods.hasPassword) await makeKeys();
  await showAccount();
}

const sessionBody = (keepsAccount) => ({ deviceName: "Account page", lifetime: "session", wantsKeychain: true, keepsAccount: keepsAccount || undefined });

/** The account's keys by its password; null where the operator has set the password since they were sealed: it signs in, and opens nothing. */
const openByPassword = (keychain, wrappingKey, email) => openKeychain(keychain, keychain.passwordWrap, "password", wrappingKey, email).catch((error) => {
  if (error instanceof encryption.EncryptionError) return null;
  throw error;
});

async function signIn(email, password, keepsAccount) {
  say("One moment…");
  const { proof, wrappingKey } = await passwordKeys(email, password);
  const answer = await post("sessions/create", { email, proof, ...sessionBody(keepsAccount) });
  const account = answer.keychain ? await openByPassword(answer.keychain, wrappingKey, email) : null;
  await enter(answer, email, account, answer.keychain && !account ? { proof, wrappingKey } : null);
}

async function signInWithPasskey(keepsAccount) {
  say("One moment…");
  const { passkey, wrappingKey } = await passkeys.use(await post("passkeys/begin", { purpose: "signIn" }), encryption.hkdf);
  const answer = await post("sessions/create", { passkey, ...sessionBody(keepsAccount) });
  const { keychain, email } = answer;
  await enter(answer, email, keychain?.passkeyWrap && wrappingKey ? await openKeychain(keychain, keychain.passkeyWrap, "passkey", wrappingKey, email) : null);
  if (keychain?.passkeyWrap && session) session.wraps.set(passkey.id, keychain.passkeyWrap);
}

async function signInWithTicket(keepsAccount) {
  say("One moment…");
  const answer = await post("sessions/create", { ticket: arrival.ticket, ...sessionBody(keepsAccount) });
  arrival = null;
  await enter(answer, answer.email, null);
}

/** Goes on with a person who came back from the provider. */
const arrive = () => (arrival.hasAccount ? attemptSignIn(signInWithTicket) : showNewcomer());

/** Shows a person whom the provider knows, and this cloud does not, what they can do. */
function showNewcomer() {
  const { email, isEmailVerified, name, isSignUpOpen } = arrival;
  const fields = [];
  if (!email) fields.push(["E-mail address", { name: "email", type: "email", autocomplete: "email" }]);
  if (!name) fields.push(["Name, if you like", { name: "name", autocomplete: "name", maxLength: 200, required: false }]);
  if (!isSignUpOpen) fields.push(["Invitation: its link", { name: "invitation", autocomplete: "off" }]);
  const known = email ? [" as ", element("strong", { textContent: email }), isEmailVerified ? "" : " (not verified)"] : [];
  show(
    element("p", {}, `${providerName} knows you`, ...known, "; this cloud has no account of yours yet."),
    element("p", { textContent: "The keys of your encrypted data are made in this page. You will see recovery words: they open your data where no passkey and none of your devices is at hand." }),
    form("make-account", "Make my account", fields, makeAccount),
    element("p", {}, "You have an account here? ", button("Sign in to connect it", showSignIn, { id: "connect-own" })),
  );
}

async function makeAccount({ email, name, invitation }) {
  say("One moment…");
  const code = invitation?.value.match(/([0-9a-f]{32})\s*$/)?.[1];
  if (invitation && !code) throw new CloudError("This is not the link of an invitation: the code behind the # is missing. Copy all of it.");
  await post("accounts/create", { ticket: arrival.ticket, email: email?.value, name: name?.value, invitation: code });
  await signInWithTicket(false);
}

/** Signs in, and offers to keep an account that is going to be deleted. */
async function attemptSignIn(act) {
  try {
    await act(false);
  } catch (error) {
    if (error.failure !== "accountRestricted" || !/going to be deleted/.test(error.message)) throw error;
    say(error.message);
    document.getElementById("keep")?.remove();
    place.append(button("Keep my account", () => act(true), { id: "keep" }));
  }
}

function showSignIn() {
  show(
    element("p", {}, "Sign in to see your devices, your data and your shares on this cloud, to take your data along, or to delete your account."),
    form("sign-in", "Sign in", [
      ["E-mail address", { name: "email", type: "email", autocomplete: "username" }],
      ["Password", { name: "password", type: "password", autocomplete: "current-password" }],
    ], ({ email, password }) => attemptSignIn((keepsAccount) => signIn(email.value, password.value, keepsAccount))),
    ...(passkeys.isAvailable() ? [element("p", {}, button("Sign in with a passkey", () => attemptSignIn(signInWithPasskey), { id: "use-passkey" }))] : []),
    ...(providerName ? [element("p", {}, button(`Sign in with ${providerName}`, () => provider.leave(post, providerName), { id: "use-provider" }))] : []),
    element("p", {}, button("Use the recovery words", showRecovery, { id: "use-words" })),
  );
}

// --- Recovery words

const newPasswordFields = [
  ["New password", { name: "wanted", type: "password", autocomplete: "new-password", minLength: 8 }],
  ["New password again", { name: "again", type: "password", autocomplete: "new-password", minLength: 8 }],
];

/** Salt, proof and wrapping key of a password about to be set. The salt is made here, so that no cloud can choose it. */
async function newPassword({ wanted, again }) {
  if (wanted.value !== again.value) throw new CloudError("The two passwords differ.");
  const salt = crypto.getRandomValues(new Uint8Array(16));
  const { proof, wrappingKey } = await encryption.passwordKeys(wanted.value, salt, roundsMin);
  return { wrappingKey, body: { newProof: toBase64(proof), salt: toBase64(salt), rounds: roundsMin } };
}

function showRecovery() {
  show(
    element("p", {}, "With the recovery words you set another password. Your data, your devices and the words stay as they are. The words do not leave this page."),
    form("recover", "Set the password", [
      ["E-mail address", { name: "email", type: "email", autocomplete: "username" }],
      ["Recovery words", { name: "words", autocomplete: "off", autocapitalize: "none", spellcheck: false }],
      ...newPasswordFields,
    ], recover),
    element("p", {}, button("Sign in with a password", showSignIn, { id: "use-password" })),
  );
}

async function recover({ email, words, wanted, again }) {
  const { proof, wrappingKey } = await recovery.recoveryKeys(await recovery.keyOf(words.value), encryption.hkdf);
  say("One moment…");
  const next = await newPassword({ wanted, again });
  const address = { email: email.value, recoveryProof: toBase64(proof) };
  const held = await post("keychain/recovery", address);
  const { secret } = await openKeychain(held, held.recoveryWrap, "recovery", wrappingKey, email.value, true);
  const passwordWrap = toBase64(await wrapped(secret, next.wrappingKey, normalised(email.value), "password"));
  await post("keychain/recover", { ...address, generation: held.generation, ...next.body, passwordWrap });
  await signIn(email.value, wanted.value, false);
  say("The password is set.");
}

// --- Agreement to what a session alone must not do

const agreesByPasskey = () => !session.methods.hasPassword && passkeys.isAvailable() && session.methods.passkeys.some((passkey) => passkey.opensKeys);

/** The fields by which the person agrees: the password; without one a passkey, which needs none; else the recovery words. */
function agreementFields() {
  if (session.agreed || agreesByPasskey()) return [];
  if (session.methods.hasPassword) return [["Password", { name: "agreed", type: "password", autocomplete: "current-password" }]];
  return [["Recovery words", { name: "agreed", autocomplete: "off", autocapitalize: "none", spellcheck: false }]];
}

const usePasskey = async () => passkeys.use(await post("passkeys/begin", { purpose: "agreement" }), encryption.hkdf);

/** What the person shows, and the account's secret as it is wrapped for that. */
async function shown({ agreed }) {
  const { keychain, methods } = session;
  if (methods.hasPassword) {
    const { proof, wrappingKey } = await passwordKeys(session.email, agreed.value);
    return { proof: { proof }, purpose: "password", wrappingKey, wrap: keychain?.passwordWrap };
  }
  if (agreesByPasskey()) {
    let { passkey, wrappingKey } = await usePasskey();
    let wrap = session.wraps.get(passkey.id);
    if (!wrap) {
      ({ wrap } = await post("keychain/open", { passkey }));
      session.wraps.set(passkey.id, wrap);
      // A use of a passkey is accepted once.
      ({ passkey, wrappingKey } = await usePasskey());
    }
    return { proof: { passkey }, purpose: "passkey", wrappingKey, wrap };
  }
  const { proof, wrappingKey } = await recovery.recoveryKeys(await recovery.keyOf(agreed.value), encryption.hkdf);
  const wordsProof = toBase64(proof);
  const { wrap } = await post("keychain/open", { wordsProof });
  return { proof: { wordsProof }, purpose: "recovery", wrappingKey, wrap };
}

/** What shows the cloud that the person agrees, and the account's secret, which can be wrapped again. */
async function agreement(fields) {
  if (session.agreed) return session.agreed;
  const { proof, purpose, wrappingKey, wrap } = await shown(fields);
  const { keychain } = session;
  const opened = keychain ? await openKeychain(keychain, wrap, purpose, wrappingKey, session.email, true) : null;
  return { proof: { ...proof, generation: keychain?.generation }, secret: opened?.secret };
}

// --- Keys

/** Makes the account's keys in this page, and recovery words, which are shown now. */
async function makeKeys() {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const secret = await crypto.subtle.importKey("raw", bytes, hmac, true, ["sign"]);
  const hidden = await crypto.subtle.importKey("raw", bytes, hmac, false, ["sign"]);
  bytes.fill(0);
  const keys = await encryption.identityKeys(hidden);
  const signature = await crypto.subtle.sign("Ed25519", keys.signingKey, encryption.frame("welkin identity 1", keys.signing, keys.agreement));
  const identity = await encryption.publicIdentity(encryption.concat(Uint8Array.of(1), keys.signing, keys.agreement, new Uint8Array(signature)));
  const key = recovery.newRecoveryKey();
  const { proof, wrappingKey } = await recovery.recoveryKeys(key, encryption.hkdf);
  const recoveryWrap = toBase64(await wrapped(secret, wrappingKey, normalised(session.email), "recovery"));
  const { generation } = await post("keychain/create", { recoveryWrap, recoveryProof: toBase64(proof), identity: toBase64(identity.bytes) });
  session.keychain = { generation, identity: toBase64(identity.bytes) };
  session.account = { secret: hidden, identity, keys };
  // Until the page is left, or a passkey or a password is there, the person need not type the words that they have just seen.
  session.agreed = { proof: { wordsProof: toBase64(proof), generation }, secret };
  session.words = await recovery.wordsOf(key);
}

const isOpenMessage = "Your encrypted data is open in this page.";

function openPart() {
  if (session.isWithheld) return [element("p", { textContent: "You let no browser read encrypted data (welkin keychain web on), so this page cannot open it." })];
  const asking = button("Ask another device of mine", askForKeys, { id: "ask-device" });
  if (session.locked) {
    return [
      element("p", { textContent: "You are signed in, and your password does not open your encrypted data: it is not the one with which your keys were sealed. Another device or browser of yours that has the keys gives them to this page." }),
      element("p", {}, asking),
      element("p", { textContent: "Without one, sign out and use the recovery words: they set a password that opens your data." }),
    ];
  }
  const how = session.methods.hasPassword ? "with your password" : agreesByPasskey() ? "with a passkey" : "with the recovery words";
  return [
    element("p", { textContent: `You are signed in, and your encrypted data is not opened in this page: what signed you in computes no key. Open it ${how}, or let another device or browser of yours that has the keys give them to this page.` }),
    form("open-keys", "Open my encrypted data", agreementFields(), async (fields) => {
      say("One moment…");
      const { purpose, wrappingKey, wrap } = await shown(fields);
      session.account = await openKeychain(session.keychain, wrap, purpose, wrappingKey, session.email);
      await showAccount();
      say(isOpenMessage);
    }),
    element("p", {}, asking),
  ];
}

/** Gets the keys from another device; a password that did not open them does from then on. */
async function askForKeys() {
  const { locked, keychain, email } = session;
  const got = await devices.askForKeys("open", Boolean(locked), () => fill("open", ...openPart()));
  if (!got) return;
  session.account = got;
  if (locked) {
    const { proof, wrappingKey } = locked;
    const passwordWrap = toBase64(await wrapped(got.secret, wrappingKey, normalised(email), "password"));
    await post("keychain/rewrap", { proof, generation: keychain.generation, passwordWrap });
    keychain.passwordWrap = passwordWrap;
    session.account = await openKeychain(keychain, passwordWrap, "password", wrappingKey, email);
    session.locked = null;
  }
  await showAccount();
  say(isOpenMessage);
}

// --- Making recovery words

function wordsPart() {
  if (!session.keychain) return [element("p", { textContent: "The account has no keys yet: its first device makes them (welkin login), and shows the words." })];
  return [
    element("p", { textContent: "Whoever has the twelve words can open the account without the password: they are for the day when you have forgotten it. New ones are made in this page, and the cloud gets only what it needs to recognise them; the old ones are then worth nothing." }),
    form("new-words", "Make new recovery words", agreementFields(), makeWords),
  ];
}

async function makeWords(fields) {
  say("One moment…");
  const { proof: agreed, secret } = await agreement(fields);
  const key = recovery.newRecoveryKey();
  const { proof, wrappingKey } = await recovery.recoveryKeys(key, encryption.hkdf);
  const recoveryWrap = toBase64(await wrapped(secret, wrappingKey, normalised(session.email), "recovery"));
  await post("keychain/rewrap", { ...agreed, recoveryWrap, recoveryProof: toBase64(proof) });
  if (session.agreed) session.agreed.proof.wordsProof = toBase64(proof);
  document.getElementById("new-words").reset();
  showWords(await recovery.wordsOf(key));
  say("These words are shown once. The old ones are worth nothing now.");
}

/** Shows new words until the person says that they have them. */
function showWords(made) {
  const list = element("ol", { id: "words-made", label: "New recovery words", tabIndex: -1 }, ...made.map((word) => element("li", { textContent: word })));
  const done = button("I have written them down", () => {
    fill("words", ...wordsPart());
    say("");
  }, { id: "words-done" });
  fill("words", element("p", { textContent: "Write these words down in their order, on paper, and keep them where only you find them." }), list, element("p", {}, done));
  list.focus();
}

async function signOut() {
  await post("sessions/delete", {}).catch(() => {});
  session = null;
  showSignIn();
  say("You are signed out.");
}

// --- Containers

const open = (line) => openContainer(line, session.account, { CloudKit, encryption });

async function containers() {
  const answer = await post("accounts/data", {});
  return answer.containers;
}

// --- The page

async function showAccount() {
  show(
    element("p", {}, "Signed in as ", element("strong", { textContent: session.email }), ". ", button("Sign out", signOut, { id: "sign-out" })),
    ...(session.account || !(session.keychain || session.isWithheld) ? [] : [section("open", "Your encrypted data", ...openPart())]),
    section("address", "Address", element("p", { textContent: "One moment…" })),
    section("storage", "Storage", element("p", { textContent: "One moment…" })),
    section("devices", "Devices and browsers", element("p", { textContent: "One moment…" })),
    section("shares", "Shares", element("p", { textContent: "One moment…" })),
    section("download", "Download everything", ...downloadPart()),
    section("words", "Recovery words", ...wordsPart()),
    section("passkeys", "Passkeys", ...passkeysPart()),
    ...(session.methods.provider || session.methods.connections.length > 0 ? [section("provider", session.methods.provider || "Provider of identities", ...providerPart())] : []),
    section("password", "Password", ...passwordPart()),
    section("deletion", "Delete the account", element("p", { textContent: "One moment…" })),
  );
  place.querySelector("h2").focus();
  if (session.words) {
    showWords(session.words);
    session.words = null;
  }
  const found = containers();
  const parts = [showAddress, () => showStorage(found), devices.showDevices, showDeletion, () => showShares(found)];
  for (const part of parts) {
    try {
      await part();
    } catch (error) {
      fail(error);
      if (!session) return;
    }
  }
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
    return element("li", {}, element("strong", { textContent: line.container }), ` (${line.environment}): ${line.records} record${line.records === 1 ? "" : "s"}, ${size(line.recordBytes + line.assetBytes)}${quota}`);
  });
  fill("storage", lines.length > 0 ? element("ul", {}, ...lines) : element("p", { textContent: "Nothing is stored yet." }));
}

const devices = devicesOf({
  post, say, elements: { ...elements, button, form }, agreementFields, agreement, current: () => session, nameOf: approval.nameOf,
  exchange: (isOver) => approval.approvals({ post, isOver, encryption, protocol }),
});

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

// --- Passkeys

function passkeysPart() {
  const lines = session.methods.passkeys.map((passkey) => element("li", {},
    element("strong", { textContent: passkey.name || "without a name" }), `, since ${date(passkey.created)}${passkey.used ? `, last used ${date(passkey.used)}` : ""}`,
    passkey.opensKeys ? "; opens your encrypted data " : "; signs in, and does not open encrypted data ",
    button("Remove", () => removePasskey(passkey), { label: `Remove the passkey ${passkey.name || "without a name"}` })));
  const text = "A passkey signs you in with your device's screen lock or a security key, and opens your encrypted data if its authenticator can compute keys (PRF). The cloud gets a public key, and never what opens your data.";
  const unavailable = element("p", { className: "quiet", textContent: "The browser has no passkeys at this address. They need a host name and https." });
  return [
    element("p", { textContent: text }), ...(lines.length > 0 ? [element("ul", {}, ...lines)] : []),
    passkeys.isAvailable() ? form("add-passkey", "Add a passkey", [["Name, for your list", { name: "name", maxLength: 100, value: "Passkey" }], ...agreementFields()], addPasskey) : unavailable,
  ];
}

/** Shows how the person signs in, and the forms to which they agree by it. */
async function showMethods() {
  session.methods = await post("accounts/methods", {});
  fill("passkeys", ...passkeysPart());
  fill("provider", ...providerPart());
  fill("password", ...passwordPart());
  if (!document.getElementById("words-made")) fill("words", ...wordsPart());
  await showDeletion();
}

async function addPasskey(fields) {
  say("One moment…");
  const { proof, secret } = await agreement(fields);
  const { body, wrappingKey } = await passkeys.make(await post("passkeys/begin", { purpose: "registration" }), encryption.hkdf);
  const wrap = secret && wrappingKey ? toBase64(await wrapped(secret, wrappingKey, normalised(session.email), "passkey")) : undefined;
  const { passkey } = await post("passkeys/create", { name: fields.name.value, ...body, wrap, ...proof });
  session.agreed = null;
  await showMethods();
  say(passkey.opensKeys ? "The passkey is added. It signs you in and opens your encrypted data."
    : "The passkey is added. It signs you in; it does not open your encrypted data, since its authenticator computes no key or the account has none yet.");
}

async function removePasskey({ id, name }) {
  await post("passkeys/delete", { id });
  await showMethods();
  document.querySelector("#passkeys h2").focus();
  say(`The passkey ${name} is removed. Remove it from its authenticator, too.`);
}

// --- The provider of identities

function providerPart() {
  const { provider: name, connections } = session.methods;
  const lines = connections.map(({ id, issuer, created }) => element("li", {}, element("strong", { textContent: issuer }), `, since ${date(created)} `, button("Disconnect", () => disconnect(id), { label: `Disconnect ${issuer}` })));
  const parts = [element("p", { textContent: "A provider of identities tells this cloud who you are. It learns nothing that opens your encrypted data." }), ...(lines.length > 0 ? [element("ul", {}, ...lines)] : [])];
  if (arrival && name) {
    const known = arrival.email ? [" as ", element("strong", { textContent: arrival.email })] : [];
    parts.push(element("p", {}, `You came back from ${name}`, ...known, "."), form("connect", `Sign in with ${name} from now on`, agreementFields(), connect));
  } else if (name) {
    parts.push(element("p", {}, button(`Connect ${name}`, () => provider.leave(post, name), { id: "connect-provider" }), " You come back here signed out, and sign in once more to connect it."));
  }
  return parts;
}

async function connect(fields) {
  say("One moment…");
  const { proof } = await agreement(fields);
  await post("providers/link", { ticket: arrival.ticket, ...proof });
  arrival = null;
  await showMethods();
  say(`You can sign in with ${session.methods.provider} from now on.`);
}

async function disconnect(id) {
  await post("providers/unlink", { id });
  await showMethods();
  document.querySelector("#provider h2").focus();
  say("It signs you in no more.");
}

// --- The password

function passwordPart() {
  const { hasPassword } = session.methods;
  return [
    element("p", { textContent: hasPassword ? "Your devices stay signed in. Your recovery words stay as they are." : "Your account has no password. With one you can sign in on devices and in apps without the provider." }),
    form("change-password", hasPassword ? "Change the password" : "Set a password", [
      ...agreementFields(),
      ...newPasswordFields,
    ], changePassword),
  ];
}

async function changePassword(fields) {
  say("One moment…");
  const next = await newPassword(fields);
  const { proof, secret } = await agreement(fields);
  const passwordWrap = secret ? toBase64(await wrapped(secret, next.wrappingKey, normalised(session.email), "password")) : undefined;
  await post("accounts/password", { ...proof, ...next.body, passwordWrap });
  if (session.keychain) session.keychain.passwordWrap = passwordWrap;
  const { hasPassword } = session.methods;
  session.agreed = null;
  document.getElementById("change-password").reset();
  if (!hasPassword) await showMethods();
  say(hasPassword ? "The password is changed." : "The password is set.");
}

/** The account's secret, wrapped for a purpose; its bytes are never in a script's hands. */
async function wrapped(secret, wrappingKey, account, purpose) {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const key = await crypto.subtle.importKey("raw", wrappingKey, "AES-GCM", false, ["wrapKey"]);
  const additionalData = encryption.frame("welkin account secret 1", purpose, account);
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
    form("delete-account", "Delete my account", [...agreementFields(), ["Type delete to confirm", { name: "sure", pattern: "delete", autocomplete: "off" }]], async (given) => {
      say("One moment…");
      const { proof } = await agreement(given);
      const { due } = await post("accounts/delete", proof);
      session = null;
      showSignIn();
      say(`The account will be deleted from ${date(due)} on. All devices are signed out.`);
    }));
}

if (!globalThis.crypto?.subtle) {
  say("The browser offers no encryption to pages without HTTPS. Open this page by an address that begins with https.");
} else {
  arrival = provider.takeTicket();
  showSignIn();
  if (arrival) await Promise.resolve(arrive()).catch(fail);
}
