"""Recomputes and opens the vectors of docs/encryption.md; written from that page, sharing nothing with the Swift code."""

import base64
import hashlib
import hmac
import json
import sys
import unicodedata
from pathlib import Path

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


class Refused(Exception):
    """What a client has to refuse."""


def need(condition, reason):
    if not condition:
        raise Refused(reason)


# --- Building blocks


def number(value, size):
    return value.to_bytes(size, "big")


def frame(*parts):
    """Text, bytes, or a number of 4 bytes; each behind its length."""
    result = b""
    for part in parts:
        if isinstance(part, str):
            part = part.encode()
        elif isinstance(part, int):
            part = number(part, 4)
        result += number(len(part), 4) + part
    return result


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def expand(key, info):
    """HKDF-Expand to 32 bytes."""
    return mac(key, info + b"\x01")


def hkdf(secret, info):
    """HKDF with an empty salt to 32 bytes."""
    return expand(mac(bytes(32), secret), info)


def seal(key, nonce, plain, associated):
    return nonce + AESGCM(key).encrypt(nonce, plain, associated)


def unseal(key, sealed, associated):
    need(len(sealed) >= 28, "truncated")
    return AESGCM(key).decrypt(sealed[:12], sealed[12:], associated)


def unwrap(key, sealed, associated):
    plain = unseal(key, sealed, associated)
    need(len(plain) == 32, "a key has 32 bytes")
    return plain


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, count):
        need(len(self.data) >= count, "truncated")
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def number(self, size):
        return int.from_bytes(self.take(size), "big")

    def name(self):
        return self.take(self.number(2)).decode()

    def version(self, known):
        need(self.number(1) == known, "unknown version")

    def flag(self):
        value = self.number(1)
        need(value <= 1, "a flag is 0 or 1")
        return value == 1

    def finish(self):
        need(not self.data, "bytes follow the end")


class Vector:
    def __init__(self, value):
        self.name, self.opens = value["name"], value["opens"]
        self.text, self.number = value["texts"], value["numbers"]
        self.bytes = {key: bytes.fromhex(text) for key, text in value["bytes"].items()}

    @property
    def zone(self):
        return [self.text[key] for key in ("container", "environment", "owner", "zone")]

    @property
    def record(self):
        return self.zone + [self.text["record"]]

    @property
    def share(self):
        return self.zone + [self.text["share"]]


def same(made, expected, what):
    """A difference here is this script's or the page's mistake, never a reason to refuse."""
    assert made == expected, f"{what}: {made!r} is not {expected!r}"


# --- Accounts


def password(v):
    text = unicodedata.normalize("NFKC", v.text["password"]).encode()
    root = hashlib.pbkdf2_hmac("sha256", text, v.bytes["salt"], v.number["rounds"], 32)
    same(hkdf(root, b"welkin account proof 1"), v.bytes["proof"], "proof")
    same(hkdf(root, b"welkin account wrap 1"), v.bytes["wrappingKey"], "wrapping key")


def recovery(v):
    words = v.text["words"].lower().split()
    need(len(words) == 12, "12 words")
    need(all(word in WORDS for word in words), "unknown word")
    bits = "".join(f"{WORDS.index(word):011b}" for word in words)
    key = number(int(bits[:128], 2), 16)
    need(bits[128:] == f"{hashlib.sha256(key).digest()[0]:08b}"[:4], "checksum")
    same(key, v.bytes["key"], "key")
    same(hkdf(key, b"welkin recovery proof 1"), v.bytes["proof"], "proof")
    same(hkdf(key, b"welkin recovery wrap 1"), v.bytes["wrappingKey"], "wrapping key")


def passkey(v):
    same(v.text["input"], "welkin passkey prf 1", "input")
    same(hkdf(v.bytes["output"], b"welkin passkey wrap 1"), v.bytes["wrappingKey"], "wrapping key")


def account_secret(v):
    associated = frame("welkin account secret 1", v.text["purpose"], v.text["account"])
    reader = Reader(v.bytes["sealed"])
    reader.version(1)
    same(unwrap(v.bytes["wrappingKey"], reader.data, associated), v.bytes["secret"], "secret")
    made = b"\x01" + seal(v.bytes["wrappingKey"], v.bytes["nonce"], v.bytes["secret"], associated)
    same(made, v.bytes["sealed"], "sealed")


