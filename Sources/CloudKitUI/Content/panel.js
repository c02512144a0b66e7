// The page of a sharing panel: draws what the app answers, and sends what the person does.

const find = (id) => document.getElementById(id);
const sessionKey = "session";
let session = sessionStorage.getItem(sessionKey);
let shown = null;
let isOver = false;
// One request at a time, in the order of the person's actions.
let turn = Promise.resolve();

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function say(text, { remedy, isProblem } = {}) {
  const old = find("message").textContent;
  const next = make("p", { className: isProblem ? "problem" : "" }, text);
  if (remedy) next.append(make("span", { className: "remedy" }, remedy));
  if (old !== next.textContent) find("message").replaceChildren(...(text ? [next] : []));
}

/** Ends the page: nothing of it can be used any more. */
function end(title, text, isProblem = true) {
  isOver = true;
  sessionStorage.removeItem(sessionKey);
  for (const part of document.querySelectorAll("main > section, footer")) part.hidden = true;
  find("title").textContent = title;
  find("subtitle").textContent = "";
  say(text, { isProblem });
  find("panel").setAttribute("aria-busy", "false");
  find("title").focus();
}

async function post(path, body, keepalive = false) {
  const headers = { "Content-Type": "application/json" };
  if (session) headers.Authorization = `Bearer ${session}`;
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body), keepalive, cache: "no-store" });
}

/** Exchanges the secret of the address for a session; the address loses it. */
async function begin() {
  const secret = location.hash.slice(1);
  history.replaceState(null, "", "/");
  if (!secret) return Boolean(session);
  const answer = await post("/session", { secret });
  if (answer.status === 410) {
    end("This link was used", "The panel is open in another tab, or another program opened its link. Close it, and open the panel again from the app.");
    return false;
  }
  if (!answer.ok) return Boolean(session);
  session = (await answer.json()).session;
  sessionStorage.setItem(sessionKey, session);
  return true;
}

function act(form) {
  turn = turn.then(async () => {
    if (isOver) return;
    const isQuiet = form.action === "refresh";
    if (!isQuiet) find("panel").setAttribute("aria-busy", "true");
    try {
      const answer = await post("/panel", form);
      if (answer.status === 401) {
        end("This panel is closed", "Open it again from the app.");
      } else if (!answer.ok) {
        say("The panel could not do that.", { isProblem: true, remedy: "Reload the page, and try again." });
      } else {
        draw(await answer.json());
      }
      if (form.action === "close") finish();
    } catch {
      if (form.action === "close") finish();
      else end("This panel is closed", "The app has ended, or has closed the panel. Open it again from the app.");
    }
    find("panel").setAttribute("aria-busy", "false");
  });
  return turn;
}

function finish() {
  end("Done", "You can close this tab.", false);
  window.close();
}

/** Answers the question that is open. */
let answer;

/** Returns whether the person says yes. A question that another one follows is answered with no. */
function ask(text) {
  answer?.(false);
  find("question-text").textContent = text;
  const dialog = find("question");
  dialog.returnValue = "no";
  dialog.showModal();
  find("question-no").focus();
  return new Promise((done) => { answer = done; });
}

find("question").addEventListener("close", ({ target: dialog }) => {
  // The event of an earlier question may come when the next one is open.
  if (dialog.open) return;
  answer?.(dialog.returnValue === "yes");
  answer = undefined;
});

// MARK: Drawing

function fillSelect(select, choices, value) {
  select.replaceChildren(...choices.map((choice) => make("option", { value: choice.name, selected: choice.name === value }, choice.title)));
}

function button(id, text, action, name) {
  const element = make("button", { type: "button", id, onclick: action }, text);
  // Several buttons of a list have the same text.
  if (name) element.setAttribute("aria-label", `${text}: ${name}`);
  return element;
}

function named(person, status) {
  const parts = [person.address, status].filter(Boolean).join(" · ");
  return make("div", {}, make("p", { className: "name" }, person.name), ...(parts ? [make("p", { className: "status" }, parts)] : []));
}

