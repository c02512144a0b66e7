"use strict";

const panel = document.getElementById("notifications");
const place = panel.dataset;
const key = `${place.container} ${place.environment}`;
const form = document.getElementById("sign-in");
const button = document.getElementById("switch");
const message = document.getElementById("message");
const say = (text) => { message.textContent = text; };

// The tab forgets who is signed in; the browser remembers under which token it is known.
const known = JSON.parse(localStorage.getItem(key) || "{}");
const remember = () => localStorage.setItem(key, JSON.stringify(known));

class Refusal extends Error {
  constructor(status, answer) {
    super((answer.reason || "The cloud could not do that") + ".");
    this.needsSignIn = status === 401 || status === 421;
  }
}

async function ask(action, body) {
  const query = new URLSearchParams({ ckAPIToken: place.token });
  const token = sessionStorage.getItem(key);
  if (token) query.set("ckWebAuthToken", token);
  const path = `/device/1/${encodeURIComponent(place.container)}/${place.environment}/tokens/${action}`;
  const response = await fetch(`${path}?${query}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body || {}) });
  const next = response.headers.get("X-Apple-CloudKit-Web-Auth-Token");
  if (next && token) sessionStorage.setItem(key, next);
  const answer = await response.json();
  if (!response.ok) throw new Refusal(response.status, answer);
  return answer;
}

const keyBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const sameBytes = (left, right) =>
  left && left.byteLength === right.byteLength && new Uint8Array(left).every((byte, index) => byte === right[index]);

// The browser's subscription to this cloud; one to an earlier key of the cloud is of no use any more.
async function subscription(registration, serverKey, isWanted) {
  let held = await registration.pushManager.getSubscription();
  if (held && !sameBytes(held.options.applicationServerKey, serverKey)) {
    await held.unsubscribe();
    held = null;
  }
  if (held || !isWanted) return held;
  return registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: serverKey });
}

async function tell(held) {
  known.clientId = known.clientId || crypto.randomUUID();
  const push = { service: "webPush", subscription: held.toJSON() };
  const body = { apnsEnvironment: place.environment, clientId: known.clientId, push };
  const answer = known.apnsToken
    ? await ask("register", { ...body, apnsToken: known.apnsToken }) : await ask("create", body);
  known.apnsToken = answer.apnsToken;
  remember();
}

async function turnOn(registration, serverKey) {
  if (await Notification.requestPermission() !== "granted") {
    throw new Error("Notifications are blocked for this page in the browser's settings.");
  }
  await tell(await subscription(registration, serverKey, true));
}

async function turnOff(registration) {
  await ask("delete", { apnsToken: known.apnsToken });
  delete known.apnsToken;
  remember();
  // Other apps of this cloud may be told of by the same subscription.
  const others = Object.values(localStorage).some((text) => text.includes('"apnsToken"'));
  const held = others ? null : await registration.pushManager.getSubscription();
  if (held) await held.unsubscribe();
}

function show(isOn) {
  form.hidden = true;
  button.hidden = false;
  button.disabled = false;
  button.dataset.on = isOn ? "true" : "";
  button.textContent = isOn ? "Turn off" : "Turn on";
  say(isOn ? "Notifications are on." : "Notifications are off.");
}

function showSignIn(text) {
  button.hidden = true;
  form.hidden = false;
  form.querySelector("button").disabled = false;
  say(text);
}

async function begin() {
  if (!navigator.serviceWorker || !globalThis.PushManager || !globalThis.Notification) {
    return say(isSecureContext
      ? "This browser takes no notifications while pages are closed. On a phone, it may do so once the page is on the home screen."
      : "Notifications work over HTTPS, or on this very machine.");
  }
  const offered = (await ask("services")).services.find((service) => service.service === "webPush");
  if (!offered) return say("This cloud sends no notifications to browsers; its operator can switch that on.");
  const serverKey = keyBytes(offered.applicationServerKey);
  const registration = await navigator.serviceWorker.register("/notifications-worker.js", { scope: "/notifications" });
  const attempt = async (act) => {
    try {
      await act();
    } catch (error) {
      if (error.needsSignIn) {
        sessionStorage.removeItem(key);
        showSignIn("Sign in to change it.");
      } else {
        button.disabled = false;
        say(error.message);
      }
    }
  };
  const look = () => attempt(async () => {
    const held = known.apnsToken && Notification.permission === "granted"
      ? await subscription(registration, serverKey, false) : null;
    // Said again at every visit, so that the cloud knows it is still wanted.
    if (held) await tell(held);
    show(Boolean(held));
  });
  button.addEventListener("click", () => attempt(async () => {
    button.disabled = true;
    say("One moment…");
    const wasOn = Boolean(button.dataset.on);
    await (wasOn ? turnOff(registration) : turnOn(registration, serverKey));
    show(!wasOn);
  }));
  document.addEventListener("signed-in", (event) => {
    sessionStorage.setItem(key, event.detail);
    look();
  });
  if (sessionStorage.getItem(key)) return look();
  showSignIn(known.apnsToken ? "Sign in to change or renew them." : "Sign in to turn them on.");
}

begin().catch((error) => say(error.message));