def verify(public, signature, message):
    Ed25519PublicKey.from_public_bytes(public).verify(signature, message)


def public_identity(data):
    reader = Reader(data)
    reader.version(1)
    signing, agreement, signature = reader.take(32), reader.take(32), reader.take(64)
    reader.finish()
    verify(signing, signature, frame("welkin identity 1", signing, agreement))
    return signing, agreement


def raw(key):
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def identity(v):
    keys = public_identity(v.bytes["identity"])
    signing = expand(v.bytes["secret"], frame("welkin identity signing 1"))
    agreement = expand(v.bytes["secret"], frame("welkin identity agreement 1"))
    same(raw(Ed25519PrivateKey.from_private_bytes(signing)), v.bytes["signing"], "signing key")
    same(raw(X25519PrivateKey.from_private_bytes(agreement)), v.bytes["agreement"], "agreement key")
    same(keys, (v.bytes["signing"], v.bytes["agreement"]), "keys")
    fingerprint = hashlib.sha256(frame("welkin fingerprint 1", *keys)).hexdigest()
    same(fingerprint, v.text["fingerprint"], "fingerprint")
    same(" ".join(fingerprint[i : i + 4] for i in range(0, 32, 4)), v.text["shown"], "what is shown")


def keys(v):
    container, environment, owner, zone = v.zone
    root = expand(v.bytes["secret"], frame("welkin container root 1", container, environment))
    same(root, v.bytes["root"], "root")
    zone_key = expand(root, frame("welkin zone key 1", owner, zone, v.number["epoch"]))
    same(zone_key, v.bytes["zoneKey"], "zone key")
    record_key = expand(zone_key, frame("welkin record key 1", v.text["record"]))
    same(record_key, v.bytes["recordKey"], "record key")
    share_key = expand(root, frame("welkin share key 1", *v.share, v.number["epoch"]))
    same(share_key, v.bytes["shareKey"], "share key")
    for seat, made in (("", "linkSecret"), (v.text["seat"], "seatSecret")):
        same(expand(root, frame("welkin share link secret 1", *v.share, seat)), v.bytes[made], made)
    tree = expand(root, frame("welkin tree link secret 1", *v.zone, v.text["record"]))
    same(tree, v.bytes["treeLinkSecret"], "link secret of a tree")


# --- Records


def sealed_in_record(v, associated, plain):
    reader = Reader(v.bytes["sealed"])
    reader.version(1)
    need(reader.number(4) == v.number["epoch"], "another epoch")
    same(unseal(v.bytes["recordKey"], reader.data, associated), plain, "plain")
    header = b"\x01" + number(v.number["epoch"], 4)
    made = header + seal(v.bytes["recordKey"], v.bytes["nonce"], plain, associated)
    same(made, v.bytes["sealed"], "sealed")


def field(v):
    place = [*v.record, v.text["recordType"], v.number["epoch"], v.text["field"], v.text["fieldType"]]
    sealed_in_record(v, frame("welkin field 1", *place), v.bytes["plain"])


def asset_key(v):
    position = v.number.get("position")
    position = b"" if position is None else number(position, 4)
    place = [*v.record, v.text["recordType"], v.number["epoch"], v.text["field"], position]
    sealed_in_record(v, frame("welkin asset key 1", *place), v.bytes["assetSecret"])


def statement(v):
    whole = v.bytes["statement"]
    reader = Reader(whole)
    reader.version(1)
    version, previous, created = reader.number(8), reader.take(16), reader.number(8)
    need(created == 0 or created == v.number["created"], "another creation date")
    values = [(reader.name(), reader.take(8)) for _ in range(reader.number(2))]
    need([name for name, _ in values] == sorted({name for name, _ in values}), "not in order")
    sealed = reader.take(28)
    reader.finish()
    head = whole[:-28]
    photos = hashlib.sha256(frame("welkin asset keys 1", v.bytes["photo"], b"")).digest()[:8]
    listed = {"title": v.bytes["title"][-8:], "photos": photos}
    need(values == [(name, listed[name]) for name in v.text["names"].split()], "other values")
    creator = v.text["creator"] if created else ""
    place = [*v.record, v.text["recordType"], v.number["epoch"], v.text["parent"], creator]
    associated = frame("welkin record statement 1", *place, head)
    unseal(v.bytes["recordKey"], sealed, associated)
    same(seal(v.bytes["recordKey"], v.bytes["nonce"], b"", associated), sealed, "seal")
    same((version, previous, created), (v.number["version"], v.bytes["previous"], v.number["created"]), "head")


