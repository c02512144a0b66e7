/** Approval by another device: what the device that asks for an account's keys and the one that gives them compute (docs/encryption.md). Bytes of the account's secret are in no script's hands. */

const utf8 = (text) => new TextEncoder().encode(text);
const random = () => crypto.getRandomValues(new Uint8Array(32));
const hash = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
const sealedSize = 81;

const commitmentOf = (encryption, publicKey, nonce) => hash(encryption.frame("welkin key request 1", publicKey, nonce));

/**
 * Draws the keys of a request: they live for one request and are stored nowhere.
 *
 * @returns {Promise<{privateKey: CryptoKey, publicKey: Uint8Array, nonce: Uint8Array, commitment: Uint8Array}>} The cloud sees the commitment first, key and nonce only after the other device's answer.
 */
export async function makeRequest(encryption) {
  const pair = await crypto.subtle.generateKey("X25519", false, ["deriveBits"]);
  const publicKey = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const nonce = random();
  return { privateKey: pair.privateKey, publicKey, nonce, commitment: await commitmentOf(encryption, publicKey, nonce) };
}

/** The nonce with which a device answers a request; it is drawn once the commitment is known. */
export const makeAnswer = random;

/** Whether a person has typed the digits, with or without spaces. */
export const isTyped = (encryption, typed, digits) => encryption.same(utf8(typed.replaceAll(/\s/g, "")), utf8(digits));

/** Everything that both devices have to agree on. A cloud that changed any part shows in another code, except once in a million attempts. */
export class KeyApproval {
  /**
   * @param {object} encryption welkin-encryption.js.
   * @param {object} parts The two devices by the names of their sessions; the new device's key and nonce; the answer of the other; the account's public identity.
   */
  constructor(encryption, { device, approver, publicKey, nonce, answer, identity }) {
    this.encryption = encryption;
    this.publicKey = publicKey;
    this.identity = identity;
    if ([publicKey, nonce, answer].some((part) => part.length !== 32)) throw this.refusal("is malformed");
    this.parts = [device, approver, publicKey, nonce, answer, encryption.concat(identity.signing, identity.agreement)];
  }

  /** The exchange on the device that approves: key and nonce have to be those to which the new device committed itself. `identity` is that of the keys of this device. */
  static async of(encryption, commitment, parts) {
    const approval = new KeyApproval(encryption, parts);
    if (!encryption.same(await commitmentOf(encryption, parts.publicKey, parts.nonce), commitment)) throw approval.refusal("is not for the key to which the new device committed itself");
    return approval;
  }

  refusal(reason) {
    return new this.encryption.EncryptionError(`The approval ${reason}.`);
  }

  frame(purpose) {
    return this.encryption.frame(purpose, ...this.parts);
  }

  async digits(purpose) {
    const bytes = await hash(this.frame(purpose));
    return String(new DataView(bytes.buffer).getBigUint64(0) % 1_000_000n).padStart(6, "0");
  }

  /** The six digits that the new device shows; the person types them on the one that approves. */
  code() {
    return this.digits("welkin key approval code 1");
  }

  /** The six digits that the approving device shows after the code was right; the person types them on the new one, which opens nothing before. */
  confirmation() {
    return this.digits("welkin key approval confirmation 1");
  }

  async cipher(privateKey, other, encapsulated, use) {
    const { key, nonce } = await this.encryption.hpkeContext(privateKey, other, encapsulated, this.publicKey, this.encryption.frame("welkin key approval 1"));
    const algorithm = { name: "AES-GCM", iv: nonce, additionalData: this.frame("welkin key approval secret 1") };
    return [await crypto.subtle.importKey("raw", key, "AES-GCM", false, [use]), algorithm];
  }

  /** Seals the account's secret, an extractable key, to the new device. The code has to have been typed before. */
  async seal(secret) {
    const { privateKey, publicKey } = await crypto.subtle.generateKey("X25519", false, ["deriveBits"]);
    const encapsulated = new Uint8Array(await crypto.subtle.exportKey("raw", publicKey));
    const sealed = await crypto.subtle.wrapKey("raw", secret, ...(await this.cipher(privateKey, this.publicKey, encapsulated, "wrapKey")));
    return this.encryption.concat(Uint8Array.of(1), encapsulated, new Uint8Array(sealed));
  }

  /**
   * Opens the account's secret on the new device.
   *
   * @param {boolean} isExtractable Whether it can be wrapped again, and a script can read it out.
   * @returns {Promise<{secret: CryptoKey, keys: object}>} The secret and the keys of its identity, which is the account's.
   */
  async open(sealed, privateKey, isExtractable = false) {
    if (sealed.length !== sealedSize || sealed[0] !== 1) throw this.refusal("is malformed");
    const encapsulated = sealed.subarray(1, 33);
    const [key, algorithm] = await this.cipher(privateKey, encapsulated, encapsulated, "unwrapKey");
    const derives = { name: "HMAC", hash: "SHA-256", length: 256 };
    const secret = await crypto.subtle.unwrapKey("raw", sealed.subarray(33), key, algorithm, derives, isExtractable, ["sign"]).catch(() => null);
    if (!secret) throw this.refusal("does not open");
    const keys = await this.encryption.identityKeys(secret);
    const { signing, agreement } = this.identity;
    if (!this.encryption.same(keys.signing, signing) || !this.encryption.same(keys.agreement, agreement)) throw this.refusal("has other keys than the account's");
    return { secret, keys };
  }

  /** What shows the approving device that the new one has opened the secret. */
  receipt(secret) {
    return this.encryption.derive(secret, this.frame("welkin key approval receipt 1"));
  }
}
