// Opens and makes the vectors of docs/encryption.md and docs/directory.md with welkin-encryption.js. Runs in the browser.

const bytes = (hex) => Uint8Array.from(hex.match(/../g) || [], (pair) => parseInt(pair, 16));

/** A difference here is a mistake of the script or of this check, never a reason to refuse. */
class Mistake extends Error {}

export async function checkVectors(library, book, directory, words, recovery, passkeys, approvals) {
  const { toHex, frame, number, seal, unseal, derive, same } = library;
  const sameAs = (made, expected, what) => {
    const [left, right] = [made, expected].map((value) => (value instanceof Uint8Array ? toHex(value) : JSON.stringify(value)));
    if (left !== right) throw new Mistake(`${what}: ${left} is not ${right}`);
  };
  const refuse = (condition, reason) => {
    if (!condition) throw new library.EncryptionError(reason);
  };
  const ownIdentity = async (secret) => {
    const keys = await library.identityKeys(secret);
    return { ...keys, fingerprint: new Uint8Array(await crypto.subtle.digest("SHA-256", frame("welkin fingerprint 1", keys.signing, keys.agreement))) };
  };
  const trusting = (owner) => async (identity, user, isOwner) => {
    if (isOwner) refuse(same(identity.signing, owner.signing) && same(identity.agreement, owner.agreement), "another identity than the owner's");
  };

  sameAs(recovery.words, words, "the list of words");
  const sections = {
    async password({ texts, numbers, bytes: b }) {
      const keys = await library.passwordKeys(texts.password, b.salt, numbers.rounds);
      sameAs(keys.proof, b.proof, "proof");
      sameAs(keys.wrappingKey, b.wrappingKey, "wrapping key");
    },
    async recovery({ texts, bytes: b }) {
      const key = await recovery.keyOf(texts.words).catch((error) => refuse(false, error.message));
      sameAs(key, b.key, "key");
      sameAs((await recovery.wordsOf(key)).join(" "), texts.words, "words");
      const made = await recovery.recoveryKeys(key, library.hkdf);
      sameAs(made.proof, b.proof, "proof");
      sameAs(made.wrappingKey, b.wrappingKey, "wrapping key");
    },
    async passkey({ texts, bytes: b }) {
      const credential = (value) => ({ getClientExtensionResults: () => ({ prf: { results: { first: value.buffer } } }), rawId: value, response: { clientDataJSON: value, authenticatorData: value, signature: value } });
      let asked;
      const original = navigator.credentials.get;
      navigator.credentials.get = async ({ publicKey }) => {
        asked = publicKey.extensions.prf.eval.first;
        return credential(b.output);
      };
      const used = await passkeys.use({ challenge: "AA==", party: "localhost" }, library.hkdf);
      navigator.credentials.get = original;
      sameAs(new TextDecoder().decode(asked), texts.input, "input");
      sameAs(used.wrappingKey, b.wrappingKey, "wrapping key");
    },
    async accountSecret({ texts, bytes: b }) {
      const secret = await library.openAccountSecret(b.wrappingKey, b.sealed, texts.purpose, texts.account, true);
      sameAs(new Uint8Array(await crypto.subtle.exportKey("raw", secret)), b.secret, "secret");
      const hidden = await library.openAccountSecret(b.wrappingKey, b.sealed, texts.purpose, texts.account);
      if (await crypto.subtle.exportKey("raw", hidden).then(() => true, () => false)) throw new Mistake("the secret can be exported");
    },
    async identity({ texts, bytes: b }) {
      const identity = await library.publicIdentity(b.identity);
      const keys = await library.identityKeys(b.secret);
      sameAs(keys.signing, b.signing, "signing key");
      sameAs(keys.agreement, b.agreement, "agreement key");
      sameAs(identity.signing, b.signing, "signing key");
      sameAs(identity.agreement, b.agreement, "agreement key");
      sameAs(toHex(identity.fingerprint), texts.fingerprint, "fingerprint");
      sameAs(library.shownFingerprint(identity.fingerprint), texts.shown, "what is shown");
    },
    async keys({ texts, numbers, bytes: b, zone, record, share }) {
      const root = await library.containerRoot(b.secret, texts.container, texts.environment);
      sameAs(root, b.root, "root");
      const key = await library.zoneKey(root, zone, numbers.epoch);
      sameAs(key, b.zoneKey, "zone key");
      sameAs(await library.recordKey(key, record[4]), b.recordKey, "record key");
      sameAs(await library.shareKey(root, share, numbers.epoch), b.shareKey, "share key");
      sameAs(await library.linkSecret(root, share, null), b.linkSecret, "link secret");
      sameAs(await library.linkSecret(root, share, record[4]), b.treeLinkSecret, "link secret of a tree");
      sameAs(await library.oneTimeLinkSecret(root, share, texts.seat), b.seatSecret, "one-time link's secret");
    },
    async field({ texts, bytes: b, at }) {
      sameAs(await library.openField(at, texts.field, texts.fieldType, b.sealed), b.plain, "plain");
      sameAs(await library.sealField(at, texts.field, texts.fieldType, b.plain, b.nonce), b.sealed, "sealed");
    },
    async assetKey({ texts, numbers, bytes: b, at }) {
      sameAs(await library.openAssetSecret(at, texts.field, numbers.position, b.sealed), b.assetSecret, "secret");
      sameAs(await library.sealAssetSecret(at, texts.field, numbers.position, b.assetSecret, b.nonce), b.sealed, "sealed");
    },
    async statement({ texts, numbers, bytes: b, at }) {
      const statement = library.readStatement(b.statement);
      const listed = { title: library.tagOfSealed(b.title), photos: await library.tagOfKeys([b.photo, new Uint8Array(0)]) };
      const values = new Map(texts.names.split(" ").filter(Boolean).map((name) => [name, listed[name]]));
      library.checkValues(statement, values);
      const facts = { parent: texts.parent, creator: texts.creator, created: numbers.created };
      await library.checkStatement(at, statement, facts);
      sameAs(statement.version, numbers.version, "version");
      sameAs(statement.previous, b.previous, "previous");
      sameAs(await library.makeStatement(at, { tag: b.previous }, numbers.version, values, facts, b.nonce), b.statement, "statement");
    },
    // Browsers write no states of zones; the building blocks are the same.
    async zoneState({ texts, numbers, bytes: b, zone }) {
      const root = await library.containerRoot(b.secret, zone[0], zone[1]);
      const key = await derive(root, frame("welkin zone state key 1", ...zone));
      const mark = (await derive(root, frame("welkin zone state devices 1", ...zone))).subarray(0, 4);
      const salt = (await derive(root, frame("welkin zone memory 1", ...zone))).subarray(16);
      refuse(same(mark, b.device.subarray(0, 4)), "a device of another account");
      const outer = new library.Reader(b.sealed, "a state");
      outer.version(1);
      const place = frame("welkin zone state 1", ...zone, texts.incarnation, b.device, number(numbers.number, 8));
      const plain = await unseal(key, outer.bytes, place, "a state");
      sameAs(await seal(key, plain, place, b.nonce), outer.bytes, "seal");
      const reader = new library.Reader(plain, "a state");
      sameAs(reader.number(4), numbers.epoch, "epoch");
      const others = Array.from({ length: reader.number(1) }, () => [toHex(reader.take(12)), reader.number(8)]);
      sameAs(others, [[toHex(b.other), numbers.otherNumber]].slice(0, numbers.others), "others");
      const changes = Array.from({ length: reader.number(1) }, () => [toHex(reader.take(7)), reader.number(6), reader.number(3), reader.number(4)]);
      reader.end();
      const name = async (text) => toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", library.concat(salt, library.utf8(text)))).subarray(0, 7));
      const made = [[await name(texts.record), numbers.version, numbers.tag, numbers.created], [await name(texts.ended), numbers.version, numbers.tag + 2 ** 23, 0]];
      sameAs(changes, made.slice(0, numbers.changes), "changes");
    },
    async asset({ numbers, bytes: b }) {
      const secret = new library.Reader(b.assetSecret, "the key of a file");
      const [key, size, checksum] = [secret.take(32), secret.number(8), secret.take(32)];
      const plain = Uint8Array.from({ length: size }, (_, index) => index % 251);
      if (b.sealed) {
        const opened = await library.openFile(b.assetSecret, new Blob([b.sealed]).stream());
        sameAs(new Uint8Array(await opened.arrayBuffer()), plain, "plain");
      }
      const made = await library.sealFile(new Blob([plain]), key);
      const sealed = new Uint8Array(await made.sealed.arrayBuffer());
      refuse(same(made.secret.subarray(40), checksum), "another checksum");
      sameAs(made.secret, b.assetSecret, "secret");
      sameAs(sealed.length, numbers.sealedSize, "size");
      sameAs(new Uint8Array(await crypto.subtle.digest("SHA-256", sealed)), b.sealedSHA256, "sealed");
    },
    async protection({ texts, numbers, bytes: b, record }) {
      const protection = library.readProtection(numbers.epoch, b.keys);
      const kind = { parent: 1, share: 2, earlier: 3 }[texts.kind];
      const wrap = protection.wraps.find((other) => other.kind === kind && other.epoch === numbers.openerEpoch && (kind === 3 || other.name === texts.opener));
      refuse(wrap, "no wrap for this key");
      sameAs(await library.openWrap(protection, record, wrap, b.openerKey), b.key, "key");
      const made = { ...protection, wraps: [] };
      await library.addWrap(made, record, { kind, name: wrap.name, epoch: wrap.epoch }, b.openerKey, b.key, b.nonce);
      sameAs(made.wraps[0].bytes, wrap.bytes, "wrap");
      sameAs(library.writeProtection(protection), b.keys, "keys");
      sameAs(protection.isDerived ? 0 : 1, numbers.origin, "origin");
    },
    async keyring({ texts, numbers, bytes: b, share }) {
      const ring = library.readKeyring(b.ring);
      refuse(ring.epoch === numbers.epoch, "another epoch");
      const kind = { earlier: 1, zone: 2, link: 3 }[texts.kind];
      const entry = ring.entries.find((other) => other.kind === kind && other.epoch === numbers.entryEpoch);
      refuse(entry, "no such entry");
      sameAs(await library.openKeyringEntry(ring, share, entry, b.shareKey), b.key, "key");
      sameAs(await library.makeKeyring(share, ring.epoch, [{ kind, epoch: entry.epoch, key: b.key }], b.shareKey, b.nonce), b.ring, "ring");
    },
    async link({ texts, numbers, bytes: b, share }) {
      const secret = library.readFragment(texts.fragment);
      sameAs(secret, b.secret, "secret");
      sameAs(library.writeFragment(secret), texts.fragment.split("&").find((part) => part.startsWith("k=")), "fragment");
      const opened = await library.openLinkWrap(secret, share, texts.seat, b.wrapped);
      sameAs(opened.key, b.key, "key");
      sameAs(opened.epoch, numbers.epoch, "epoch");
      sameAs(await library.wrapForLink(secret, share, opened.epoch, texts.seat, b.key, b.nonce), b.wrapped, "wrap");
    },
    async linkProof({ texts, bytes: b, share }) {
      const identity = await library.publicIdentity(b.identity);
      refuse(same(await library.linkProof(b.secret, share, texts.user, identity), b.proof), "another proof");
    },
    async invitation({ texts, numbers, bytes: b, share }) {
      const owner = await library.publicIdentity(b.ownerIdentity);
      const opened = await library.openInvitation(b.invitation, share, texts.participant, await ownIdentity(b.recipientSecret), trusting(owner));
      sameAs(opened.key, b.key, "key");
      sameAs([opened.epoch, opened.inviter], [numbers.epoch, texts.inviter], "epoch and inviter");
    },
    async ownerWrap({ numbers, bytes: b, record }) {
      const protection = library.readProtection(numbers.epoch, b.keys);
      const wrap = protection.wraps.find((other) => other.kind === 4);
      refuse(wrap, "no wrap for the owner");
      sameAs(await library.openOwnerWrap(protection, record, wrap, await ownIdentity(b.ownerSecret)), b.key, "key");
      sameAs(protection.isDerived ? 0 : 1, numbers.origin, "origin");
    },
    async keyApproval({ texts, bytes: b }) {
      const pkcs8 = library.concat(bytes("302e020100300506032b656e04220420"), b.privateKey);
      const privateKey = await crypto.subtle.importKey("pkcs8", pkcs8, "X25519", true, ["deriveBits"]);
      const { x } = await crypto.subtle.exportKey("jwk", privateKey);
      sameAs(library.fromBase64(x.replaceAll("-", "+").replaceAll("_", "/")), b.publicKey, "public key");
      const parts = { device: texts.device, approver: texts.approver, publicKey: b.publicKey, nonce: b.nonce, answer: b.answer, identity: await library.publicIdentity(b.identity) };
      const approval = await approvals.KeyApproval.of(library, b.commitment, parts);
      const { secret } = await approval.open(b.sealed, privateKey);
      if (await crypto.subtle.exportKey("raw", secret).then(() => true, () => false)) throw new Mistake("the secret can be exported");
      sameAs(await approval.code(), texts.code, "code");
      sameAs(await approval.confirmation(), texts.confirmation, "confirmation");
      sameAs(await approval.receipt(secret), b.receipt, "receipt");
      const given = await crypto.subtle.importKey("raw", b.secret, { name: "HMAC", hash: "SHA-256" }, true, ["sign"]);
      const again = await approval.open(await approval.seal(given), privateKey);
      sameAs(await approval.receipt(again.secret), b.receipt, "receipt of what the script sealed");
      const request = await approvals.makeRequest(library);
      await approvals.KeyApproval.of(library, request.commitment, { ...parts, ...request, answer: approvals.makeAnswer() });
      const typed = [" 14 47 28 ", "144729", "14472", ""].map((text) => approvals.isTyped(library, text, "144728"));
      sameAs(typed, [true, false, false, false], "what is typed");
    },
    async shareStatement({ texts, numbers, bytes: b, share }) {
      const owner = await library.publicIdentity(b.ownerIdentity);
      const stated = await library.openShareStatement(b.statement, share, numbers.epoch, b.shareKey, trusting(owner));
      refuse(stated.counter === numbers.counter, "another number");
      sameAs([stated.root || "", stated.signer, stated.participants.size, stated.publicPermission], [texts.root, texts.signer, numbers.participants, numbers.publicPermission], "content");
      if (stated.participants.size > 0) {
        const subject = toHex(await library.subject(share, 1, texts.email));
        sameAs([...stated.participants.values()].some((entry) => entry.subjectKind === 1 && toHex(entry.subject) === subject), true, "subject");
      }
    },
  };

  const problems = [];
  let count = 0;
  async function check(name, holds, body) {
    count += 1;
    try {
      await body();
      if (!holds) problems.push(`${name}: opened, and must not`);
    } catch (error) {
      if (!(error instanceof library.EncryptionError)) problems.push(`${name}: ${error.stack}`);
      else if (holds) problems.push(`${name}: refused: ${error.message}`);
    }
  }
  for (const name of Object.keys(book)) if (!sections[name]) problems.push(`no check of section ${name}`);
  for (const [name, body] of Object.entries(sections)) {
    for (const vector of book[name] || []) {
      const { texts, numbers } = vector;
      const values = Object.fromEntries(Object.entries(vector.bytes).map(([key, hex]) => [key, bytes(hex)]));
      const zone = [texts.container, texts.environment, texts.owner, texts.zone];
      const record = [...zone, texts.record];
      const at = { record, recordType: texts.recordType, epoch: numbers.epoch, key: values.recordKey };
      await check(`${name}, ${vector.name}`, vector.opens, () => body({ texts, numbers, bytes: values, zone, record, share: [...zone, texts.share], at }));
    }
  }

  for (const vector of directory.function) {
    await check("function", true, async () =>
      sameAs(await library.functionOutput(bytes(vector.publicKey), bytes(vector.input), bytes(vector.proof)), bytes(vector.output), "output"));
  }
  for (const vector of directory.proofs) {
    await check(`proof, ${vector.name}`, "identity" in vector, async () => {
      const keys = bytes(vector.keys);
      const label = vector.address ? frame("welkin directory address 1", vector.address) : frame("welkin directory user 1", vector.container, vector.user);
      const identity = await library.directoryEntry(label, keys, await library.directoryHead(bytes(vector.head), keys), bytes(vector.proof));
      sameAs(toHex(identity || new Uint8Array(0)), vector.identity ?? "", "identity");
    });
  }
  const keys = bytes(directory.proofs[0].keys);
  for (const [position, vector] of directory.histories.entries()) {
    await check(`history ${position}`, vector.holds, async () => {
      await library.checkHistory(await library.directoryHead(bytes(vector.earlier), keys), await library.directoryHead(bytes(vector.later), keys), bytes(vector.proof));
    });
  }
  return { count, problems };
}