def zone_state(v):
    container, environment = v.zone[:2]
    root = expand(v.bytes["secret"], frame("welkin container root 1", container, environment))
    key = expand(root, frame("welkin zone state key 1", *v.zone))
    mark = expand(root, frame("welkin zone state devices 1", *v.zone))[:4]
    salt = expand(root, frame("welkin zone memory 1", *v.zone))[16:]
    need(v.bytes["device"][:4] == mark, "a device of another account")
    associated = frame(
        "welkin zone state 1", *v.zone, v.text["incarnation"], v.bytes["device"], number(v.number["number"], 8)
    )
    reader = Reader(v.bytes["sealed"])
    reader.version(1)
    plain = unseal(key, reader.data, associated)
    same(seal(key, v.bytes["nonce"], plain, associated), reader.data, "seal")

    reader = Reader(plain)
    same(reader.number(4), v.number["epoch"], "epoch")
    others = [(reader.take(12), reader.number(8)) for _ in range(reader.number(1))]
    same(others, [(v.bytes["other"], v.number["otherNumber"])][: v.number["others"]], "others")
    changes = [
        (reader.take(7), reader.number(6), reader.number(3), reader.number(4)) for _ in range(reader.number(1))
    ]
    reader.finish()

    def name(key):
        return hashlib.sha256(salt + v.text[key].encode()).digest()[:7]

    version, tag = v.number["version"], v.number["tag"]
    made = [(name("record"), version, tag, v.number["created"]), (name("ended"), version, tag | 1 << 23, 0)]
    same(changes, made[: v.number["changes"]], "changes")


CHUNK = 65_536
HEADER = bytes([1]) + number(CHUNK, 4)


