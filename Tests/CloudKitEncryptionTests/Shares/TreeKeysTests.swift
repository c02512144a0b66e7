import CloudKitEncryption
import Testing

@Suite(.timeLimit(.minutes(20))) struct TreeKeysTests {
    private let fixtures = Fixtures()
    private var zone: ZoneAddress { fixtures.zoneKey().place }

    private func share(_ epoch: UInt32 = 1) -> ShareKey {
        ShareKey(madeFor: RecordAddress(zone: zone, name: "share-1"), epoch: epoch, random: fixtures.random)
    }

    /// The protection of a record of the owner's, below a parent.
    private func owned(_ record: String, parent: String? = nil, share: ShareKey? = nil, epoch: UInt32 = 0) throws
        -> RecordProtection
    {
        let key = fixtures.zoneKey(epoch: epoch).recordKey(record)
        var protection = RecordProtection(of: key)
        if let parent { try protection.wrap(key, under: fixtures.zoneKey(epoch: epoch).recordKey(parent)) }
        if let share { try protection.wrap(key, under: share) }
        return protection
    }

    /// A device without the zone's key, that knows these shares.
    private func member(_ shares: ShareKey...) -> TreeKeys {
        var keys = TreeKeys(zone: zone)
        for share in shares { keys.add(share) }
        return keys
    }

    @Test func `B-E2E-01 a participant opens the ancestors of a record up to the shared root`() throws {
        let share = share()
        var keys = member(share)
        #expect(try keys.key(of: "file") == .needs(record: "file"))
        keys.learn(try owned("file", parent: "folder"), of: "file")
        #expect(try keys.key(of: "file") == .needs(record: "folder"))
        keys.learn(try owned("folder", parent: "root"), of: "folder")
        #expect(try keys.key(of: "file") == .needs(record: "root"))
        keys.learn(try owned("root", share: share), of: "root")
        guard case .opened(let key) = try keys.key(of: "file") else {
            Issue.record("does not open")
            return
        }
        let sealed = try fixtures.sealer("file").seal([1], field: "f", type: "ENCRYPTED_INT64")
        #expect(try RecordSealer(key, recordType: "Note").open(sealed, field: "f", type: "ENCRYPTED_INT64") == [1])
    }

    @Test func `the owner opens records that a participant added, through the share or the parent`() throws {
        let share = share()
        let made = RecordKey(madeFor: RecordAddress(zone: zone, name: "added"), epoch: 0, random: fixtures.random)
        var protection = RecordProtection(of: made)
        try protection.wrap(made, under: fixtures.zoneKey().recordKey("folder"))
        var owner = TreeKeys(zone: zone)
        owner.add(fixtures.zoneKey())
        owner.learn(protection, of: "added")
        owner.learn(try owned("folder"), of: "folder")
        #expect(try owner.key(of: "added") == .opened(made))
        try protection.wrap(made, under: share)
        var other = member(share)
        other.learn(protection, of: "added")
        #expect(try other.key(of: "added") == .opened(made))
    }

    @Test func `a non-member, or a removed participant, learns that no key opens`() throws {
        let refusal = EncryptionError.noKey(.recordKey(record: "root"))
        var removed = member(share(1))
        removed.learn(try owned("root", share: share(2), epoch: 1), of: "root")
        #expect(throws: refusal) { try removed.key(of: "root") }
        var alone = member()
        alone.learn(try owned("file", parent: "root"), of: "file")
        alone.learn(nil, of: "root")
        #expect(throws: refusal) { try alone.key(of: "file") }
        alone.learn(nil, of: "gone")
        #expect(throws: EncryptionError.noKey(.recordKey(record: "gone"))) { try alone.key(of: "gone") }
    }

    @Test func `a child not written since its parent's epoch changed still opens`() throws {
        let share = share()
        let old = fixtures.zoneKey(epoch: 0).recordKey("root")
        let new = fixtures.zoneKey(epoch: 2).recordKey("root")
        var root = RecordProtection(of: new)
        try root.keep(old, under: new)
        try root.wrap(new, under: share)
        var keys = member(share)
        keys.learn(try owned("file", parent: "root"), of: "file")
        keys.learn(root, of: "root")
        guard case .opened(let key) = try keys.key(of: "file") else {
            Issue.record("does not open")
            return
        }
        #expect(key.epoch == 0)
        #expect(key == fixtures.zoneKey().recordKey("file"))
    }

    @Test func `B-TM-12 circles, endless chains and wrong wraps are errors`() throws {
        var keys = member(share())
        keys.learn(try owned("a", parent: "b"), of: "a")
        keys.learn(try owned("b", parent: "a"), of: "b")
        #expect(throws: EncryptionError.malformed(.recordKey(record: "a"), reason: "its parents form a circle")) {
            try keys.key(of: "a")
        }
        for index in 0..<200 { keys.learn(try owned("r\(index)", parent: "r\(index + 1)"), of: "r\(index)") }
        #expect(throws: EncryptionError.self) { try keys.key(of: "r0") }
        keys.learn(try owned("x", share: share()), of: "x")
        #expect(throws: EncryptionError.doesNotOpen(.recordKey(record: "x"))) { try keys.key(of: "x") }
    }

    @Test func `found trees are cached, and removed when the record is protected otherwise`() throws {
        let share = share()
        var keys = member(share)
        keys.learn(try owned("root", share: share), of: "root")
        #expect(try keys.key(of: "root") == .opened(fixtures.zoneKey().recordKey("root")))
        keys.learn(try owned("root", share: self.share(9)), of: "root")
        #expect(throws: EncryptionError.noKey(.recordKey(record: "root"))) { try keys.key(of: "root") }
    }
}
