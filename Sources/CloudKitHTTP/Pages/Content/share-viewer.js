/**
 * Shows what a link shares: signs in, accepts, reads, and edits where that is permitted. The part of the link after the `#` stays in the page.
 */

const place = document.getElementById("viewer");
const messageLine = document.getElementById("message");
const say = (text) => (messageLine.textContent = text);
const elements = await import(place.dataset.elements);
const { element } = elements;
const { button } = elements.acting(fail);

let container = null;
let retry = null;

/** A sentence for each way in which something fails. */
function explanation(error) {
  switch (error.ckErrorCode) {
    case "NETWORK_ERROR": return "The cloud cannot be reached. Check the connection and try again.";
    case "THROTTLED": case "TRY_AGAIN_LATER": return `The cloud asks for a pause. Try again in ${Math.ceil(error.retryAfter || 1)} seconds.`;
    case "ACCESS_DENIED": return "You may read this, and not change it.";
    case "CONFLICT": return "Somebody else changed it meanwhile. Here is the present state.";
    case "ZONE_NOT_FOUND": return "This is not shared with you any more: the share was stopped, or you were removed.";
    case "AUTHENTICATION_FAILED": return "The e-mail address or the password is wrong.";
    default: return error.reason || error.message;
  }
}

function fail(error) {
  if (error.isSessionOver || error.ckErrorCode === "AUTHENTICATION_REQUIRED") {
    say("You are signed out: the session has ended. Sign in again.");
    return show(...signInForm());
  }
  say(explanation(error));
  document.getElementById("retry")?.remove();
  if (error.ckErrorCode === "NETWORK_ERROR" && retry) {
    const again = button("Try again", async () => {
      again.remove();
      say("");
      await retry();
    }, { id: "retry" });
    messageLine.after(again);
  }
}

/** Does a step that can be tried again when the network is back. */
async function attempt(step) {
  retry = () => attempt(step);
  try {
    await step();
    retry = null;
  } catch (error) {
    fail(error);
  }
}

function show(...content) {
  place.replaceChildren(...content);
  // The keyboard goes on where the page does.
  place.querySelector("input, button, h2[tabindex]")?.focus();
}

// --- Signing in