def asset(v):
    secret = Reader(v.bytes["assetSecret"])
    key, size, checksum = secret.take(32), secret.number(8), secret.take(32)
    secret.finish()
    stream = AESGCM(expand(key, frame("welkin asset stream 1", number(size, 8), checksum)))
    count = max(1, -(-size // CHUNK))
    associated = frame("welkin asset chunk 1", HEADER)

    def nonce(index):
        return bytes(3) + number(index, 8) + bytes([index == count - 1])

    sealed = v.bytes.get("sealed")
    if sealed is not None:
        reader = Reader(sealed)
        need(reader.take(5) == HEADER, "another header")
        plain = b""
        for index in range(count):
            length = min(CHUNK, size - index * CHUNK) + 16
            plain += stream.decrypt(nonce(index), reader.take(length), associated)
        reader.finish()
        need(hashlib.sha256(plain).digest() == checksum, "checksum")

    plain = bytes(index % 251 for index in range(size))
    same(hashlib.sha256(plain).digest(), checksum, "checksum")
    made = HEADER
    for index in range(count):
        made += stream.encrypt(nonce(index), plain[index * CHUNK : (index + 1) * CHUNK], associated)
    same(len(made), v.number["sealedSize"], "size")
    same(hashlib.sha256(made).digest(), v.bytes["sealedSHA256"], "sealed")


def wraps_of(v):
    reader = Reader(v.bytes["keys"])
    reader.version(1)
    origin, count = reader.number(1), reader.number(2)
    need(origin <= 1 and count <= 900, "malformed")
    wraps = {}
    for _ in range(count):
        kind = reader.number(1)
        need(1 <= kind <= 4, "unknown kind")
        opener = (kind,)
        if kind < 3:
            opener += (reader.name(),)
        if kind < 4:
            opener += (reader.number(4),)
        need(opener not in wraps, "two wraps for one key")
        wraps[opener] = reader.take(60 if kind < 4 else 80)
    reader.finish()
    return origin, wraps


def protection(v):
    epoch = v.number["epoch"]
    origin, wraps = wraps_of(v)
    kind = {"parent": 1, "share": 2, "earlier": 3}[v.text["kind"]]
    opener = (kind, v.text["opener"], v.number["openerEpoch"]) if kind < 3 else (kind, v.number["openerEpoch"])
    need(opener in wraps, "no wrap for this key")
    associated = frame("welkin record key wrap 1", *v.record, epoch, bytes([kind]), *opener[1:])
    same(unwrap(v.bytes["openerKey"], wraps[opener], associated), v.bytes["key"], "key")
    same(seal(v.bytes["openerKey"], v.bytes["nonce"], v.bytes["key"], associated), wraps[opener], "wrap")
    same(origin, v.number["origin"], "origin")


# --- Shares


def keyring(v):
    reader = Reader(v.bytes["ring"])
    reader.version(1)
    need(reader.number(4) == v.number["epoch"], "another epoch")
    entries = {}
    for _ in range(reader.number(1)):
        entry = reader.number(1), reader.number(4)
        need(1 <= entry[0] <= 3 and entry not in entries, "malformed")
        entries[entry] = reader.take(60)
    reader.finish()

    kind = {"earlier": 1, "zone": 2, "link": 3}[v.text["kind"]]
    entry = kind, v.number["entryEpoch"]
    need(entry in entries, "no such entry")
    associated = frame("welkin share keyring 1", *v.share, v.number["epoch"], bytes([kind]), entry[1])
    same(unwrap(v.bytes["shareKey"], entries[entry], associated), v.bytes["key"], "key")
    same(seal(v.bytes["shareKey"], v.bytes["nonce"], v.bytes["key"], associated), entries[entry], "entry")


def link(v):
    values = [part[2:] for part in v.text["fragment"].split("&") if part.startswith("k=")]
    need(values, "no secret")
    need(len(values[0]) == 44, "the link was cut")
    reader = Reader(base64.urlsafe_b64decode(values[0]))
    reader.version(1)
    secret = reader.take(32)
    reader.finish()
    same(secret, v.bytes["secret"], "secret")

    key = expand(secret, frame("welkin share link 1"))
    reader = Reader(v.bytes["wrapped"])
    reader.version(2)
    epoch = reader.number(4)
    associated = frame("welkin share key for link 1", *v.share, epoch, v.text["seat"])
    same(unwrap(key, reader.data, associated), v.bytes["key"], "key")
    same(epoch, v.number["epoch"], "epoch")
    made = b"\x02" + number(epoch, 4) + seal(key, v.bytes["nonce"], v.bytes["key"], associated)
    same(made, v.bytes["wrapped"], "wrapped")


def hpke_open(private, encapsulated, info, sealed, associated):
    """RFC 9180, base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM; the first message."""

    def extract(suite, salt, label, secret):
        return mac(salt or bytes(32), b"HPKE-v1" + suite + label + secret)

    def labelled(suite, key, label, context, length):
        info = number(length, 2) + b"HPKE-v1" + suite + label + context
        return expand(key, info)[:length]

    kem = b"KEM" + number(0x20, 2)
    shared = private.exchange(X25519PublicKey.from_public_bytes(encapsulated))
    shared = labelled(
        kem, extract(kem, b"", b"eae_prk", shared), b"shared_secret", encapsulated + raw(private), 32
    )
    suite = b"HPKE" + number(0x20, 2) + number(0x01, 2) + number(0x02, 2)
    context = b"\x00" + extract(suite, b"", b"psk_id_hash", b"") + extract(suite, b"", b"info_hash", info)
    secret = extract(suite, shared, b"secret", b"")
    key = labelled(suite, secret, b"key", context, 32)
    nonce = labelled(suite, secret, b"base_nonce", context, 12)
    return AESGCM(key).decrypt(nonce, sealed, associated)


def owner_wrap(v):
    origin, wraps = wraps_of(v)
    need((4,) in wraps, "no wrap for the owner")
    private = expand(v.bytes["ownerSecret"], frame("welkin identity agreement 1"))
    private = X25519PrivateKey.from_private_bytes(private)
    associated = frame("welkin record key wrap 1", *v.record, v.number["epoch"], bytes([4]))
    wrap = wraps[(4,)]
    key = hpke_open(private, wrap[:32], frame("welkin record key for owner 1"), wrap[32:], associated)
    same(key, v.bytes["key"], "key")
    same(origin, v.number["origin"], "origin")


def key_approval(v):
    private = X25519PrivateKey.from_private_bytes(v.bytes["privateKey"])
    public, nonce, secret = raw(private), v.bytes["nonce"], v.bytes["secret"]
    same(public, v.bytes["publicKey"], "public key")
    commitment = hashlib.sha256(frame("welkin key request 1", public, nonce)).digest()
    need(commitment == v.bytes["commitment"], "another commitment")
    identity = b"".join(public_identity(v.bytes["identity"]))
    parts = [v.text["device"], v.text["approver"], public, nonce, v.bytes["answer"], identity]

    def digits(purpose):
        value = int.from_bytes(hashlib.sha256(frame(purpose, *parts)).digest()[:8], "big")
        return f"{value % 1_000_000:06}"

    reader = Reader(v.bytes["sealed"])
    reader.version(1)
    encapsulated, box = reader.take(32), reader.take(48)
    reader.finish()
    info, associated = frame("welkin key approval 1"), frame("welkin key approval secret 1", *parts)
    opened = hpke_open(private, encapsulated, info, box, associated)
    signing = Ed25519PrivateKey.from_private_bytes(expand(opened, frame("welkin identity signing 1")))
    agreement = X25519PrivateKey.from_private_bytes(expand(opened, frame("welkin identity agreement 1")))
    need(raw(signing) + raw(agreement) == identity, "the keys of another account")
    same(opened, secret, "secret")
    same(digits("welkin key approval code 1"), v.text["code"], "code")
    same(digits("welkin key approval confirmation 1"), v.text["confirmation"], "confirmation")
    same(expand(opened, frame("welkin key approval receipt 1", *parts)), v.bytes["receipt"], "receipt")


def invitation(v):
    data = v.bytes["invitation"]
    reader = Reader(data)
    reader.version(1)
    epoch, inviter, inviter_identity = reader.number(4), reader.name(), reader.take(129)
    signing, agreement = public_identity(inviter_identity)
    kind = reader.number(1)
    need(kind <= 2, "an inviter of unknown kind")
    authority = (reader.take(129), reader.number(4), reader.take(64)) if kind else None
    if kind == 2:
        count = reader.number(1)
        need(1 <= count <= 12, "the rights of nobody, or of too many")
        reader.take(32 * count)
    grant = reader.take(64) if reader.flag() else None
    encapsulated, sealed, signature = reader.take(32), reader.take(48), reader.take(64)
    reader.finish()

    # What the reader knows of the owner decides whom to believe.
    owner = public_identity(v.bytes["ownerIdentity"])
    if authority is None:
        need(inviter == v.text["owner"], "not by the owner")
        need((signing, agreement) == owner, "another identity than the owner's")
    else:
        claimed, granted, granting = authority
        need(public_identity(claimed) == owner, "another identity than the owner's")
        need(granted <= epoch, "granted later")
        right = frame("welkin share administrator 1", *v.share, granted, signing + agreement)
        verify(owner[0], granting, right)

    associated = frame("welkin share key for participant 1", *v.share, epoch, v.text["participant"])
    verify(signing, signature, associated + frame(data[:-64]))
    private = expand(v.bytes["recipientSecret"], frame("welkin identity agreement 1"))
    private = X25519PrivateKey.from_private_bytes(private)
    key = hpke_open(private, encapsulated, frame("welkin share invitation 1"), sealed, associated)
    same(key, v.bytes["key"], "key")
    same((epoch, inviter), (v.number["epoch"], v.text["inviter"]), "epoch and inviter")
    if grant is not None:
        own = expand(v.bytes["recipientSecret"], frame("welkin identity signing 1"))
        own = raw(Ed25519PrivateKey.from_private_bytes(own)) + raw(private)
        verify(signing, grant, frame("welkin share administrator 1", *v.share, epoch, own))


def share_statement(v):
    data = v.bytes["statement"]
    reader = Reader(data)
    reader.version(1)
    epoch, counter = reader.number(4), reader.number(8)
    need(epoch == v.number["epoch"], "another epoch")
    need(counter == v.number["counter"], "another number")
    place = frame("welkin share statement 1", *v.share, epoch, number(counter, 8))
    plain = unseal(v.bytes["shareKey"], reader.data, place)

    reader = Reader(plain)
    reader.version(1)
    root = reader.name() if reader.flag() else ""
    public = reader.number(1)
    need(1 <= public <= 3, "malformed")
    if reader.flag():
        reader.take(8 + 32)
    ids = []
    subjects = []
    for _ in range(reader.number(1)):
        ids.append(reader.take(reader.number(1)))
        administrator, permission = reader.flag(), reader.number(1)
        need(permission == 3 or (1 <= permission <= 2 and not administrator), "malformed")
        kind = reader.number(1)
        need(kind <= 3, "malformed")
        if kind:
            subjects.append((kind, reader.take(32)))
        if reader.flag():
            reader.take(32)
    need(len(set(ids)) == len(ids) <= 100, "malformed")
    signer, identity = reader.name(), reader.take(129)
    authority = (reader.take(129), reader.number(4), reader.take(64)) if reader.flag() else None
    signature = reader.take(64)
    reader.finish()

    signing, agreement = public_identity(identity)
    owner = public_identity(v.bytes["ownerIdentity"])
    if authority is None:
        need(signer == v.text["owner"] and (signing, agreement) == owner, "not by the owner")
    else:
        claimed, granted, granting = authority
        need(public_identity(claimed) == owner and granted <= epoch, "no right")
        verify(owner[0], granting, frame("welkin share administrator 1", *v.share, granted, signing + agreement))
    verify(signing, signature, place + frame(plain[:-64]))
    same((root, signer, len(ids), public), (v.text["root"], v.text["signer"], v.number["participants"], v.number["publicPermission"]), "content")
    if ids:
        email = frame("welkin share participant 1", *v.share, bytes([1]), v.text["email"])
        need((1, hashlib.sha256(email).digest()) in subjects, "another subject")


def link_proof(v):
    signing, agreement = public_identity(v.bytes["identity"])
    fingerprint = hashlib.sha256(frame("welkin fingerprint 1", signing, agreement)).digest()
    made = b"\x01" + expand(v.bytes["secret"], frame("welkin share link proof 1", *v.share, v.text["user"], fingerprint))
    need(made == v.bytes["proof"], "another proof")


SECTIONS = {
    "password": password,
    "recovery": recovery,
    "accountSecret": account_secret,
    "passkey": passkey,
    "identity": identity,
    "keys": keys,
    "field": field,
    "assetKey": asset_key,
    "statement": statement,
    "zoneState": zone_state,
    "asset": asset,
    "protection": protection,
    "keyring": keyring,
    "link": link,
    "invitation": invitation,
    "ownerWrap": owner_wrap,
    "keyApproval": key_approval,
    "shareStatement": share_statement,
    "linkProof": link_proof,
}


def check(section, vector):
    try:
        SECTIONS[section](vector)
    except (Refused, InvalidTag, InvalidSignature) as refusal:
        return None if not vector.opens else f"refused: {refusal or type(refusal).__name__}"
    except Exception as mistake:
        return f"{type(mistake).__name__}: {mistake}"
    return None if vector.opens else "opened, and must not"


def main():
    global WORDS
    swift = Path(__file__).parents[2] / "Sources/CloudKitEncryption/Users/RecoveryWords.swift"
    WORDS = swift.read_text().split('"""')[1].split()
    assert len(WORDS) == 2048, "the list of recovery words"
    book = json.loads(Path(sys.argv[1]).read_text())
    assert book.keys() == SECTIONS.keys(), "sections differ"
    failures = 0
    for section, vectors in book.items():
        for value in vectors:
            trouble = check(section, Vector(value))
            if trouble:
                failures += 1
                print(f"error: {section}, {value['name']}: {trouble}", file=sys.stderr)
    total = sum(map(len, book.values()))
    print(f"{total - failures} of {total} vectors hold")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
