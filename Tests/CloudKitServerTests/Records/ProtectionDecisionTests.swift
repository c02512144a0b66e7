import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct ProtectionDecisionTests {
    private func value(_ name: String, epoch: UInt32 = 0) -> Field { sealedField(name, epoch: epoch) }

    private func decide(
        _ set: [Field], keeping: [Field] = [], sent: Protection?, held: Protection? = nil, zoneEpoch: UInt32 = 0,
        checksTag: Bool = true, changesStated: Bool? = nil, created: Int64? = nil, deleted: LastStatement? = nil
    ) -> ProtectionDecision {
        ProtectionDecision(
            set: set, merged: keeping + set, sent: sent, held: held, zoneEpoch: zoneEpoch, checksTag: checksTag,
            changesStated: changesStated ?? !set.isEmpty, created: created, deleted: deleted)
    }

    @Test func `B-ENC-07 every change of a sealed value brings the statement that follows the record's`() {
        let held = Protection(epoch: 0).stated(1)
        let next = Protection(epoch: 0).stated(2, after: held)
        #expect(decide([value("s")], sent: next, held: held) == .store(next))
        #expect(decide([value("s")], sent: next, held: held, checksTag: false) == .store(next))
        // One that was made from another version, from none, or for a record that is gone.
        #expect(decide([value("s")], sent: next, held: next) == .refuse(.unstated))
        // The same save again, because its answer was lost.
        #expect(decide([value("s")], sent: next, held: next, changesStated: false) == .store(next))
        let other = Protection(epoch: 0).stated(3, after: held)
        #expect(decide([value("s")], sent: other, held: next) == .refuse(.staleRecordStatement))
        #expect(decide([value("s")], sent: held, held: next) == .refuse(.staleRecordStatement))
        #expect(decide([value("s")], sent: next) == .refuse(.staleRecordStatement))
        #expect(decide([value("s")], sent: next, held: Protection(epoch: 0)) == .refuse(.staleRecordStatement))
    }

    @Test func `B-ENC-07 a statement of a record that was deleted is not that of its successor`() {
        // A device that knew the deleted record without a statement names its creation.
        let first = Protection(epoch: 0).stated(1, created: 17)
        let unstated = Protection(epoch: 0)
        #expect(decide([value("s")], sent: first, held: unstated, checksTag: false, created: 17) == .store(first))
        #expect(
            decide([value("s")], sent: first, held: unstated, checksTag: false, created: 18)
                == .refuse(.staleRecordStatement))
        #expect(decide([value("s")], sent: first, checksTag: false) == .refuse(.staleRecordStatement))
        // The statement that the deleted record had.
        let last = Protection(epoch: 0).stated(1)
        let tag = Array(StatementForm.tag(of: last.statement))
        // Of a cloud that kept no versions of deleted records.
        let deleted = LastStatement(version: nil, tag: tag)
        #expect(decide([value("s")], sent: last, deleted: deleted) == .refuse(.staleRecordStatement))
        let other = Protection(epoch: 0).stated(2)
        #expect(decide([value("s")], sent: other, deleted: deleted) == .store(other))
    }

    @Test func `B-ENC-07 a record that is created again has a higher version than the deleted one`() {
        let deleted = LastStatement(version: 5, tag: Array(repeating: 9, count: StatementForm.tagBytes))
        for number: UInt64 in [1, 5] {
            let sent = Protection(epoch: 0).stated(number)
            #expect(decide([value("s")], sent: sent, deleted: deleted) == .refuse(.staleRecordStatement(after: 5)))
        }
        let next = Protection(epoch: 0).stated(6)
        #expect(decide([value("s")], sent: next, deleted: deleted) == .store(next))
    }

    @Test func `B-ENC-07 a protected record is neither stripped nor moved without a statement`() {
        let held = Protection(epoch: 0).stated(1)
        #expect(decide([], sent: nil, held: held) == .store(held))
        #expect(decide([], sent: nil, held: held, changesStated: true) == .refuse(.unstated))
        #expect(decide([], sent: Protection(epoch: 0), held: held) == .refuse(.unstated))
        #expect(decide([], sent: held, held: held, changesStated: true) == .refuse(.unstated))
        #expect(decide([], sent: held, held: held) == .store(held))
        let next = Protection(epoch: 0).stated(2, after: held)
        #expect(decide([], sent: next, held: held, changesStated: true) == .store(next))
        // A record in a tree that holds nothing sealed has no statement.
        let wrapped = Protection(epoch: 0, keys: [1])
        #expect(decide([], sent: wrapped, held: nil, changesStated: false) == .store(wrapped))
        #expect(decide([value("s")], sent: wrapped) == .refuse(.unstated))
    }

    @Test func `B-ENC-07 bytes that are no statement are refused`() {
        var short = Protection(epoch: 0).stated()
        short.statement.removeLast(30)
        var later = Protection(epoch: 0).stated()
        later.statement[0] = 2
        for bad in [short, later] { #expect(decide([value("s")], sent: bad) == .refuse(.malformedStatement)) }
        var large = Protection(epoch: 0).stated()
        large.statement += Array(repeating: 0, count: Protection.statementBytesMax)
        #expect(decide([value("s")], sent: large) == .refuse(.protectionTooLarge))
    }

    @Test func `B-TM-11 an unconditional save does not change the recipients of the record's key`() {
        let held = Protection(epoch: 0, keys: [1]).stated()
        let rewrapped = Protection(epoch: 0, keys: [2]).stated(2, after: held)
        let next = Protection(epoch: 0, keys: [1]).stated(2, after: held)
        func overwrite(_ sent: Protection, _ held: Protection?) -> ProtectionDecision {
            decide([value("s")], sent: sent, held: held, checksTag: false)
        }
        #expect(overwrite(rewrapped, held) == .refuse(.staleKeyEpoch))
        #expect(overwrite(next, held) == .store(next))
        #expect(overwrite(held, nil) == .store(held))
        #expect(decide([value("s")], sent: rewrapped, held: held) == .store(rewrapped))
    }

    @Test func `B-ENC-01 a save without encrypted values keeps the protection and asks for none`() {
        let plain = Field(name: "a", type: .string, json: Array(#""x""#.utf8))
        #expect(decide([plain], sent: nil, changesStated: false) == .store(nil))
        let held = Protection(epoch: 0, keys: [1])
        let kept = decide(
            [plain], keeping: [value("s")], sent: nil, held: held, zoneEpoch: 3, changesStated: false)
        #expect(kept == .store(held))
    }

    @Test func `a value that is not in sealed form is refused`() {
        let clear = Field(name: "s", type: FieldType(.string, isEncrypted: true), json: Array(#""hello""#.utf8))
        let short = Field(name: "s", type: .string, sealed: [1, 0, 0, 0, 0, 9])
        let later = Field(name: "s", type: .string, sealed: [2, 0, 0, 0, 0] + Array(repeating: 9, count: 40))
        for bad in [clear, short, later] {
            #expect(decide([bad], sent: Protection(epoch: 0)) == .refuse(.notSealed("s")))
        }
    }

    @Test func `sealed values come with the protection of their record`() {
        let stated = Protection(epoch: 0).stated()
        #expect(decide([value("s")], sent: stated) == .store(stated))
        #expect(decide([value("s")], sent: nil, held: Protection(epoch: 0)) == .refuse(.unprotected))
        let large = Protection(epoch: 0, keys: Array(repeating: 0, count: Protection.keysBytesMax + 1))
        #expect(decide([value("s")], sent: large) == .refuse(.protectionTooLarge))
    }

    @Test func `B-TM-05 values are sealed under the zone's epoch, all of a record under one`() {
        #expect(decide([value("s")], sent: Protection(epoch: 0), zoneEpoch: 1) == .refuse(.staleKeyEpoch))
        #expect(decide([], sent: Protection(epoch: 0), zoneEpoch: 1) == .refuse(.staleKeyEpoch))
        #expect(decide([value("s", epoch: 2)], sent: Protection(epoch: 2), zoneEpoch: 1) == .refuse(.staleKeyEpoch))
        #expect(decide([value("s", epoch: 0)], sent: Protection(epoch: 1), zoneEpoch: 1) == .refuse(.otherKeyEpoch))
    }

    @Test func `B-TM-05 another key requires that all values are sealed again`() {
        let held = Protection(epoch: 0).stated()
        let next = Protection(epoch: 1).stated(2, after: held)
        let partial = decide(
            [value("a", epoch: 1)], keeping: [value("b")], sent: next, held: held, zoneEpoch: 1)
        #expect(partial == .refuse(.staleKeyEpoch))
        let whole = decide(
            [value("a", epoch: 1), value("b", epoch: 1)], sent: next, held: held, zoneEpoch: 1)
        #expect(whole == .store(next))
        let rewrapped = Protection(epoch: 0, keys: [1]).stated(2, after: held)
        let stated = Protection(epoch: 0).stated(2, after: held)
        #expect(decide([value("a")], keeping: [value("b")], sent: rewrapped, held: held) == .refuse(.staleKeyEpoch))
        #expect(decide([value("a")], keeping: [value("b")], sent: stated, held: held) == .store(stated))
        let wrapped = Protection(epoch: 0, keys: [1])
        #expect(decide([], sent: wrapped, held: nil) == .store(wrapped))
    }

    @Test func `B-TM-05 another key requires that the keys of files are sealed again`() throws {
        func asset(_ name: String, key: String?) throws -> Field {
            try Field(name: name, value: .asset(AssetValue(fileChecksum: "c", size: 1, wrappingKey: key)))
        }
        let held = Protection(epoch: 0).stated()
        let next = Protection(epoch: 1).stated(2, after: held)
        func decide(_ set: [Field], keeping: [Field]) -> ProtectionDecision {
            self.decide(set, keeping: keeping, sent: next, held: held, zoneEpoch: 1)
        }
        #expect(
            decide([value("a", epoch: 1)], keeping: [try asset("file", key: "k")]) == .refuse(.staleKeyEpoch))
        #expect(decide([value("a", epoch: 1)], keeping: [try asset("file", key: nil)]) == .store(next))
        #expect(decide([value("a", epoch: 1), try asset("file", key: "l")], keeping: []) == .store(next))
    }
}
