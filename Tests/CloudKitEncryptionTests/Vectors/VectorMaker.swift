import SeededChance

@testable import CloudKitEncryption

/// Makes every vector from fixed inputs.
///
/// Invitations are the exception: the library draws their ephemeral key itself, so that those in the file were made once.
struct VectorMaker {
    let secret: AccountSecret
    let zone: ZoneAddress
    let share: RecordAddress

    init() throws {
        secret = try AccountSecret(bytes: Array(0..<32))
        zone = ZoneAddress(
            container: "iCloud.org.example.notes", environment: "production", owner: "_ada", zone: "Notes é")
        share = RecordAddress(zone: zone, name: "share-1")
    }

    func book() throws -> VectorCollection {
        [
            "password": try password(), "recovery": try recovery(), "accountSecret": try accountSecret(),
            "passkey": passkeys(),
            "identity": try identity(), "keys": keys(), "field": try field(), "assetKey": try assetKey(),
            "statement": try statement(), "zoneState": try zoneStates(),
            "asset": try asset(), "protection": try protection(), "keyring": try keyring(), "link": try link(),
            "shareStatement": try statements(), "linkProof": try linkProofs(),
        ]
    }

    func key(_ byte: UInt8) -> KeyMaterial { KeyMaterial(Array(repeating: byte, count: 32)) }

