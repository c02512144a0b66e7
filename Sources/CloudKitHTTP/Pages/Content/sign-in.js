"use strict";

const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const utf8 = (text) => new TextEncoder().encode(text);

// The password stays here: the cloud gets a proof that is derived from it and keeps a hash of that.
async function deriveProof(password, salt, rounds) {
  const key = await crypto.subtle.importKey("raw", utf8(password.normalize("NFKC")), "PBKDF2", false, ["deriveBits"]);
  const root = await crypto.subtle.deriveBits(
    { name: "PBKDF2", hash: "SHA-256", salt: bytes(salt), iterations: rounds }, key, 256);
  const rootKey = await crypto.subtle.importKey("raw", root, "HKDF", false, ["deriveBits"]);
  const proof = await crypto.subtle.deriveBits(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8("welkin account proof 1") }, rootKey, 256);
  return base64(proof);
}

async function post(data, action, body) {
  const path = `/device/1/${encodeURIComponent(data.container)}/${data.environment}/${action}`;
  const response = await fetch(`${path}?ckAPIToken=${encodeURIComponent(data.token)}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) {
    const wait = answer.retryAfter ? ` Try again in ${Math.ceil(answer.retryAfter)} seconds.` : "";
    throw new Error((answer.reason || "The cloud could not sign you in") + "." + wait);
  }
  return answer;
}

// The origin of the page that opened this window and asks for keys, if the app's token names it: keys go to an exact origin alone.
function askingOrigin(data) {
  const asked = location.hash.startsWith("#keys=") ? location.hash.slice(6) : "";
  return window.opener && !data.callback && data.origins?.split(" ").includes(asked) ? asked : "";
}

// Signs in with the account's keys, which no script can read out; nothing of them is kept in this window.
async function openWithKeys(data, email, password, isKept) {
  const encryption = await import(data.encryption);
  const { container, environment } = data;
  return encryption.signIn({ container, environment, isKept, device: (action, body) => post(data, action, body) }, { email, password });
}

function handOverKeys(origin, made) {
  window.opener.postMessage({ ...made, ckSession: made.ckWebAuthToken }, origin);
  window.close();
  return "You are signed in. You can close this window.";
}

// Hands the token to the page itself where that is one of the cloud's own, or to the app: by address where its token names one, else to the page that opened this one.
function handOver(data, token) {
  if (data.stays) {
    document.dispatchEvent(new CustomEvent("signed-in", { detail: token }));
    return "";
  }
  if (data.callback) {
    const address = new URL(data.callback);
    address.searchParams.set("ckWebAuthToken", token);
    address.searchParams.set("ckSession", token);
    location.replace(address);
    return "You are signed in. One moment…";
  }
  if (window.opener) {
    const origins = data.origins ? data.origins.split(" ") : ["*"];
    for (const origin of origins) {
      window.opener.postMessage({ ckWebAuthToken: token, ckSession: token, withheld: keysWithheld(data) }, origin);
    }
    window.close();
  }
  return "You are signed in. You can close this window.";
}

// Why a page that asked gets no keys; only the page for signing up has rounds.
function keysWithheld(data) {
  if (data.rounds) return "The account has no keys yet: its first device makes them (welkin login).";
  return askingOrigin(data) ? "This page was given no keys in the window for signing in. Sign in again, and agree there."
    : "The window for signing in gives keys only to pages whose origin the API token names (welkin token create --origin).";
}

async function signIn(form, data) {
  const email = form.elements.email.value;
  if (form.elements.keys?.checked) {
    const made = await openWithKeys(data, email, form.elements.password.value, form.elements.persist.checked);
    return handOverKeys(askingOrigin(data), made);
  }
  const puzzle = await post(data, "sessions/prepare", { email });
  const proof = await deriveProof(form.elements.password.value, puzzle.salt, puzzle.rounds);
  const lifetime = form.elements.persist?.checked ? "persistent" : "session";
  const session = await post(data, "sessions/create", { email, proof, deviceName: "Browser", lifetime });
  return handOver(data, session.ckWebAuthToken);
}

// Signs in with a passkey. Keys for the page that asks open by the passkey alone, and only if its authenticator has a PRF.
async function signInWithPasskey(form, data) {
  const passkeys = await import(data.passkeys);
  const encryption = await import(data.encryption);
  const { passkey, wrappingKey } = await passkeys.use(await post(data, "passkeys/begin", { purpose: "signIn" }), encryption.hkdf);
  const handsKeys = form.elements.keys.checked;
  const lifetime = form.elements.persist.checked ? "persistent" : "session";
  const session = await post(data, "sessions/create", { passkey, deviceName: "Browser", lifetime, wantsKeychain: handsKeys });
  if (!handsKeys) return handOver(data, session.ckWebAuthToken);
  return handOverKeys(askingOrigin(data), await passkeys.appKeys(encryption, session, wrappingKey, data));
}

// Leaves for the provider of identities; the page comes back with a ticket.
async function leaveForProvider(form, data) {
  const provider = await import(data.providerScript);
  await provider.leave((action, body) => post(data, action, body), data.provider);
  return "One moment…";
}

// Signs in with the ticket with which the person came back. A provider's word opens no keys: the page that asks gets a session.
async function signInWithTicket(data, answer) {
  if (!answer.hasAccount) {
    const provider = await import(data.providerScript);
    provider.keepTicket(answer);
    location.assign("/account");
    return "You have no account at this cloud yet. One moment…";
  }
  const session = await post(data, "sessions/create", { ticket: answer.ticket, deviceName: "Browser", lifetime: "session" });
  return handOver(data, session.ckWebAuthToken);
}

// Makes an account, then signs in to it. The salt is made here, so that no cloud can choose it.
async function signUp(form, data) {
  const { email, name, password, again } = form.elements;
  if (password.value !== again.value) throw new Error("The two passwords differ.");
  const salt = base64(crypto.getRandomValues(new Uint8Array(16)));
  const rounds = Math.max(Number(data.rounds), 1);
  const proof = await deriveProof(password.value, salt, rounds);
  const account = { email: email.value, name: name.value, proof, salt, rounds };
  if (data.invited) {
    await post(data, "accounts/create", { ...account, invitation: linkCode() });
    return `Your account is made. Sign in on your devices (welkin login --email ${email.value}), in apps, or on the page ${location.origin}/account.`;
  }
  await post(data, "accounts/create", account);
  return signIn(form, data);
}

// Proves the address of an account: the code came by mail.
async function proveAddress(form, data) {
  const { email } = await post(data, "accounts/address", { code: linkCode() });
  return `The address ${email} is yours now. You can close this page.`;
}

// The code behind the # of a link that was sent to a person; it goes to the cloud in a request's body alone.
function linkCode() {
  const code = location.hash.slice(1);
  if (!/^[0-9a-f]{32}$/.test(code)) throw new Error("This link is not complete: the code behind the # is missing. Copy all of it.");
  return code;
}

// Shows an invited person which cloud it is, and the command for a device. The link holds nothing that a shell could misread.
function showInvitation() {
  document.getElementById("cloud").textContent = location.host;
  const link = `${location.origin}/invitation#${linkCode()}`;
  document.getElementById("command").textContent = `welkin sign-up --invitation '${link}' --email ADDRESS`;
}

if (typeof document !== "undefined") {
  const form = document.getElementById("sign-in") || document.getElementById("sign-up") || document.getElementById("prove");
  const act = { "sign-in": signIn, "sign-up": signUp, prove: proveAddress }[form.id];
  const message = document.getElementById("message");
  const button = form.querySelector("button");
  if (!globalThis.crypto || !crypto.subtle) {
    message.textContent = "The browser offers no encryption to pages without HTTPS. Open this page by an address that begins with https.";
    button.disabled = true;
  }
  const asking = document.getElementById("asking") && askingOrigin(form.dataset);
  if (asking) {
    document.getElementById("asking").textContent = asking;
    document.getElementById("keys").hidden = false;
  }
  if (form.dataset.invited) {
    try {
      showInvitation();
    } catch (error) {
      message.textContent = error.message;
    }
  }
  const attempt = async (step) => {
    button.disabled = true;
    message.textContent = "One moment…";
    try {
      const text = await step(form, form.dataset);
      if (text) message.textContent = text;
      form.hidden = true;
    } catch (error) {
      message.textContent = error.message;
      button.disabled = false;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(act);
  });
  if (form.dataset.provider) {
    document.getElementById("use-provider").addEventListener("click", () => attempt(leaveForProvider));
    import(form.dataset.providerScript).then(({ takeTicket }) => {
      const answer = takeTicket();
      if (answer) attempt((_, data) => signInWithTicket(data, answer));
    });
  }
  if (form.dataset.passkeys) {
    import(form.dataset.passkeys).then(({ isAvailable }) => {
      const passkey = document.getElementById("use-passkey");
      passkey.hidden = !isAvailable();
      passkey.addEventListener("click", () => attempt(signInWithPasskey));
    });
  }
}
