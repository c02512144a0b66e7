"use strict";

// Asks before a form that cannot be undone; the pages work without this script, since such forms have a page of their own to confirm.
for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

// A form that only chooses what is shown is sent as soon as a choice changes.
for (const choice of document.querySelectorAll("form.view.at-once select")) {
  choice.addEventListener("change", () => choice.form.requestSubmit());
}

// A file is read into a field, which is what the form sends.
for (const part of document.querySelectorAll("[data-reads-into]")) {
  const field = document.getElementById(part.dataset.readsInto);
  const input = part.querySelector("input[type=file]");
  if (!field || !input) continue;
  part.hidden = false;
  input.addEventListener("change", async () => {
    if (input.files.length > 0) field.value = await input.files[0].text();
  });
}

// The password stays here: the cloud gets a proof that is derived from it.
async function deriveProof(password, salt, rounds) {
  const utf8 = (text) => new TextEncoder().encode(text);
  const bytes = Uint8Array.from(atob(salt), (letter) => letter.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", utf8(password.normalize("NFKC")), "PBKDF2", false, ["deriveBits"]);
  const root = await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt: bytes, iterations: rounds }, key, 256);
  const rootKey = await crypto.subtle.importKey("raw", root, "HKDF", false, ["deriveBits"]);
  const proof = await crypto.subtle.deriveBits(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8("welkin account proof 1") }, rootKey, 256);
  return btoa(String.fromCharCode(...new Uint8Array(proof)));
}

for (const form of document.querySelectorAll("form[data-sign-in]")) {
  const message = form.querySelector("[role=status]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    message.textContent = "One moment…";
    try {
      if (!globalThis.crypto || !crypto.subtle) throw new Error("Signing in works over HTTPS, or on this very machine.");
      const response = await fetch(form.dataset.signIn, { method: "POST", body: new URLSearchParams({ email: form.elements.email.value }) });
      if (!response.ok) throw new Error("The cloud could not sign you in.");
      const { salt, rounds } = await response.json();
      form.elements.proof.value = await deriveProof(document.getElementById("password").value, salt, rounds);
      HTMLFormElement.prototype.submit.call(form);
    } catch (error) {
      message.textContent = error.message;
      button.disabled = false;
    }
  });
}