    static func nonce(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 12) }

    private func nonce(_ byte: UInt8) -> [UInt8] { Self.nonce(byte) }

    func random(_ byte: UInt8) -> Randomness { Randomness(Repeating(byte: byte)) }

    var place: [String: String] {
        ["container": zone.container, "environment": zone.environment, "owner": zone.owner, "zone": zone.zone]
    }

    // MARK: - Accounts

    private func password() throws -> [Vector] {
        try [("correct horse battery staple", 1000), ("Ame\u{301}lie", 2), ("Amélie", 2)].map { password, rounds in
            let root = try PasswordRoot(password: password, salt: Array(100..<116), rounds: rounds)
            return Vector(
                "\(password.unicodeScalars.count) scalars, \(rounds) rounds", texts: ["password": password],
                numbers: ["rounds": UInt64(rounds)],
                bytes: [
                    "salt": Array(100..<116), "proof": root.proof, "wrappingKey": root.wrappingKey.material.bytes,
                ])
        }
    }

    private func recovery() throws -> [Vector] {
        let keys: [[UInt8]] = [
            Array(repeating: 0, count: 16), Array(200..<216), Array(repeating: 0xFF, count: 16),
        ]
        let vectors: [Vector] = try keys.map {
            let key = try RecoveryKey(bytes: $0)
            return Vector(
                "\($0[0])…", texts: ["words": key.words.joined(separator: " ")],
                bytes: ["key": $0, "proof": key.proof, "wrappingKey": key.wrappingKey.material.bytes])
        }
        let refused: [Vector] = [
            vectors[1].refused("two words changed places") {
                $0.texts["words"] = $0.texts["words"]?.split(separator: " ").reversed().joined(separator: " ")
            },
            vectors[0].refused("the checksum is wrong") {
                $0.texts["words"] = Array(repeating: "abandon", count: 12).joined(separator: " ")
            },
            vectors[0].refused("an unknown word") {
                $0.texts["words"] = $0.texts["words"]?.replacing("about", with: "abuot")
            },
            vectors[0].refused("a word is missing") { $0.texts["words"] = "abandon about" },
        ]
        return vectors + refused
    }

    private func passkeys() -> [Vector] {
        [UInt8(0), 77].map { byte in
            let output = (0..<32).map { byte &+ $0 }
            return Vector(
                "\(byte)…", texts: ["input": String(decoding: WrappingKey.passkeyInput, as: UTF8.self)],
                bytes: ["output": output, "wrappingKey": WrappingKey.passkey(output: output).material.bytes])
        }
    }

    private func accountSecret() throws -> [Vector] {
        let vectors = try [WrappingKey.Purpose.password, .recovery, .passkey].map { purpose in
            let wrapping = WrappingKey(purpose: purpose, material: key(9))
            return Vector(
                "under the \(purpose.rawValue) key", texts: ["purpose": purpose.rawValue, "account": "account-1"],
                bytes: [
                    "wrappingKey": wrapping.material.bytes, "nonce": nonce(1), "secret": secret.bytes,
                    "sealed": try secret.sealed(under: wrapping, account: "account-1", random: random(1)),
                ])
        }
        let refused: [Vector] = [
            try vectors[0].refused("changed") { try $0.flip("sealed", at: 20) },
            vectors[0].refused("another account") { $0.texts["account"] = "account-2" },
            vectors[0].refused("another purpose") { $0.texts["purpose"] = "recovery" },
            vectors[0].refused("cut short") { $0.bytes["sealed"]?.removeLast(2) },
            try vectors[0].refused("version 0") { try $0.flip("sealed", at: 0) },
        ]
        return vectors + refused
    }

    private func identity() throws -> [Vector] {
        let identity = try secret.identity().publicIdentity
        let other = try AccountSecret(bytes: Array(32..<64)).identity().publicIdentity
        let vector = Vector(
            "an account's",
            texts: ["fingerprint": identity.fingerprint.hex, "shown": identity.fingerprint.description],
            bytes: [
                "secret": secret.bytes, "identity": identity.bytes, "signing": Array(identity.keyBytes[..<32]),
                "agreement": Array(identity.keyBytes[32...]),
            ])
        return [
            vector,
            vector.refused("another's agreement key") {
                let mixed = identity.bytes[..<33] + other.keyBytes[32...] + identity.bytes[65...]
                $0.bytes["identity"] = Array(mixed).hex
            },
            try vector.refused("the signature was changed") { try $0.flip("identity", at: 100) },
            vector.refused("cut short") { $0.bytes["identity"]?.removeLast(2) },
        ]
    }

    private func keys() -> [Vector] {
        [UInt32(0), 1, 0xFFFF_FFFF].map { epoch in
            let root = secret.root(container: zone.container, environment: zone.environment)
            let zoneKey = root.zoneKey(owner: zone.owner, zone: zone.zone, epoch: epoch)
            return Vector(
                "epoch \(epoch)", texts: place.merging(["record": "note-1", "share": "share-1", "seat": "p-1"]) { $1 },
                numbers: ["epoch": UInt64(epoch)],
                bytes: [
                    "secret": secret.bytes, "root": root.material.bytes, "zoneKey": zoneKey.material.bytes,
                    "recordKey": zoneKey.recordKey("note-1").material.bytes,
                    "shareKey": root.shareKey(of: share, epoch: epoch).material.bytes,
                    "linkSecret": root.linkSecret(of: share, root: nil).material.bytes,
                    "treeLinkSecret": root.linkSecret(of: share, root: "note-1").material.bytes,
                    "seatSecret": root.linkSecret(of: share, participant: "p-1").material.bytes,
                ])
        }
    }

    // MARK: - Records

    func recordKey(_ byte: UInt8, _ name: String = "note-1", epoch: UInt32 = 2, made: Bool = false) -> RecordKey {
        RecordKey(
            place: RecordAddress(zone: zone, name: name), epoch: epoch, origin: made ? .made : .derived,
            material: key(byte))
    }

    private func field() throws -> [Vector] {
        let sealer = RecordSealer(recordKey(5), recordType: "Note")
        func vector(_ name: String, _ plain: String, _ type: String) throws -> Vector {
            let sealed = try sealer.seal(Array(plain.utf8), field: "title", type: type, random: random(2))
            let names = ["record": "note-1", "recordType": "Note", "field": "title", "fieldType": type]
            return Vector(
                name, texts: place.merging(names) { $1 }, numbers: ["epoch": 2],
                bytes: [
                    "recordKey": sealer.key.material.bytes, "nonce": nonce(2), "plain": Array(plain.utf8),
                    "sealed": sealed,
                ])
        }
        let string = try vector("a string", #""Grüße""#, "ENCRYPTED_STRING")
        let elsewhere = ["container", "environment", "owner", "zone", "record", "recordType", "field"]
        let vectors: [Vector] = [
            string, try vector("a list", "[1,2,3]", "ENCRYPTED_INT64_LIST"),
            try vector("nothing", "", "ENCRYPTED_BYTES"),
        ]
        let moved = elsewhere.map { key in string.refused("in another place: \(key)") { $0.texts[key] = "other" } }
        let changed: [Vector] = [
            string.refused("as another type") { $0.texts["fieldType"] = "ENCRYPTED_BYTES" },
            string.refused("in another epoch") { $0.numbers["epoch"] = 3 },
            try string.refused("in another epoch, with its header changed") {
                $0.numbers["epoch"] = 3
                try $0.flip("sealed", at: 4)
            },
            try string.refused("the nonce was changed") { try $0.flip("sealed", at: 5) },
            try string.refused("the ciphertext was changed") { try $0.flip("sealed", at: 17) },
            string.refused("cut short") { $0.bytes["sealed"]?.removeLast(2) },
            try string.refused("version 0") { try $0.flip("sealed", at: 0) },
            string.refused("never sealed") { $0.bytes["sealed"] = Array("Grüße".utf8).hex },
        ]
        return vectors + moved + changed
    }

    private func statement() throws -> [Vector] {
        let sealer = RecordSealer(recordKey(5), recordType: "Note")
        let title = try sealer.seal(Array("\"a\"".utf8), field: "title", type: "ENCRYPTED_STRING", random: random(2))
        let photo = try sealer.seal(assetSecret(size: 5), field: "photos", position: 0, random: random(3))
        let values = [
            RecordStatement.Value(name: "title", tag: RecordSealer.tag(ofSealed: title)),
            RecordStatement.Value(name: "photos", tag: RecordSealer.tag(ofKeys: [photo, []])),
        ]
        func vector(
            _ name: String, after base: RecordStatement?, version: UInt64, _ values: [RecordStatement.Value],
            _ facts: RecordStatement.Facts
        ) throws -> (RecordStatement, Vector) {
            let statement = try RecordStatement(
                after: base, version: version, values: values, facts: facts, sealer: sealer, random: random(4))
            let texts = [
                "record": "note-1", "recordType": "Note", "parent": facts.parent ?? "", "creator": facts.creator,
                "names": values.map(\.name).sorted().joined(separator: " "),
            ]
            return (
                statement,
                Vector(
                    name, texts: place.merging(texts) { $1 },
                    numbers: ["epoch": 2, "version": version, "created": UInt64(facts.created ?? 0)],
                    bytes: [
                        "recordKey": sealer.key.material.bytes, "nonce": nonce(4),
                        "previous": base?.tag ?? Array(repeating: 0, count: 16),
                        "title": title, "photo": photo, "statement": statement.bytes,
                    ])
            )
        }
        let (base, first) = try vector(
            "the first of a new record", after: nil, version: 1_700_000_000_000, values,
            .init(parent: nil, creator: "_ada", created: nil))
        let (_, second) = try vector(
            "one made from it", after: base, version: 1_700_000_000_001, [values[0]],
            .init(parent: "list-1", creator: "_ada", created: 1_700_000_000_123))
        let moved = [
            "container", "environment", "owner", "zone", "record", "recordType", "parent", "creator",
        ].map { key in second.refused("of another record: \(key)") { $0.texts[key] = "other" } }
        return [first, second] + moved + [
            second.refused("another creation date") { $0.numbers["created"] = 1_700_000_000_124 },
            second.refused("another epoch") { $0.numbers["epoch"] = 3 },
            try second.refused("another version") { try $0.flip("statement", at: 8) },
            try second.refused("another one before it") { try $0.flip("statement", at: 9) },
            try second.refused("another tag of a value") { try $0.flip("statement", at: 44) },
            try second.refused("an older value") { try $0.flip("title", at: 30) },
            try second.refused("format version 0") { try $0.flip("statement", at: 0) },
            second.refused("cut short") { $0.bytes["statement"]?.removeLast(2) },
        ]
    }

    private func assetSecret(size: Int, checksum: [UInt8]? = nil) throws -> AssetSecret {
        var plain = PlainAssetChecksum()
        plain.update(Self.file(size))
        return try AssetSecret(plainSize: size, plainSHA256: checksum ?? plain.sha256, random: random(6))
    }

    private func assetKey() throws -> [Vector] {
        let sealer = RecordSealer(recordKey(5), recordType: "Note")
        let asset = try assetSecret(size: 5)
        func vector(_ name: String, position: Int?) throws -> Vector {
            let sealed = try sealer.seal(asset, field: "photo", position: position, random: random(3))
            let names = ["record": "note-1", "recordType": "Note", "field": "photo"]
            var numbers: [String: UInt64] = ["epoch": 2]
            numbers["position"] = position.map(UInt64.init)
            return Vector(
                name, texts: place.merging(names) { $1 }, numbers: numbers,
                bytes: [
                    "recordKey": sealer.key.material.bytes, "nonce": nonce(3), "assetSecret": asset.bytes,
                    "sealed": sealed,
                ])
        }
        let listed = try vector("second of a list", position: 1)
        return [
            try vector("a single asset", position: nil), listed,
            listed.refused("in another position") { $0.numbers["position"] = 0 },
            listed.refused("as a single asset") { $0.numbers["position"] = nil },
            listed.refused("in another field") { $0.texts["field"] = "thumbnail" },
            listed.refused("in another record") { $0.texts["record"] = "note-2" },
            try listed.refused("changed") { try $0.flip("sealed", at: 30) },
        ]
    }

    /// Byte i of a file is i modulo 251.
    static func file(_ size: Int) -> [UInt8] { (0..<size).map { UInt8($0 % 251) } }

    private func asset() throws -> [Vector] {
        func vector(_ size: Int) throws -> Vector {
            let secret = try assetSecret(size: size)
            let sealer = try AssetSealer(secret)
            let plain = Self.file(size)
            var sealed: [UInt8] = []
            for index in 0..<sealer.layout.chunkCount {
                try sealer.seal(chunk: index, plain[sealer.layout.plainRange(ofChunk: index)], into: &sealed)
            }
            var checksum = PlainAssetChecksum()
            checksum.update(sealed)
            var bytes = ["assetSecret": secret.bytes, "sealedSHA256": checksum.sha256]
            if size < 100 { bytes["sealed"] = sealed }
            return Vector("\(size) bytes", numbers: ["sealedSize": UInt64(sealed.count)], bytes: bytes)
        }
        let small = try vector(5)
        let other = try assetSecret(size: 5, checksum: Array(repeating: 0, count: 32))
        let vectors = try [0, 5, 65_535, 65_536, 65_537, 200_000].map(vector)
        let refused: [Vector] = [
            try small.refused("the header was changed") { try $0.flip("sealed", at: 3) },
            try small.refused("a byte was changed") { try $0.flip("sealed", at: 6) },
            small.refused("cut short") { $0.bytes["sealed"]?.removeLast(2) },
            small.refused("something was added") { $0.bytes["sealed"]? += "00" },
            small.refused("another checksum") { $0.bytes["assetSecret"] = other.bytes.hex },
        ]
        return vectors + refused
    }

    private func protection() throws -> [Vector] {
        func vector(
            _ name: String, kind: String, opener: [UInt8], openerEpoch: UInt32, openerName: String = "",
            key: RecordKey, inner: RecordKey, _ protection: RecordProtection
        ) -> Vector {
            Vector(
                name, texts: place.merging(["record": "note-1", "kind": kind, "opener": openerName]) { $1 },
                numbers: [
                    "epoch": UInt64(key.epoch), "openerEpoch": UInt64(openerEpoch),
                    "origin": UInt64(key.origin.rawValue),
                ],
                bytes: [
                    "openerKey": opener, "nonce": nonce(4), "key": inner.material.bytes, "keys": protection.keys,
                ])
        }
        let key = recordKey(5)
        let parent = recordKey(7, "folder-é")
        var underParent = RecordProtection(of: key)
        try underParent.wrap(key, under: parent, random: random(4))
        let made = recordKey(5, made: true)
        let shareKey = ShareKey(place: share, epoch: 9, material: self.key(8))
        var underShare = RecordProtection(of: made)
        try underShare.wrap(made, under: shareKey, random: random(4))
        let old = recordKey(11, epoch: 1)
        var kept = RecordProtection(of: key)
        try kept.keep(old, under: key, random: random(4))
        let first = vector(
            "under the parent's key", kind: "parent", opener: parent.material.bytes, openerEpoch: 2,
            openerName: "folder-é", key: key, inner: key, underParent)
        return [
            first,
            vector(
                "a member's, under a share's key", kind: "share", opener: shareKey.material.bytes, openerEpoch: 9,
                openerName: "share-1", key: made, inner: made, underShare),
            vector(
                "an earlier key under the present one", kind: "earlier", opener: key.material.bytes, openerEpoch: 1,
                key: key, inner: old, kept),
            first.refused("another record") { $0.texts["record"] = "note-2" },
            first.refused("another zone") { $0.texts["zone"] = "Other" },
            first.refused("another epoch") { $0.numbers["epoch"] = 3 },
            first.refused("another parent") { $0.texts["opener"] = "folder-2" },
            try first.refused("relabelled as a share's wrap") {
                $0.texts["kind"] = "share"
                var keys = try $0.bytes("keys")
                keys[4] = 2
                $0.bytes["keys"] = keys.hex
            },
            try first.refused("changed") { try $0.flip("keys", at: 40) },
            first.refused("cut short") { $0.bytes["keys"]?.removeLast(2) },
            first.refused("something was added") { $0.bytes["keys"]? += "00" },
        ]
    }

    // MARK: - Shares

    private func keyring() throws -> [Vector] {
        let present = ShareKey(place: share, epoch: 9, material: key(8))
        func vector(
            _ name: String, kind: String, entryEpoch: UInt32, inner: [UInt8],
            _ fill: (inout ShareKeyring) throws -> Void
        ) throws -> Vector {
            var ring = ShareKeyring(of: present)
            try fill(&ring)
            return Vector(
                name, texts: place.merging(["share": "share-1", "kind": kind]) { $1 },
                numbers: ["epoch": 9, "entryEpoch": UInt64(entryEpoch)],
                bytes: ["shareKey": present.material.bytes, "nonce": nonce(5), "key": inner, "ring": ring.bytes])
        }
        let earlier = ShareKey(place: share, epoch: 8, material: key(12))
        let zoneKey = ZoneKey(place: zone, epoch: 2, material: key(13))
        let first = try vector("an earlier share key", kind: "earlier", entryEpoch: 8, inner: earlier.material.bytes) {
            try $0.add(earlier: earlier, under: present, random: random(5))
        }
        return [
            first,
            try vector("the zone's key", kind: "zone", entryEpoch: 2, inner: zoneKey.material.bytes) {
                try $0.add(zoneKey, under: present, random: random(5))
            },
            try vector("the link's secret", kind: "link", entryEpoch: 0, inner: key(14).bytes) {
                try $0.add(ShareLinkSecret(key(14)), under: present, random: random(5))
            },
            first.refused("another share") { $0.texts["share"] = "share-2" },
            try first.refused("relabelled as a zone key") {
                $0.texts["kind"] = "zone"
                var ring = try $0.bytes("ring")
                ring[6] = 2
                $0.bytes["ring"] = ring.hex
            },
            try first.refused("relabelled as another epoch's") {
                $0.numbers["epoch"] = 8
                try $0.flip("ring", at: 4)
            },
            first.refused("cut short") { $0.bytes["ring"]?.removeLast(2) },
        ]
    }

    private func link() throws -> [Vector] {
        let secret = ShareLinkSecret(key(0xFB))
        let shareKey = ShareKey(place: share, epoch: 9, material: key(8))
        func vector(_ name: String, slot: String?) throws -> Vector {
            Vector(
                name,
                texts: place.merging(["share": "share-1", "fragment": secret.fragment, "seat": slot ?? ""]) { $1 },
                numbers: ["epoch": 9],
                bytes: [
                    "secret": secret.material.bytes, "key": shareKey.material.bytes, "nonce": nonce(6),
                    "wrapped": try secret.wrap(shareKey, participant: slot, random: random(6)),
                ])
        }
        let open = try vector("a link for everyone", slot: nil)
        let slot = try vector("a one-time link", slot: "p-1")
        return [
            open, slot, slot.refused("another's seat") { $0.texts["seat"] = "p-2" },
            slot.refused("a seat's key as everyone's") { $0.texts["seat"] = "" },
            open.refused("another share") { $0.texts["share"] = "share-2" },
            try open.refused("changed") { try $0.flip("wrapped", at: 30) },
            open.refused("the link was cut") { $0.texts["fragment"]?.removeLast(3) },
            open.refused("the link has no secret") { $0.texts["fragment"] = "title" },
        ]
    }
}

/// The same byte again and again.
private struct Repeating: RandomNumberGenerator, Sendable {
    var byte: UInt8
    mutating func next() -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }
}