function personRow(person, content) {
  const row = make("li", {}, named(person, person.canSetPermission ? person.status : [person.status, person.permissionTitle].filter(Boolean).join(" · ")));
  const controls = make("div", { className: "controls" });
  if (person.canSetPermission) {
    const select = make("select", { id: `permission-${person.id}`, onchange: () => act({ action: "setPermission", person: person.id, permission: select.value }) });
    select.setAttribute("aria-label", `What ${person.name} may do`);
    const choices = content.permissions.some((choice) => choice.name === person.permission)
      ? content.permissions : [{ name: person.permission ?? "", title: person.permissionTitle ?? "No permission" }, ...content.permissions];
    fillSelect(select, choices, person.permission);
    controls.append(select);
  }
  if (person.canRemove) {
    controls.append(button(`remove-${person.id}`, "Remove", async () => {
      if (await ask(`Remove ${person.name}? They cannot open this any more.`)) act({ action: "remove", person: person.id });
    }, person.name));
  }
  if (controls.childElementCount) row.append(controls);
  if (person.isInviting !== undefined && person.isInviting !== null) {
    const box = make("input", { type: "checkbox", id: `inviting-${person.id}`, checked: person.isInviting,
      onchange: () => act({ action: "setInviting", person: person.id, isOn: box.checked }) });
    row.append(make("div", { className: "wide" }, make("label", { className: "check" }, box, `${person.name} may invite others`)));
  }
  if (person.oneTimeLink) {
    const field = make("input", { id: `one-time-${person.id}`, readOnly: true, value: person.oneTimeLink });
    row.append(make("div", { className: "wide" }, make("div", { className: "field" },
      make("label", { htmlFor: field.id }, "Its address"), field, button(`copy-${person.id}`, "Copy", () => copy(field), "one-time link"))));
  }
  return row;
}

function requesterRow(person, content) {
  return make("li", {}, named(person), make("div", { className: "controls" },
    ...(content.offersInvitation ? [button(`approve-${person.id}`, "Let in", () => act({ action: "approve", person: person.id, permission: find("permission").value || content.permission }), person.name)] : []),
    button(`deny-${person.id}`, "Not now", () => act({ action: "deny", person: person.id }), person.name),
    button(`block-${person.id}`, "Block", async () => {
      if (await ask(`Block ${person.name}? They cannot ask again, and lose the access that they have.`)) act({ action: "block", person: person.id });
    }, person.name)));
}

function drawCode(link) {
  if (!link?.side) return find("code").hidden = true;
  find("code").hidden = false;
  const space = "http://www.w3.org/2000/svg";
  const image = document.createElementNS(space, "svg");
  image.setAttribute("viewBox", `0 0 ${link.side} ${link.side}`);
  image.setAttribute("role", "img");
  image.setAttribute("aria-label", "The link as a QR code");
  image.setAttribute("shape-rendering", "crispEdges");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", link.path);
  path.setAttribute("fill", "#000000");
  image.append(path);
  find("code-image").replaceChildren(image);
}

/** Shows the panel's content; the focus stays where it was, or goes to the message. */
function draw(content) {
  if (shown?.version === content.version) return;
  const focused = document.activeElement;
  const isFirst = !shown;
  const isNew = content.phase === "new";
  const isShared = content.phase === "shared";
  shown = content;
  document.title = `Share: ${content.title}`;
  find("title").textContent = content.title;
  find("subtitle").textContent = content.subtitle;
  find("thumbnail").hidden = !content.thumbnail;
  if (content.thumbnail) find("thumbnail").src = content.thumbnail;

  find("requests").hidden = !content.requesters.length;
  find("requester-list").replaceChildren(...content.requesters.map((person) => requesterRow(person, content)));

  find("access").hidden = !content.access;
  find("access-choice").hidden = content.accessChoices.length < 2;
  find("access-text").hidden = content.accessChoices.length >= 2;
  find("access-text").textContent = content.accessTitle ?? "";
  const chosen = isNew && !isFirst && find("access-select").value ? find("access-select").value : content.access;
  fillSelect(find("access-select"), content.accessChoices, chosen);

  find("people").hidden = !content.people.length;
  find("people-list").replaceChildren(...content.people.map((person) => personRow(person, content)));

  const permission = find("permission").value || content.permission;
  fillSelect(find("permission"), content.permissions, content.permissions.some((choice) => choice.name === permission) ? permission : content.permission);
  find("permission-choice").hidden = content.permissions.length < 2;
  find("one-time-button").hidden = !content.offersOneTimeLinks;
  find("invite-button").hidden = isNew;
  find("earlier").hidden = !content.earlier.length;
  find("earlier-list").replaceChildren(...content.earlier.map((person) => make("li", {},
    button(`earlier-${person.id}`, [person.name, person.address].filter(Boolean).join(" · "), () => act({ action: "inviteEarlier", person: person.id, permission: find("permission").value || content.permission })))));
  find("start").hidden = !isNew;
  drawInvitation();

  find("link").hidden = !isShared || (!content.link && !content.linkNote);
  find("link-content").hidden = !content.link;
  find("link-address").value = content.link?.address ?? "";
  find("link-note").textContent = content.linkNote ?? "";
  drawCode(content.link);

  find("request-setting").hidden = typeof content.allowsAccessRequests !== "boolean";
  find("requests-allowed").checked = content.allowsAccessRequests === true;
  find("blocked").hidden = !content.blocked.length;
  find("blocked-list").replaceChildren(...content.blocked.map((person) => make("li", {}, named(person), make("div", { className: "controls" },
    button(`unblock-${person.id}`, "Unblock", () => act({ action: "unblock", person: person.id }), person.name)))));

  find("end-button").hidden = !content.ending;
  find("end-button").textContent = content.ending?.title ?? "";
  find("done-button").hidden = false;
  say(content.message?.text ?? "", { remedy: content.message?.remedy, isProblem: content.message?.isProblem });

  const again = focused?.id && find(focused.id);
  if (isFirst) (content.beginsWithInvitation && !find("invite").hidden ? find("addresses") : find("title")).focus();
  else if (again && again.getClientRects().length) { if (document.activeElement !== again) again.focus(); }
  else find("message").focus();
}

