import CloudKitModel
import CloudKitServer
import Testing

@Suite struct ProtectionDecisionTests {
    private func value(_ name: String, epoch: UInt32 = 0) -> Field { sealedField(name, epoch: epoch) }

    private func decide(
        _ set: [Field], keeping: [Field] = [], sent: Protection?, held: Protection? = nil, zoneEpoch: UInt32 = 0,
        checksTag: Bool = true
    ) -> ProtectionDecision {
        ProtectionDecision(
            set: set, merged: keeping + set, sent: sent, held: held, zoneEpoch: zoneEpoch, checksTag: checksTag)
    }

    @Test func `B-TM-11 an unconditional save does not change the recipients of the record's key`() {
        let (held, rewrapped) = (Protection(epoch: 0, keys: [1]), Protection(epoch: 0, keys: [2]))
        func overwrite(_ sent: Protection, _ held: Protection?) -> ProtectionDecision {
            decide([value("s")], sent: sent, held: held, checksTag: false)
        }
        #expect(overwrite(rewrapped, held) == .refuse(.staleKeyEpoch))
        #expect(overwrite(held, held) == .store(held))
        #expect(overwrite(rewrapped, nil) == .store(rewrapped))
        #expect(decide([value("s")], sent: rewrapped, held: held) == .store(rewrapped))
    }

    @Test func `B-ENC-01 a save without encrypted values keeps the protection and asks for none`() {
        let plain = Field(name: "a", type: .string, json: Array(#""x""#.utf8))
        #expect(decide([plain], sent: nil) == .store(nil))
        let held = Protection(epoch: 0, keys: [1])
        #expect(decide([plain], keeping: [value("s")], sent: nil, held: held, zoneEpoch: 3) == .store(held))
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
        #expect(decide([value("s")], sent: Protection(epoch: 0)) == .store(Protection(epoch: 0)))
        #expect(decide([value("s")], sent: nil, held: Protection(epoch: 0)) == .refuse(.unprotected))
        let large = Protection(epoch: 0, keys: Array(repeating: 0, count: Protection.keysBytesMax + 1))
        #expect(decide([value("s")], sent: large) == .refuse(.protectionTooLarge))
    }

    @Test func `B-TM-05 values are sealed under the zone's epoch, all of a record under one`() {
        #expect(decide([value("s")], sent: Protection(epoch: 0), zoneEpoch: 1) == .refuse(.staleKeyEpoch))
        #expect(decide([], sent: Protection(epoch: 0), zoneEpoch: 1) == .refuse(.staleKeyEpoch))
        #expect(decide([value("s", epoch: 2)], sent: Protection(epoch: 2), zoneEpoch: 1) == .refuse(.otherKeyEpoch))
        #expect(decide([value("s", epoch: 0)], sent: Protection(epoch: 1), zoneEpoch: 1) == .refuse(.otherKeyEpoch))
    }

    @Test func `B-TM-05 another key requires that all values are sealed again`() {
        let held = Protection(epoch: 0)
        let next = Protection(epoch: 1)
        let partial = decide(
            [value("a", epoch: 1)], keeping: [value("b")], sent: next, held: held, zoneEpoch: 1)
        #expect(partial == .refuse(.staleKeyEpoch))
        let whole = decide(
            [value("a", epoch: 1), value("b", epoch: 1)], sent: next, held: held, zoneEpoch: 1)
        #expect(whole == .store(next))
        let rewrapped = Protection(epoch: 0, keys: [1])
        #expect(decide([value("a")], keeping: [value("b")], sent: rewrapped, held: held) == .refuse(.staleKeyEpoch))
        #expect(decide([value("a")], keeping: [value("b")], sent: held, held: held) == .store(held))
        #expect(decide([], sent: rewrapped, held: nil) == .store(rewrapped))
    }

    @Test func `B-TM-05 another key requires that the keys of files are sealed again`() throws {
        func asset(_ name: String, key: String?) throws -> Field {
            try Field(name: name, value: .asset(AssetValue(fileChecksum: "c", size: 1, wrappingKey: key)))
        }
        let (held, next) = (Protection(epoch: 0), Protection(epoch: 1))
        func decide(_ set: [Field], keeping: [Field]) -> ProtectionDecision {
            self.decide(set, keeping: keeping, sent: next, held: held, zoneEpoch: 1)
        }
        #expect(
            decide([value("a", epoch: 1)], keeping: [try asset("file", key: "k")]) == .refuse(.staleKeyEpoch))
        #expect(decide([value("a", epoch: 1)], keeping: [try asset("file", key: nil)]) == .store(next))
        #expect(decide([value("a", epoch: 1), try asset("file", key: "l")], keeping: []) == .store(next))
    }
}
