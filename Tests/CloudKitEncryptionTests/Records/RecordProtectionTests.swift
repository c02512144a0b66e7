import CloudKitEncryption
import Testing

@Suite(.timeLimit(.minutes(20))) struct RecordProtectionTests {
    private let fixtures = Fixtures()
    private var zoneKey: ZoneKey { fixtures.zoneKey() }

    private func share(_ epoch: UInt32 = 0) -> ShareKey {
        ShareKey(madeFor: RecordAddress(zone: zoneKey.place, name: "share-1"), epoch: epoch, random: fixtures.random)
    }

    private func travelled(_ protection: RecordProtection) throws -> RecordProtection {
        let back = try RecordProtection(epoch: protection.epoch, keys: protection.keys)
        #expect(back == protection)
        return back
    }

    @Test func `a derived key without parent needs no bytes`() throws {
        let key = zoneKey.recordKey("note-1")
        let protection = RecordProtection(of: key)
        #expect(protection.keys.isEmpty)
        #expect(try travelled(protection).key(of: "note-1", zoneKey: zoneKey) == key)
        #expect(throws: EncryptionError.wrongEpoch(.zoneKey(zone: "Notes"), found: 1, expected: 0)) {
            try protection.key(of: "note-1", zoneKey: fixtures.zoneKey(epoch: 1))
        }
    }

    @Test func `B-E2E-01 a child opens through its parent, also one whose parent was never written`() throws {
        let key = zoneKey.recordKey("file-1")
        let folder = zoneKey.recordKey("folder-1")
        var protection = RecordProtection(of: key)
        try protection.wrap(key, under: folder)
        let back = try travelled(protection)
        #expect(try back.key(of: "file-1", parent: folder) == key)
        #expect(throws: EncryptionError.noKey(.recordKey(record: "file-1"))) {
            try back.key(of: "file-1", parent: zoneKey.recordKey("folder-2"))
        }
        #expect(throws: EncryptionError.doesNotOpen(.recordKey(record: "file-2"))) {
            try back.key(of: "file-2", parent: folder)
        }
    }

    @Test func `B-TM-11 moving a record replaces the wrap for its old parent`() throws {
        let key = zoneKey.recordKey("file-1")
        var protection = RecordProtection(of: key)
        try protection.wrap(key, under: zoneKey.recordKey("folder-1"))
        try protection.wrap(key, under: zoneKey.recordKey("folder-2"))
        #expect(protection.wraps.map(\.opener) == [.parent(record: "folder-2", epoch: 0)])
        protection.removeParent()
        #expect(protection.keys.isEmpty)
    }

    @Test func `B-E2E-01 a key made by a member opens through the share, for the owner too`() throws {
        let share = share()
        let made = RecordKey(
            madeFor: RecordAddress(zone: zoneKey.place, name: "file-9"), epoch: 0, random: fixtures.random)
        var protection = RecordProtection(of: made)
        try protection.wrap(made, under: share)
        let back = try travelled(protection)
        #expect(back.origin == .made)
        #expect(try back.key(of: "file-9", share: share) == made)
        #expect(throws: EncryptionError.noKey(.recordKey(record: "file-9"))) {
            try back.key(of: "file-9", zoneKey: zoneKey)
        }
        var cut = protection
        cut.removeShare("share-1")
        #expect(throws: EncryptionError.noKey(.recordKey(record: "file-9"))) { try cut.key(of: "file-9", share: share) }
    }

    @Test func `B-TM-05 a removed participant's share key does not open later values`() throws {
        let before = share(0)
        let after = share(1)
        let key = fixtures.zoneKey(epoch: 1).recordKey("file-1")
        var protection = RecordProtection(of: key)
        try protection.wrap(key, under: after)
        #expect(try protection.key(of: "file-1", share: after) == key)
        #expect(throws: EncryptionError.noKey(.recordKey(record: "file-1"))) {
            try protection.key(of: "file-1", share: before)
        }
    }

    @Test func `a holder of the current key can open an earlier epoch's`() throws {
        let old = zoneKey.recordKey("folder-1")
        let new = fixtures.zoneKey(epoch: 4).recordKey("folder-1")
        var protection = RecordProtection(of: new)
        try protection.keep(old, under: new)
        let opened = try travelled(protection).earlierKey(0, key: new)
        #expect(opened.epoch == 0)
        var child = RecordProtection(of: zoneKey.recordKey("file-1"))
        try child.wrap(zoneKey.recordKey("file-1"), under: old)
        #expect(try child.key(of: "file-1", parent: opened) == zoneKey.recordKey("file-1"))
        #expect(throws: EncryptionError.noKey(.recordKey(record: "folder-1"))) {
            try protection.earlierKey(3, key: new)
        }
        #expect(throws: EncryptionError.self) { try protection.keep(new, under: new) }
        // Nor under a key of the record that is not the present one, or is another record's.
        let kept = protection
        for wrong in [
            fixtures.zoneKey(epoch: 3).recordKey("folder-1"), fixtures.zoneKey(epoch: 4).recordKey("folder-2"),
        ] {
            #expect(throws: EncryptionError.self) { try protection.keep(old, under: wrong) }
        }
        #expect(protection == kept)
    }

    @Test func `B-TM-04 a wrap opens for its own record, epoch and opener only`() throws {
        let key = zoneKey.recordKey("file-1")
        let share = share()
        var protection = RecordProtection(of: key)
        try protection.wrap(key, under: share)
        var relabelled = protection.keys
        relabelled[4] = 1
        let asParent = try RecordProtection(epoch: 0, keys: relabelled)
        #expect(asParent.wraps.map(\.opener) == [.parent(record: "share-1", epoch: 0)])
        let elsewhere = try RecordProtection(epoch: 1, keys: protection.keys)
        #expect(throws: EncryptionError.doesNotOpen(.recordKey(record: "file-1"))) {
            try elsewhere.key(of: "file-1", share: share)
        }
    }

    @Test func `a protection takes the key of its own epoch alone for the owner`() throws {
        let owner = try fixtures.secret.identity().publicIdentity
        let key = fixtures.zoneKey(epoch: 1).recordKey("file-1")
        var protection = RecordProtection(of: key)
        #expect(throws: EncryptionError.wrongEpoch(.recordKey(record: "file-1"), found: 0, expected: 1)) {
            try protection.wrap(zoneKey.recordKey("file-1"), for: owner)
        }
        #expect(protection.wraps.isEmpty)
        try protection.wrap(key, for: owner)
        #expect(protection.wraps.map(\.opener) == [.owner])
    }

    @Test func `invalid values are refused`() throws {
        let key = zoneKey.recordKey("file-1")
        var protection = RecordProtection(of: key)
        #expect(throws: EncryptionError.self) { try protection.wrap(key, under: key) }
        #expect(throws: EncryptionError.self) {
            try protection.wrap(key, under: fixtures.zoneKey("Other").recordKey("folder"))
        }
        #expect(throws: EncryptionError.self) {
            try protection.wrap(fixtures.zoneKey(epoch: 1).recordKey("file-1"), under: share())
        }
        #expect(throws: EncryptionError.self) {
            try protection.wrap(key, under: zoneKey.recordKey(String(repeating: "x", count: 2000)))
        }
        try protection.wrap(key, under: share())
        let keys = protection.keys
        for count in 1..<keys.count {
            #expect(throws: EncryptionError.self) { try RecordProtection(epoch: 0, keys: Array(keys[..<count])) }
        }
        #expect(throws: EncryptionError.self) { try RecordProtection(epoch: 0, keys: keys + [0]) }
        #expect(throws: EncryptionError.unknownVersion(.protection, 2)) {
            try RecordProtection(epoch: 0, keys: [2] + keys.dropFirst())
        }
        #expect(throws: EncryptionError.tooMany(.protection, limit: 900)) {
            try RecordProtection(epoch: 0, keys: [1, 0, 0xFF, 0xFF])
        }
        var doubled = keys
        doubled[3] = 2
        #expect(throws: EncryptionError.malformed(.protection, reason: "two wraps for one key")) {
            try RecordProtection(epoch: 0, keys: doubled + keys.dropFirst(4))
        }
    }
}