/** Whether people can be added depends on who can join. */
function drawInvitation() {
  const isInvited = (shown.accessChoices.length < 2 ? shown.access : find("access-select").value) === "invited";
  const isOffered = shown.phase === "new" ? isInvited && shown.offersInvitation : shown.offersInvitation;
  find("invite").hidden = !isOffered;
}

// MARK: Acting

async function copy(field) {
  try {
    await navigator.clipboard.writeText(field.value);
    say("The link was copied.");
  } catch {
    field.focus();
    field.select();
    say("The browser does not let the page copy.", { isProblem: true, remedy: "The link is selected: copy it with Ctrl+C." });
  }
}

async function chooseAccess() {
  drawInvitation();
  if (shown.phase === "new") return;
  const access = find("access-select").value;
  const question = access === "invited" ? "Everyone who joined through the link loses access. Go on?"
    : shown.access === "invited" ? "Invitations that nobody has accepted end. Go on?" : null;
  if (question && !(await ask(question))) find("access-select").value = shown.access;
  else act({ action: "setAccess", access });
}

async function submit(event) {
  event?.preventDefault();
  const form = { addresses: find("addresses").value, permission: find("permission").value || shown.permission };
  if (shown.phase === "new") {
    const access = shown.accessChoices.length < 2 ? shown.access : find("access-select").value;
    await act({ action: "start", access, ...form, addresses: access === "invited" ? form.addresses : "" });
  } else {
    await act({ action: "invite", ...form });
  }
  // What was not accepted stays to be corrected.
  if (shown.message && !shown.message.isProblem) find("addresses").value = "";
}

find("invite-form").addEventListener("submit", submit);
find("start-button").addEventListener("click", submit);
find("one-time-button").addEventListener("click", () => act({ action: "addOneTimeLink", permission: find("permission").value || shown.permission }));
find("access-select").addEventListener("change", chooseAccess);
find("copy-button").addEventListener("click", () => copy(find("link-address")));
find("link-address").addEventListener("focus", (event) => event.target.select());
find("requests-allowed").addEventListener("change", (event) => act({ action: "setAccessRequests", isOn: event.target.checked }));
find("end-button").addEventListener("click", async () => {
  if (await ask(shown.endingQuestion)) act({ action: shown.ending.name });
});
find("done-button").addEventListener("click", () => act({ action: "close" }));
// The app may go on a few seconds after the tab has gone, unless it is loaded again.
addEventListener("pagehide", () => { if (session && !isOver) post("/closing", {}, true); });

// A tab that is not seen asks seldom; when it is seen again, it asks at once and goes on as before.
let next;
const pause = () => (document.visibilityState === "visible" ? 4000 : 45000);
function follow() {
  clearTimeout(next);
  next = setTimeout(refresh, pause());
}

async function refresh() {
  if (isOver) return;
  await act({ action: "refresh" });
  follow();
}

addEventListener("visibilitychange", () => { if (document.visibilityState === "visible" && shown) refresh(); });

try {
  if (await begin()) {
    await refresh();
  } else if (!isOver) {
    end("This panel is not open here", "It is open in another tab, or was closed. Open it again from the app.");
  }
} catch {
  end("This panel is closed", "The app has ended, or has closed the panel. Open it again from the app.");
}
