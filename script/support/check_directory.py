"""Verifies the vectors of docs/directory.md; written from that page and RFC 9381, sharing nothing with the Swift code."""

import hashlib
import hmac
import json
import sys
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Refused(Exception):
    """What a verifier has to refuse."""


def need(condition, reason):
    if not condition:
        raise Refused(reason)


def frame(*parts):
    """Text or bytes, each behind its length."""
    result = b""
    for part in parts:
        part = part.encode() if isinstance(part, str) else part
        result += len(part).to_bytes(4, "big") + part
    return result


def u64(value):
    return value.to_bytes(8, "big")


def sha(data):
    return hashlib.sha256(data).digest()


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


# --- The curve edwards25519, in affine coordinates

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(one, other):
    (x1, y1), (x2, y2) = one, other
    product = D * x1 * x2 * y1 * y2
    return ((x1 * y2 + x2 * y1) * pow(1 + product, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P)


def times(scalar, point):
    result = (0, 1)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def negative(point):
    return (-point[0] % P, point[1])


def decode(data):
    """RFC 8032, 5.1.3; None for bytes that are no point."""
    value = int.from_bytes(data, "little")
    sign, y = value >> 255, value & (1 << 255) - 1
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    return (P - x if x & 1 != sign else x, y)


def encode(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


BASE = decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def hash_to_curve(public, data):
    for counter in range(256):
        point = decode(hashlib.sha512(b"\x03\x01" + public + data + bytes([counter, 0])).digest()[:32])
        if point and times(8, point) != (0, 1):
            return times(8, point)
    raise Refused("no point")


def function_output(public, data, proof):
    """The output that a proof of RFC 9381 shows."""
    need(len(proof) == 80, "a proof has 80 bytes")
    key, gamma = decode(public), decode(proof[:32])
    challenge, answer = int.from_bytes(proof[32:48], "little"), int.from_bytes(proof[48:], "little")
    need(key and gamma and answer < Q and times(8, key) != (0, 1), "no key or proof")
    point = hash_to_curve(public, data)
    one = add(times(answer, BASE), negative(times(challenge, key)))
    other = add(times(answer, point), negative(times(challenge, gamma)))
    points = public + b"".join(map(encode, (point, gamma, one, other)))
    need(hashlib.sha512(b"\x03\x02" + points + b"\x00").digest()[:16] == proof[32:48], "the proof is of another input")
    return hashlib.sha512(b"\x03\x03" + encode(times(8, gamma)) + b"\x00").digest()


# --- Formats


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, count):
        need(len(self.data) >= count, "truncated")
        part, self.data = self.data[:count], self.data[count:]
        return part

    def number(self, size):
        return int.from_bytes(self.take(size), "big")

    def end(self):
        need(not self.data, "bytes follow")


def read_steps(reader):
    steps = []
    for _ in range(reader.number(2)):
        step = (reader.number(1), reader.take(32))
        need(not steps or steps[-1][0] < step[0], "depths grow")
        steps.append(step)
    return steps


def read_leaf(reader):
    return (reader.take(32), reader.number(8), reader.take(32), reader.take(32))


def leaf_hash(leaf):
    index, version, previous, commitment = leaf
    return sha(frame("welkin directory leaf 1", index, u64(version), previous, commitment))


def bit(index, depth):
    return index[depth // 8] >> 7 - depth % 8 & 1


def node(depth, left, right):
    return sha(frame("welkin directory node 1", bytes([depth]), left, right))


def climb(value, index, steps):
    for depth, sibling in reversed(steps):
        value = node(depth, sibling, value) if bit(index, depth) else node(depth, value, sibling)
    return value


EMPTY_TREE = sha(frame("welkin directory empty 1"))


class Head:
    def __init__(self, data):
        reader = Reader(data)
        self.number, self.root, self.count = reader.number(8), reader.take(32), reader.number(8)
        self.time, self.previous, self.log = reader.number(8), reader.take(32), reader.take(32)
        self.signature = reader.take(64)
        reader.end()
        self.signed = frame(
            "welkin directory head 1", u64(self.number), self.root, u64(self.count), u64(self.time), self.previous,
            self.log)
        self.hash = sha(self.signed)

    def verify(self, keys):
        Ed25519PublicKey.from_public_bytes(keys[:32]).verify(self.signature, self.signed)


def check_entry(label, keys, head, data):
    """The identity and devices that a proof shows; empty for a proof of absence."""
    head.verify(keys)
    reader = Reader(data)
    need(reader.number(1) == 1, "version")
    index = function_output(keys[32:], label, reader.take(80))[:32]
    steps, kind, devices = read_steps(reader), reader.number(1), None
    if kind == 0:
        need(not steps and head.root == EMPTY_TREE, "the tree is not empty")
        return b"", None
    if kind == 1:
        leaf = read_leaf(reader)
        reader.end()
        need(leaf[0] != index, "that is the entry's own leaf")
        need(climb(leaf_hash(leaf), index, steps) == head.root, "another root")
        return b"", None
    version, previous = reader.number(8), reader.take(32)
    identity = reader.take(reader.number(2))
    opening = reader.take(32)
    if kind == 2:
        listed = reader.take(32)
    else:
        devices_opening = reader.take(32)
        parts = [(reader.take(32), reader.take(8)) for _ in range(reader.number(2))]
        listed = mac(devices_opening, frame("welkin directory devices 1", *[part for pair in parts for part in pair]))
        devices = [device for device, _ in parts]
    reader.end()
    commitment = mac(opening, frame("welkin directory entry 1", u64(version), identity, listed))
    need(climb(leaf_hash((index, version, previous, commitment)), index, steps) == head.root, "another root")
    return identity, devices


# --- The log of heads, RFC 9162, 2.1.3.2 and 2.1.4.2


def pair(left, right):
    return sha(b"\x01" + left + right)


def log_root(hashes):
    if not hashes:
        return sha(b"")
    if len(hashes) == 1:
        return sha(b"\x00" + hashes[0])
    split = 1 << (len(hashes) - 1).bit_length() - 1
    return pair(log_root(hashes[:split]), log_root(hashes[split:]))


def check_history(earlier, later, data):
    reader = Reader(data)
    inclusion = [reader.take(32) for _ in range(reader.number(1))]
    consistency = [reader.take(32) for _ in range(reader.number(1))]
    reader.end()
    first, second, value = earlier.number, later.number - 1, sha(b"\x00" + earlier.hash)
    need(first <= second, "the order of the heads")
    for sibling in inclusion:
        need(second > 0, "too long")
        if first & 1 or first == second:
            value = pair(sibling, value)
            while not first & 1 and first:
                first, second = first >> 1, second >> 1
        else:
            value = pair(value, sibling)
        first, second = first >> 1, second >> 1
    need(second == 0 and value == later.log, "the head is not in the log")
    if earlier.number == 0:
        need(not consistency and earlier.log == sha(b""), "the empty log")
        return
    path = list(consistency)
    if earlier.number & earlier.number - 1 == 0:
        path.insert(0, earlier.log)
    need(path, "too short")
    first, second = earlier.number - 1, later.number - 1
    while first & 1:
        first, second = first >> 1, second >> 1
    one = other = path.pop(0)
    for sibling in path:
        need(second > 0, "too long")
        if first & 1 or first == second:
            one, other = pair(sibling, one), pair(sibling, other)
            while not first & 1 and first:
                first, second = first >> 1, second >> 1
        else:
            other = pair(other, sibling)
        first, second = first >> 1, second >> 1
    need(second == 0 and one == earlier.log and other == later.log, "the log is another one")


# --- Auditing


def check_update(root, data):
    reader = Reader(data)
    need(reader.number(1) == 1, "version")
    leaf, steps, kind = read_leaf(reader), read_steps(reader), reader.number(1)
    index, version, previous, _ = leaf
    if kind == 0:
        reader.end()
        need(root == EMPTY_TREE and not steps and (version, previous) == (1, bytes(32)), "the first leaf")
        return leaf_hash(leaf)
    held = read_leaf(reader)
    reader.end()
    need(climb(leaf_hash(held), index, steps) == root, "another root")
    if kind == 2:
        need((index, version, previous) == (held[0], held[1] + 1, leaf_hash(held)), "a version was skipped")
        return climb(leaf_hash(leaf), index, steps)
    need((version, previous) == (1, bytes(32)) and index != held[0], "a first version")
    split = next(depth for depth in range(256) if bit(index, depth) != bit(held[0], depth))
    need(split not in [depth for depth, _ in steps], "the way passes the place")
    below = climb(leaf_hash(held), held[0], [step for step in steps if step[0] > split])
    value = node(split, below, leaf_hash(leaf)) if bit(index, split) else node(split, leaf_hash(leaf), below)
    return climb(value, index, [step for step in steps if step[0] < split])


def check_audit(keys, entries):
    root, hashes = EMPTY_TREE, []
    for entry in entries:
        head = Head(bytes.fromhex(entry["head"]))
        head.verify(keys)
        need(head.number == len(hashes), "the number of a head")
        need(head.previous == (hashes[-1] if hashes else bytes(32)), "the previous head")
        need(head.log == log_root(hashes), "the log")
        for update in entry["updates"]:
            root = check_update(root, bytes.fromhex(update))
        need(head.root == root, "the root of a head")
        hashes.append(head.hash)


def main():
    vectors = json.loads(Path(sys.argv[1]).read_text())
    failures, total = [], 0

    def check(name, holds, body):
        nonlocal total
        total += 1
        try:
            result = body()
            if not holds:
                failures.append(f"{name}: accepted, and must not be")
            return result
        except (Refused, InvalidSignature) as refusal:
            if holds:
                failures.append(f"{name}: refused: {refusal or type(refusal).__name__}")

    for vector in vectors["function"]:
        output = check("function", True, lambda v=vector: function_output(
            bytes.fromhex(v["publicKey"]), bytes.fromhex(v["input"]), bytes.fromhex(v["proof"])))
        if output and output.hex() != vector["output"]:
            failures.append("function: another output")
    keys = bytes.fromhex(vectors["proofs"][0]["keys"])
    for vector in vectors["proofs"]:
        if "address" in vector:
            label = frame("welkin directory address 1", vector["address"])
        else:
            label = frame("welkin directory user 1", vector["container"], vector["user"])
        found = check(vector["name"], "identity" in vector, lambda v=vector, label=label: check_entry(
            label, bytes.fromhex(v["keys"]), Head(bytes.fromhex(v["head"])), bytes.fromhex(v["proof"])))
        if found and found[0].hex() != vector.get("identity"):
            failures.append(f"{vector['name']}: another identity")
        if found and [device.hex() for device in found[1] or []] != vector.get("devices", []):
            failures.append(f"{vector['name']}: other devices")
    for position, vector in enumerate(vectors["histories"]):
        earlier, later = Head(bytes.fromhex(vector["earlier"])), Head(bytes.fromhex(vector["later"]))
        check(f"history {position}", vector["holds"], lambda v=vector, earlier=earlier, later=later: check_history(
            earlier, later, bytes.fromhex(v["proof"])))
    check("audit", True, lambda: check_audit(keys, vectors["audit"]))
    changed = json.loads(json.dumps(vectors["audit"]))
    changed[5]["updates"] = []
    check("audit without a change", False, lambda: check_audit(keys, changed))
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    print(f"{total - len(failures)} of {total} vectors of the directory hold")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
