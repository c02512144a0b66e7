import CloudKitEncryption
import CloudKitModel
import Testing

@testable import CloudKitClient
@testable import ScriptedCloud

@Suite(.timeLimit(.minutes(20))) struct ZoneKeysTests {
    private func opened(_ record: Record, _ keys: ZoneKeys = SampleKeys.zone()) throws -> [FieldValue] {
        var keys = keys
        let cipher = try keys.cipher(opening: record)
        return try record.fields.map { try cipher.open($0).value() }
    }

    @Test func `B-ENC-01 another device of the account opens sealed values`() throws {
        let values: [String: FieldValue] = [
            "a": .string("x"), "b": .int64(-1), "c": .double(0.5), "d": .timestamp(3), "e": .bytes([0, 255]),
            "f": .location(LocationValue(latitude: 1, longitude: 2)), "g": .list(.string, [.string("y")]),
            "h": .list(.unknown, []),
        ]
        let record = try SampleKeys.record("r", values)
        #expect(record.protection?.hasSameKeys(as: Protection(epoch: 0)) == true)
        #expect(record.fields.allSatisfy { $0.type.isEncrypted && $0.sealedEpoch == 0 })
        #expect(try opened(record) == values.sorted { $0.key < $1.key }.map(\.value))
    }

    @Test func `B-ENC-03 a value opens in the field that took it, though its device knew another type`() throws {
        var record = try SampleKeys.record("r", ["n": .list(.int64, [.int64(1)]), "o": .list(.unknown, [])])
        record.fields[0].type = FieldType(.double, isList: true, isEncrypted: true)
        record.fields[1].type = FieldType(.double, isList: true, isEncrypted: true)
        #expect(try opened(record) == [.list(.int64, [.int64(1)]), .list(.unknown, [])])
        record.fields[0].type = FieldType(.string, isList: true, isEncrypted: true)
        #expect(throws: EncryptionError.self) { try opened(record) }
    }

    @Test func `B-TM-04 a value opens in its own place only`() throws {
        let record = try SampleKeys.record("r", ["a": .string("x")])
        func refused(_ change: (inout Record) -> Void, _ keys: ZoneKeys = SampleKeys.zone()) -> Bool {
            var moved = record
            change(&moved)
            return (try? opened(moved, keys)) == nil
        }
        #expect(refused { $0.id.recordName = "s" })
        #expect(refused { $0.recordType = "Other" })
        #expect(refused { $0.fields[0].name = "b" })
        #expect(refused { $0.fields[0].type.base = .bytes })
        #expect(refused { $0.protection?.epoch = 1 })
        #expect(refused { $0.protection = nil })
        #expect(refused({ _ in }, SampleKeys.zone("Y")))
        #expect(refused({ _ in }, SampleKeys.zone(owner: "_you")))
        #expect(refused({ _ in }, SampleKeys.zone(secret: AccountSecret())))
        #expect(!refused { _ in })
    }

    @Test func `B-TM-05 a share's next epoch leads to the one before, also after an epoch that the cloud refused`()
        throws
    {
        var keys = SampleKeys.zone()
        let share = RecordAddress(zone: keys.place, name: "S")
        for epoch: UInt32 in [1, 3] { keys.shared.add(keys.access.root.shareKey(of: share, epoch: epoch)) }
        let next = keys.access.root.shareKey(of: share, epoch: 3)
        let earlier = try #require(keys.shared.latestKey(of: "S", below: 3))
        #expect(earlier.epoch == 1)
        var ring = ShareKeyring(of: next)
        try ring.add(earlier: earlier, under: next)
        #expect(try ring.earlierKeys(next).map(\.epoch) == [1])
        #expect(keys.shared.latestKey(of: "S", below: 1) == nil)
    }

    @Test func `B-TM-05 a new epoch gives a record a new key and keeps the earlier ones within reach`() throws {
        let first = try SampleKeys.record("r", ["a": .string("x")], parent: "p")
        let held = try #require(first.protection)
        var keys = SampleKeys.zone()
        let same = try keys.cipher(
            sealing: "r", recordType: "Note", parent: "p", isMoved: false, held: held)
        #expect(same.protection == held)
        var latest = held
        for epoch in UInt32(1)...3 {
            var keys = SampleKeys.zone(epoch: epoch)
            latest = try keys.cipher(
                sealing: "r", recordType: "Note", parent: "p", isMoved: false, held: latest
            ).protection
        }
        #expect(latest.epoch == 3)
        let wraps = try RecordProtection(latest).wraps.map(\.opener)
        #expect(
            Set(wraps) == [
                .parent(record: "p", epoch: 3), .present(earlier: 0), .present(earlier: 1), .present(earlier: 2),
            ])
        // Values of any epoch are opened, also of an earlier one than the current.
        #expect(try opened(first, SampleKeys.zone(epoch: 3)) == [.string("x")])
    }

    @Test func `B-TM-05 a record that is written in epoch after epoch keeps the newest of its keys`() throws {
        var keys = SampleKeys.zone(epoch: 700)
        let key = try keys.cipher(sealing: "r", recordType: "Note", parent: nil, isMoved: false, held: nil).sealer.key
        var protection = RecordProtection(of: key)
        for epoch in UInt32(100)..<699 {
            var old = SampleKeys.zone(epoch: epoch)
            let earlier = try old.cipher(sealing: "r", recordType: "Note", parent: nil, isMoved: false, held: nil)
            try protection.keep(earlier.sealer.key, under: key)
        }
        var next = SampleKeys.zone(epoch: 701)
        let sealing = try next.cipher(
            sealing: "r", recordType: "Note", parent: nil, isMoved: false,
            held: Protection(epoch: protection.epoch, keys: protection.keys))
        let kept = try RecordProtection(sealing.protection).wraps.map(\.opener)
        #expect(kept.count == 501)
        for epoch in [UInt32(700), 698, 199] { #expect(kept.contains(.present(earlier: epoch))) }
        #expect(!kept.contains(.present(earlier: 198)))
    }

    @Test func `B-TM-11 moving a record wraps the same key for its new parent`() throws {
        let first = try SampleKeys.record("r", ["a": .string("x")], parent: "p")
        var keys = SampleKeys.zone()
        let moved = try keys.cipher(
            sealing: "r", recordType: "Note", parent: "q", isMoved: true, held: first.protection)
        #expect(try RecordProtection(moved.protection).wraps.map(\.opener) == [.parent(record: "q", epoch: 0)])
        #expect(try moved.open(first.fields[0]).value() == .string("x"))
        let orphan = try keys.cipher(
            sealing: "r", recordType: "Note", parent: nil, isMoved: true, held: moved.protection)
        #expect(orphan.protection == Protection(epoch: 0))
    }

    @Test func `the owner opens records that a participant without the zone's key made below a parent`() throws {
        let place = RecordAddress(zone: SampleKeys.zone().place, name: "child")
        let key = RecordKey(madeFor: place, epoch: 0)
        var protection = RecordProtection(of: key)
        let root = SampleKeys.secret.root(container: place.zone.container, environment: place.zone.environment)
        let parent = root.zoneKey(owner: "_me", zone: "Z", epoch: 0).recordKey("p")
        try protection.wrap(key, under: parent)
        var record = Record.stored("child", in: ZoneID(zoneName: "Z"))
        record.protection = Protection(epoch: 0, keys: protection.keys)
        let cipher = RecordCipher(key, recordType: "Note", protection: Protection(epoch: 0, keys: protection.keys))
        record.fields = [try cipher.seal(Field(name: "a", value: .int64(1)))]
        #expect(try opened(record) == [.int64(1)])
        // The owner's values in it are sealed under the same key.
        var keys = SampleKeys.zone()
        let again = try keys.cipher(
            sealing: "child", recordType: "Note", parent: "p", isMoved: false, held: record.protection)
        #expect(try again.open(record.fields[0]).value() == .int64(1))
        var alone = RecordProtection(of: key)
        alone.removeParent()
        record.protection = Protection(epoch: 0, keys: alone.keys)
        #expect(throws: EncryptionError.noKey(.recordKey(record: "child"))) { try opened(record) }
    }
}