function signInForm() {
  const email = element("input", { name: "email", type: "email", autocomplete: "username", required: true });
  const password = element("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
  const submit = element("button", { type: "submit", textContent: "Sign in" });
  const signIn = element("form", { id: "sign-in" }, element("label", {}, "E-mail address", email), element("label", {}, "Password", password), submit);
  signIn.addEventListener("submit", (event) => {
    event.preventDefault();
    submit.disabled = true;
    say("One moment…");
    attempt(async () => {
      try {
        await container.signIn({ email: email.value, password: password.value });
        say("");
        await open();
      } finally {
        submit.disabled = false;
      }
    });
  });
  const { container: name, environment, token } = place.dataset;
  const query = new URLSearchParams({ container: name, environment, ckAPIToken: token });
  const signUp = element("a", { href: `/sign-up?${query}`, target: "_blank", rel: "noopener", textContent: "Sign up" });
  return [element("p", {}, "Sign in to this cloud to see what is shared with you."), signIn, element("p", { className: "quiet" }, "No account yet? ", signUp)];
}

const nameOf = (identity) => [identity?.nameComponents?.givenName, identity?.nameComponents?.familyName].filter(Boolean).join(" ") || identity?.lookupInfo?.emailAddress || "";

function describe(info) {
  const title = info.share?.fields?.["cloudkit.title"]?.value;
  if (title) document.getElementById("title").textContent = document.title = title;
  const owner = nameOf(info.ownerIdentity);
  if (owner) document.getElementById("owner").replaceChildren("Shared by ", element("bdi", { textContent: owner }));
  const image = info.share?.fields?.["cloudkit.thumbnailImageData"]?.value;
  const type = image && Object.entries({ iVBORw0KGgo: "png", "/9j/": "jpeg", R0lGOD: "gif" }).find(([beginning]) => image.startsWith(beginning))?.[1];
  if (type && !document.querySelector("img.thumbnail")) document.getElementById("title").before(element("img", { className: "thumbnail", alt: "", src: `data:image/${type};base64,${image}` }));
}

// --- Opening the link

async function open() {
  const response = await container.fetchRecordInfos(location.href, { shouldFetchRootRecord: true });
  const [info] = response.results;
  if (!info) {
    const [error] = response.errors;
    if (error.ckErrorCode !== "NOT_FOUND") throw error;
    return showNothing();
  }
  describe(info);
  const isOwner = info.participantType === "OWNER";
  if (isOwner || info.participantStatus === "ACCEPTED") return showContent(info);
  const may = info.participantPermission === "READ_WRITE" ? "read and change" : "read";
  show(
    element("p", {}, `You can ${may} it.`),
    button("Accept", () => attempt(async () => {
      const accepted = await container.acceptShares(location.href);
      if (accepted.hasErrors) throw accepted.errors[0];
      await showContent(accepted.results[0]);
    }), { id: "accept" }));
}

function showNothing() {
  say("This link opens nothing for you: it was stopped, it was used already, or it is meant for somebody else.");
  show(
    button("Ask for access", async () => {
      await container.requestShareAccess(location.href);
      say("Asked. If the share's owner takes requests, they see yours.");
    }),
    signOutButton());
}

const signOutButton = () => button("Sign out", async () => {
  clearTimeout(polling);
  lookNow = null;
  await container.signOut();
  say("You are signed out.");
  show(...signInForm());
}, { id: "sign-out", className: "secondary" });

// --- Content

let polling = 0;
let lookNow = null;
const pause = 5000;

async function showContent(info) {
  const isOwner = info.participantType === "OWNER";
  const database = isOwner ? container.privateCloudDatabase : container.sharedCloudDatabase;
  const canEdit = isOwner || info.participantPermission === "READ_WRITE";
  const view = { info, database, canEdit, records: new Map(), syncToken: undefined, problems: new Map() };
  view.list = element("div", { id: "records" });
  const notice = container.hasKeys ? [] : [element("p", { id: "keys-notice" }, `Encrypted values are not shown. ${container.keysMissingReason}`)];
  show(...notice, view.list, signOutButton());
  lookNow = () => load(view);
  await load(view);
  const first = view.list.querySelector("h2");
  first?.focus();
}

/** Fetches what changed, and looks again while the page is seen. */
async function load(view) {
  clearTimeout(polling);
  try {
    let isMore = true;
    let isChanged = view.list.childElementCount === 0;
    while (isMore) {
      const response = await view.database.fetchRecordZoneChanges({ zoneID: view.info.zoneID, syncToken: view.syncToken });
      if (response.hasErrors) throw response.errors[0];
      const [zone] = response.zones;
      for (const record of zone.records) {
        isChanged = true;
        view.problems.delete(record.recordName);
        if (record.deleted) view.records.delete(record.recordName);
        else view.records.set(record.recordName, record);
      }
      for (const error of zone.errors) {
        isChanged = true;
        view.problems.set(error.recordName, error);
      }
      view.syncToken = zone.syncToken;
      isMore = zone.moreComing;
    }
    // A key may arrive without a change of the record.
    const waiting = [...view.problems.values()].filter((error) => error.ckErrorCode === "WAITING_FOR_KEY");
    if (waiting.length > 0) isChanged = (await lookAgain(view, waiting)) || isChanged;
    const { rootRecordName: root } = view.info;
    if (root && !view.records.has(root) && !view.problems.has(root)) throw Object.assign(new Error("not shared"), { ckErrorCode: "ZONE_NOT_FOUND" });
    if (messageLine.dataset.lost) say("");
    delete messageLine.dataset.lost;
    if (isChanged) draw(view);
  } catch (error) {
    if (error.ckErrorCode === "NETWORK_ERROR") {
      say(explanation(error));
      messageLine.dataset.lost = "true";
    } else {
      lookNow = null;
      view.list.replaceChildren();
      fail(error);
      return;
    }
  }
  polling = setTimeout(() => load(view), document.hidden ? 10 * pause : pause);
}

async function lookAgain(view, waiting) {
  const response = await view.database.fetchRecords(waiting.map((error) => error.recordName), { zoneID: view.info.zoneID });
  for (const record of response.records) {
    view.problems.delete(record.recordName);
    view.records.set(record.recordName, record);
  }
  return response.records.length > 0;
}

/** Whether a record belongs to what the link shares: a zone may have several shares. */
function isInTree(view, name) {
  const { rootRecordName: root } = view.info;
  if (!root) return true;
  let above = name;
  for (let depth = 0; above && depth < 128; depth += 1) {
    if (above === root) return true;
    above = (view.records.get(above) || view.problems.get(above))?.parent?.recordName;
  }
  return false;
}

/** Records of the tree, each before those below it. */
function ordered(view) {
  const all = [...view.records.values()].filter((record) => record.recordType !== "cloudkit.share" && isInTree(view, record.recordName));
  const root = view.info.rootRecordName;
  const result = [];
  const add = (record, depth) => {
    result.push({ record, depth });
    for (const child of all) if (child.parent?.recordName === record.recordName && depth < 16) add(child, depth + 1);
  };
  const first = all.find((record) => record.recordName === root);
  if (first) add(first, 0);
  else for (const record of all) if (!view.records.has(record.parent?.recordName)) add(record, 0);
  return result;
}

function draw(view) {
  // What is being edited stays until it is saved or cancelled.
  if (view.list.querySelector("form")) return;
  const focused = document.activeElement?.closest("article")?.dataset.record;
  const articles = ordered(view).map(({ record, depth }) => article(view, record, depth));
  const problems = [...view.problems.values()].filter((error) => isInTree(view, error.recordName)).map((error) => element("p", { className: "problem" }, explanation(error)));
  if (articles.length + problems.length === 0) problems.push(element("p", {}, "Nothing is in it yet."));
  view.list.replaceChildren(...articles, ...problems);
  if (focused) view.list.querySelector(`article[data-record="${CSS.escape(focused)}"] button`)?.focus();
}

const isText = (field) => field?.type === "STRING" && field.value;
function titleOf(record) {
  for (const name of ["title", "name", "label", "subject"]) if (isText(record.fields[name])) return record.fields[name].value;
  return Object.values(record.fields).find(isText)?.value.slice(0, 80) || record.recordType;
}

function article(view, record, depth) {
  const heading = element("h2", { tabIndex: -1, textContent: titleOf(record), dir: "auto" });
  const made = element("article", { className: `depth-${Math.min(depth, 3)}` }, heading, fieldList(view, record));
  made.dataset.record = record.recordName;
  const names = editable(record);
  if (view.canEdit && names.length > 0) {
    const edit = button(`Edit`, async () => made.replaceChildren(heading, form(view, record, names)), { className: "edit" });
    edit.setAttribute("aria-label", `Edit ${titleOf(record)}`);
    made.append(edit);
  }
  return made;
}

function fieldList(view, record) {
  const rows = Object.entries(record.fields).flatMap(([name, field]) => [
    element("dt", {}, name, ...(field.isEncrypted ? [" ", element("span", { className: "quiet", title: "The cloud cannot read it" }, "encrypted")] : [])),
    element("dd", { dir: "auto" }, ...shown(view, field)),
  ]);
  return element("dl", {}, ...rows);
}

function shown(view, field) {
  const { value } = field;
  if (value === null || value === undefined) return ["—"];
  if (field.isEncrypted && field.type === "ENCRYPTED_BYTES") return ["Encrypted: sign in with keys to read it."];
  const one = (item) => {
    switch (field.type?.replace("_LIST", "")) {
      case "TIMESTAMP": return new Date(item).toLocaleString();
      case "LOCATION": return `${item.latitude}, ${item.longitude}`;
      case "REFERENCE": return item.recordName;
      case "BYTES": return `${Math.floor((item.length * 3) / 4)} bytes`;
      case "ASSETID": return fileButton(view, item);
      default: return String(item);
    }
  };
  return Array.isArray(value) ? value.flatMap((item, index) => (index > 0 ? [", ", one(item)] : [one(item)])) : [one(value)];
}

function fileButton(view, asset) {
  return button("Download", async () => {
    const file = await view.database.fetchAsset(asset);
    const link = element("a", { href: URL.createObjectURL(file), download: "file" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    say("The file was fetched and verified.");
  }, { className: "file" });
}

// --- Editing

const kinds = { STRING: "text", INT64: "number", DOUBLE: "number", TIMESTAMP: "datetime-local" };
const editable = (record) => Object.entries(record.fields).filter(([, field]) => kinds[field.type] && field.value !== null).map(([name]) => name);
const localTime = (milliseconds) => new Date(milliseconds - new Date(milliseconds).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);

function form(view, record, names) {
  const inputs = names.map((name) => {
    const field = record.fields[name];
    const type = kinds[field.type];
    const value = type === "datetime-local" ? localTime(field.value) : String(field.value);
    return element("input", { name, type, value, step: field.type === "INT64" || type === "datetime-local" ? "1" : "any" });
  });
  const labels = inputs.map((input) => element("label", {}, input.name, input));
  const save = element("button", { type: "submit", textContent: "Save" });
  const made = element("form", {}, ...labels, element("p", {}, save, " ", button("Cancel", async () => close(), { className: "secondary" })));
  const close = () => {
    made.remove();
    draw(view);
    view.list.querySelector(`article[data-record="${CSS.escape(record.recordName)}"] button.edit`)?.focus();
  };
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    save.disabled = true;
    attempt(async () => {
      const fields = {};
      for (const input of inputs) {
        const field = record.fields[input.name];
        const value = input.type === "number" ? Number(input.value) : input.type === "text" ? input.value : new Date(input.value).getTime();
        const isSame = input.type === "datetime-local" ? input.value === localTime(field.value) : value === field.value;
        if (!isSame) fields[input.name] = { ...field, value };
      }
      if (Object.keys(fields).length > 0) await saveFields(view, record, fields);
      else say("");
      close();
    }).finally(() => (save.disabled = false));
  });
  setTimeout(() => inputs[0].focus());
  return made;
}

async function saveFields(view, record, fields) {
  const { recordName, recordType, recordChangeTag } = record;
  const response = await view.database.saveRecords({ recordName, recordType, recordChangeTag, fields }, { zoneID: view.info.zoneID });
  if (response.hasErrors) {
    const [error] = response.errors;
    if (error.ckErrorCode !== "CONFLICT") throw error;
    await load(view);
    return say(explanation(error));
  }
  view.records.set(recordName, response.records[0]);
  say("Saved.");
}

// --- The beginning

async function begin() {
  if (!globalThis.crypto?.subtle || !globalThis.indexedDB) {
    document.getElementById("app").open = true;
    return say(isSecureContext ? "This browser offers no encryption, which this page needs. Open the link in another browser, or in an app."
      : "The browser offers no encryption to pages without HTTPS. Open the link by an address that begins with https, or in an app.");
  }
  const [{ CloudKit }, encryption] = await Promise.all([import(place.dataset.library), import(place.dataset.encryption)]);
  const fragment = location.hash.slice(1);
  if (fragment) {
    try {
      encryption.readFragment(fragment);
    } catch {
      return say("The part of the link after the # was cut or changed. Ask for the whole link.");
    }
  }
  CloudKit.configure({ encryption, containers: [{ containerIdentifier: place.dataset.container, environment: place.dataset.environment, apiTokenAuth: { apiToken: place.dataset.token } }] });
  container = CloudKit.getDefaultContainer();
  const user = await container.setUpAuth();
  if (user) return open();
  show(...signInForm());
}

addEventListener("hashchange", () => location.reload());
addEventListener("online", () => (retry ? retry() : lookNow?.()));
attempt(begin);
