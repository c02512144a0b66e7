import SeededChance
import Testing

@testable import CloudKitEncryption

/// No parser traps on any bytes of the cloud or of a file, and accepted bytes are written again unchanged.
@Suite(.timeLimit(.minutes(20))) struct FuzzTests {
    private let fixtures = Fixtures()
    private let place: RecordAddress
    private let share: RecordAddress

    init() {
        place = RecordAddress(zone: fixtures.zoneKey().place, name: "note-1")
        share = RecordAddress(zone: fixtures.zoneKey().place, name: "share-1")
    }

    /// Changes, cuts, doubles or inserts; sometimes throws everything away.
    private func mutated(_ bytes: [UInt8], _ chance: inout SplitMix64) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0..<3, using: &chance) {
            let index = Int.random(in: 0...bytes.count, using: &chance)
            switch Int.random(in: 0..<6, using: &chance) {
            case 0 where index < bytes.count: bytes[index] = UInt8.random(in: 0...255, using: &chance)
            case 1: bytes.removeSubrange(index...)
            case 2: bytes.insert(contentsOf: bytes[index...].prefix(9), at: index)
            case 3 where index < bytes.count: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
            case 4: bytes.insert(UInt8.random(in: 0...255, using: &chance), at: index)
            default:
                guard Int.random(in: 0..<8, using: &chance) == 0 else { continue }
                let count = Int.random(in: 0..<200, using: &chance)
                bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &chance) }
            }
        }
        return bytes
    }

    /// Feeds a parser; it may refuse with an `EncryptionError` only.
    private func feed(
        _ valid: [UInt8], rounds: Int = 500, seed: UInt64, _ parse: ([UInt8]) throws(EncryptionError) -> [UInt8]?
    ) {
        var chance = SplitMix64(seed: seed)
        for round in 0..<rounds {
            let bytes = mutated(valid, &chance)
            do throws(EncryptionError) {
                guard let again = try parse(bytes) else { continue }
                #expect(again == bytes, "seed \(seed), round \(round)")
            } catch {
                continue
            }
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func `protections`(seed: UInt64) throws {
        let key = fixtures.zoneKey(epoch: 1).recordKey("note-1")
        var protection = RecordProtection(of: key)
        try protection.wrap(key, under: fixtures.zoneKey(epoch: 1).recordKey("folder"))
        try protection.wrap(key, under: ShareKey(madeFor: share, epoch: 1))
        try protection.keep(fixtures.zoneKey().recordKey("note-1"), under: key)
        feed(protection.keys, seed: seed) { bytes throws(EncryptionError) in
            let read = try RecordProtection(epoch: 1, keys: bytes)
            // A protection that says nothing can be written in two ways.
            return read.keys.isEmpty ? nil : read.keys
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func `keyrings, invitations, identities`(seed: UInt64) throws {
        let key = ShareKey(madeFor: share, epoch: 2)
        var ring = ShareKeyring(of: key)
        try ring.add(earlier: ShareKey(madeFor: share, epoch: 1), under: key)
        try ring.add(fixtures.zoneKey(), under: key)
        feed(ring.bytes, seed: seed) { bytes throws(EncryptionError) in
            let read = try ShareKeyring(bytes: bytes, share: share)
            _ = try read.zoneKeys(key)
            return nil
        }
        let identity = try fixtures.secret.identity()
        feed(identity.publicIdentity.bytes, rounds: 200, seed: seed) { bytes throws(EncryptionError) in
            try PublicIdentity(bytes: bytes).bytes
        }
        let invitation = try SealedShareInvitation(
            key, to: "p", identity: identity.publicIdentity, by: "_ada", with: identity, administrator: true)
        feed(invitation.bytes, rounds: 200, seed: seed) { bytes throws(EncryptionError) in
            try SealedShareInvitation(bytes: bytes, share: share).bytes
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func `sealed values`(seed: UInt64) throws {
        let sealer = fixtures.sealer()
        let field = try sealer.seal([1, 2, 3], field: "f", type: "ENCRYPTED_BYTES")
        feed(field, seed: seed) { bytes throws(EncryptionError) in
            let plain = try sealer.open(bytes, field: "f", type: "ENCRYPTED_BYTES")
            #expect(plain == [1, 2, 3])
            return field
        }
        let secret = try AssetSecret(plainSize: 3, plainSHA256: Array(repeating: 0, count: 32))
        let asset = try sealer.seal(secret, field: "f")
        feed(asset, seed: seed) { bytes throws(EncryptionError) in
            let opened = try sealer.openAsset(bytes, field: "f")
            #expect(opened == secret)
            return asset
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func `assets and their secrets`(seed: UInt64) throws {
        let secret = try AssetSecret(plainSize: 3, plainSHA256: Array(repeating: 0, count: 32))
        feed(secret.bytes, seed: seed) { bytes throws(EncryptionError) in
            let read = try AssetSecret(bytes: bytes)
            let layout = try AssetSealer(read).layout
            let back = try AssetLayout(sealedSize: layout.sealedSize)
            #expect(back == layout)
            return read.bytes
        }
        let opener = try AssetOpener(secret)
        var sealed: [UInt8] = []
        try AssetSealer(secret).seal(chunk: 0, [1, 2, 3] as [UInt8], into: &sealed)
        feed(sealed, seed: seed) { bytes throws(EncryptionError) in
            var plain: [UInt8] = []
            try opener.open(chunk: 0, bytes[...], into: &plain)
            #expect(plain == [1, 2, 3])
            return sealed
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func `links, wraps, account secrets, recovery words`(seed: UInt64)
        throws
    {
        let link = ShareLinkSecret(random: fixtures.random)
        feed(Array(link.fragment.utf8), seed: seed) { bytes throws(EncryptionError) in
            _ = try ShareLinkSecret(fragment: String(decoding: bytes, as: UTF8.self))
            return nil
        }
        let wrapped = try link.wrap(ShareKey(madeFor: share, epoch: 1))
        feed(wrapped, seed: seed) { bytes throws(EncryptionError) in
            _ = try link.open(bytes, share: share)
            return wrapped
        }
        let recovery = RecoveryKey(random: fixtures.random)
        let sealed = try fixtures.secret.sealed(under: recovery.wrappingKey, account: "a")
        feed(sealed, seed: seed) { bytes throws(EncryptionError) in
            _ = try AccountSecret(sealed: bytes, under: recovery.wrappingKey, account: "a")
            return sealed
        }
        feed(Array(recovery.words.joined(separator: " ").utf8), rounds: 50, seed: seed) {
            bytes throws(EncryptionError) in
            do throws(RecoveryKeyError) {
                _ = try RecoveryKey(words: String(decoding: bytes, as: UTF8.self))
            } catch {
                #expect(!error.description.isEmpty)
            }
            return nil
        }
    }
}
