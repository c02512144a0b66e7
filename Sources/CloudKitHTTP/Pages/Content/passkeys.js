/** Passkeys on the pages of the cloud: signing in with one, making one, and the key from its PRF that opens the account's secret (docs/encryption.md). */

const utf8 = (text) => new TextEncoder().encode(text);
const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const toBase64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));
/** One for all accounts: an authenticator's answer differs for each passkey. */
const evaluation = { prf: { eval: { first: utf8("welkin passkey prf 1") } } };

/** Whether the browser has passkeys at this address: they are bound to names of hosts. */
export const isAvailable = () => Boolean(globalThis.PublicKeyCredential) && isSecureContext && /[^0-9.:[\]]/.test(location.hostname);

function explained(error) {
  if (error.name === "NotAllowedError") return new Error("No passkey was used: the browser had none for this cloud, or it was cancelled.", { cause: error });
  if (error.name === "InvalidStateError") return new Error("This authenticator has a passkey for the account already.", { cause: error });
  return error;
}

/** The key that wraps the account's secret; null of an authenticator without PRF. `hkdf` is that of welkin-encryption.js. */
async function wrappingKeyOf(credential, hkdf) {
  const output = credential.getClientExtensionResults().prf?.results?.first;
  return output ? hkdf(new Uint8Array(output), "welkin passkey wrap 1") : null;
}

const get = (options) => navigator.credentials.get({ publicKey: { userVerification: "required", extensions: evaluation, ...options } }).catch((error) => Promise.reject(explained(error)));

/**
 * Uses a passkey.
 *
 * @param {{challenge: string, party: string, known?: string[]}} beginning The answer to `passkeys/begin`.
 * @returns {Promise<{passkey: object, wrappingKey: Uint8Array|null}>} What a request carries, and the key that never leaves the page.
 */
export async function use(beginning, hkdf) {
  const allowCredentials = (beginning.known || []).map((id) => ({ type: "public-key", id: fromBase64(id) }));
  const credential = await get({ challenge: fromBase64(beginning.challenge), rpId: beginning.party, allowCredentials });
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  const passkey = { id: toBase64(credential.rawId), clientData: toBase64(clientDataJSON), authenticatorData: toBase64(authenticatorData), signature: toBase64(signature) };
  if (userHandle?.byteLength) passkey.userHandle = toBase64(userHandle);
  return { passkey, wrappingKey: await wrappingKeyOf(credential, hkdf) };
}

/**
 * Makes a passkey.
 *
 * @param {object} beginning The answer to `passkeys/begin` for a registration.
 * @returns {Promise<{body: object, wrappingKey: Uint8Array|null}>}
 */
export async function make({ challenge, party, user, email, name, known }, hkdf) {
  const credential = await navigator.credentials.create({
    publicKey: {
      challenge: fromBase64(challenge), rp: { id: party, name: party }, user: { id: fromBase64(user), name: email, displayName: name || email },
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: "public-key", alg })), attestation: "none",
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      excludeCredentials: known.map((id) => ({ type: "public-key", id: fromBase64(id) })), extensions: evaluation,
    },
  }).catch((error) => Promise.reject(explained(error)));
  const body = { clientData: toBase64(credential.response.clientDataJSON), attestation: toBase64(credential.response.attestationObject) };
  let wrappingKey = await wrappingKeyOf(credential, hkdf);
  // Many authenticators compute the PRF at a use only. This use proves nothing to anybody: its challenge is the page's own.
  if (!wrappingKey && credential.getClientExtensionResults().prf?.enabled) {
    const used = await get({ challenge: crypto.getRandomValues(new Uint8Array(32)), rpId: party, allowCredentials: [{ type: "public-key", id: credential.rawId }] });
    wrappingKey = await wrappingKeyOf(used, hkdf);
  }
  return { body, wrappingKey };
}

/**
 * Opens the account's secret for a page of an app, in the form that `adopt` of welkin-encryption.js takes; no script can read the keys out.
 *
 * @param {object} session The answer to `sessions/create`.
 */
export async function appKeys(encryption, session, wrappingKey, { container, environment }) {
  const { ckWebAuthToken, userRecordName, keychain, email } = session;
  if (!keychain?.passkeyWrap || !wrappingKey) {
    const withheld = session.withholdsKeychain ? "The account's owner lets no browser read encrypted data (welkin keychain web on)."
      : "The passkey signs in, and does not open the account's keys. Sign in with the password to hand keys over.";
    return { ckWebAuthToken, userRecordName, withheld };
  }
  const secret = await encryption.openAccountSecret(wrappingKey, fromBase64(keychain.passkeyWrap), "passkey", email);
  const identity = await encryption.publicIdentity(fromBase64(keychain.identity));
  const keys = await encryption.identityKeys(secret);
  if (!encryption.same(keys.signing, identity.signing) || !encryption.same(keys.agreement, identity.agreement)) throw new Error("The cloud shows other keys than the account's.");
  const root = await crypto.subtle.importKey("raw", await encryption.containerRoot(secret, container, environment), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return { ckWebAuthToken, userRecordName, account: { root, signingKey: keys.signingKey, agreementKey: keys.agreementKey, identity: identity.bytes } };
}
