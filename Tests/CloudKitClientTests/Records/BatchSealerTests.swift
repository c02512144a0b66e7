import CloudKitEncryption
import CloudKitModel
import Testing

@testable import CloudKitClient
@testable import ScriptedCloud

/// The requests that are sent, and sent again, when keys change during a batch.
@Suite(.timeLimit(.minutes(20))) struct BatchSealerTests {
    private let zoneID = ZoneID(zoneName: "Z")

    private func secrets(_ values: [String: FieldValue], held: Protection? = nil) throws -> RecordSecrets {
        RecordSecrets(
            fields: try values.sorted { $0.key < $1.key }.map { try Field(name: $0.key, value: $0.value) },
            recordType: "Note", parent: nil, isMoved: false, held: held)
    }

    /// Records named "s…" have a value to seal, others none.
    private func batch(
        _ names: [String], _ kind: RecordOperation.Kind = .forceUpdate, atomic: Bool = true
    ) throws -> ModifyPlan.Batch {
        var batch = ModifyPlan.Batch(zoneID: zoneID, wantsAtomic: atomic)
        for name in names {
            let tag = kind == .update ? ChangeTag("mine") : nil
            batch.items.append(
                ModifyPlan.Item(
                    id: RecordID(recordName: name, zoneID: zoneID),
                    operation: RecordOperation(
                        kind, RecordChange(recordName: name, recordType: "Note", changeTag: tag)),
                    secrets: name.hasPrefix("s") ? try secrets(["x": .string(name)]) : nil))
        }
        return batch
    }

    private func failed(_ name: String, _ code: RequestFailure.Code) -> RecordOutcome {
        .failed(recordName: name, RequestFailure(code, "no"))
    }

    /// - Parameter request: The request that the outcome answers; nil: it sent nothing sealed.
    private func saved(_ name: String, _ request: ModifyRecordsRequest? = nil) -> RecordOutcome {
        var record = Record.stored(name, in: zoneID)
        record.protection = request?.operations.first { $0.change.recordName == name }?.change.protection
        return .record(record)
    }

    /// A record as the cloud holds it, opened.
    private func held(_ name: String, _ values: [String: FieldValue], epoch: UInt32 = 0) throws -> OpenedRecord {
        var record = try SampleKeys.record(name, values, epoch: epoch)
        record.changeTag = ChangeTag("theirs")
        return OpenedRecord(
            record,
            values: .success(try values.sorted { $0.key < $1.key }.map { try Field(name: $0.key, value: $0.value) }))
    }

    private func names(_ request: ModifyRecordsRequest?) -> [String?] {
        request?.operations.map(\.change.recordName) ?? []
    }

    private func sent(_ sealing: inout BatchSealer, _ keys: ZoneKeys) async throws -> ModifyRecordsRequest {
        let request = await sealing.request(keys)
        return try #require(request)
    }

    private func first(_ sealing: inout BatchSealer, _ keys: ZoneKeys) async throws -> RecordOperation {
        try #require(try await sent(&sealing, keys).operations.first)
    }

    @Test func `one go when nothing is stale`() async throws {
        var sealing = BatchSealer(try batch(["s1", "p"]), firstVersion: 7)
        let request = try await sent(&sealing, SampleKeys.zone())
        #expect(request.operations.map { $0.change.protection?.hasSameKeys(as: Protection(epoch: 0)) } == [true, nil])
        let statement = try RecordStatement(#require(request.operations[0].change.protection?.statement))
        #expect(statement.version == 7 && statement.values.map(\.name) == ["x"])
        #expect(statement.previousTag == StatementForm.noTag)
        #expect(sealing.take([saved("s1", request), failed("p", .conflict)]).isEmpty)
        #expect(sealing.outcomes == [.success(saved("s1", request)), .success(failed("p", .conflict))])
    }

    @Test func `many records are sealed in their order, each with its own values`() async throws {
        let names = (0..<99).map { "s\($0)" }
        var sealing = BatchSealer(try batch(names), firstVersion: 7)
        var keys = SampleKeys.zone()
        let request = try await sent(&sealing, keys)
        #expect(self.names(request) == names)
        for (name, operation) in zip(names, request.operations) {
            var record = Record.stored(name, in: zoneID)
            record.protection = operation.change.protection
            let cipher = try keys.cipher(opening: record)
            let values = try operation.change.fields.map { change -> FieldValue? in
                guard case .set(let field) = change else { return nil }
                return try cipher.open(field).value()
            }
            #expect(values == [.string(name)])
        }
        #expect(sealing.take(names.map { saved($0, request) }).isEmpty)
        #expect(sealing.outcomes == names.map { .success(saved($0, request)) })
    }

    @Test func `B-TM-04 a save that is answered with another version is an error`() async throws {
        let earlier = try SampleKeys.record("s1", ["x": .string("old")])
        for answer in [RecordOutcome.record(earlier), saved("s1")] {
            var sealing = BatchSealer(try batch(["s1", "p"]), firstVersion: 7)
            _ = try await sent(&sealing, SampleKeys.zone())
            #expect(sealing.take([answer, saved("p")]).isEmpty)
            let refused = CallFailure(EncryptionError.wentBack(.otherAnswer), record: "s1")
            #expect(sealing.outcomes == [.failure(refused), .success(saved("p"))])
        }
    }

    @Test func `B-TM-05 an atomic batch is sent again as a whole, another one only where it was stale`() async throws {
        var whole = BatchSealer(try batch(["s1", "p", "s2"]), firstVersion: 7)
        _ = await whole.request(SampleKeys.zone())
        let refused = [failed("s1", .staleKeyEpoch), failed("p", .atomicFailure), failed("s2", .staleKeyEpoch)]
        #expect(whole.take(refused) == ["s1", "s2"])
        whole.look(at: [])
        let wholeAgain = await whole.request(SampleKeys.zone(epoch: 1))
        #expect(names(wholeAgain) == ["s1", "p", "s2"])

        var single = BatchSealer(try batch(["s1", "p", "s2"], atomic: false), firstVersion: 7)
        let request = try await sent(&single, SampleKeys.zone())
        #expect(single.take([saved("s1", request), saved("p"), failed("s2", .staleKeyEpoch)]) == ["s2"])
        single.look(at: [])
        let again = try await sent(&single, SampleKeys.zone(epoch: 1))
        #expect(names(again) == ["s2"] && again.operations[0].change.protection?.epoch == 1)
        #expect(single.take([saved("s2", again)]).isEmpty)
        #expect(single.outcomes == [saved("s1", request), saved("p"), saved("s2", again)].map { .success($0) })
    }

    @Test func `B-TM-05 under a new key all values of the record come along, the save's own first`() async throws {
        var sealing = BatchSealer(try batch(["s1"]), firstVersion: 7)
        _ = await sealing.request(SampleKeys.zone())
        _ = sealing.take([failed("s1", .staleKeyEpoch)])
        sealing.look(at: [try held("s1", ["x": .string("old"), "y": .int64(2)])])
        let keys = SampleKeys.zone(epoch: 1)
        let operation = try await first(&sealing, keys)
        // A record that was not fetched before may have changed since: only this state is sealed again.
        #expect(operation.kind == .update && operation.change.changeTag == ChangeTag("theirs"))
        var record = Record.stored("s1", in: zoneID)
        record.protection = operation.change.protection
        var opening = keys
        let cipher = try opening.cipher(opening: record)
        let values = try operation.change.fields.map { change -> FieldValue? in
            guard case .set(let field) = change else { return nil }
            return try cipher.open(field).value()
        }
        #expect(values == [.string("s1"), .int64(2)])

        // Another device was faster: fetch again. The record was deleted meanwhile: create it.
        #expect(sealing.take([failed("s1", .conflict)]) == ["s1"])
        sealing.look(at: [try held("s1", ["y": .int64(3)])])
        _ = await sealing.request(keys)
        #expect(sealing.take([failed("s1", .itemNotFound)]) == ["s1"])
        sealing.look(at: [])
        let made = try await first(&sealing, keys)
        #expect(made.kind == .forceUpdate && made.change.fields.count == 1)
        #expect(sealing.take([failed("s1", .conflict)]).isEmpty)
    }

    @Test func `B-ENC-07 a record that is created again gets the parent that the device knows`() async throws {
        var batch = ModifyPlan.Batch(zoneID: zoneID, wantsAtomic: true)
        var known = try secrets(["x": .string("s1")], held: Protection(epoch: 0))
        known.parent = "p"
        batch.items = [
            ModifyPlan.Item(
                id: RecordID(recordName: "s1", zoneID: zoneID),
                operation: RecordOperation(.forceUpdate, RecordChange(recordName: "s1", recordType: "Note")),
                secrets: known)
        ]
        var sealing = BatchSealer(batch, firstVersion: 7)
        let keys = SampleKeys.zone()
        _ = try await sent(&sealing, keys)
        #expect(sealing.take([failed("s1", .staleRecordStatement)]) == ["s1"])
        sealing.look(at: [])
        var record = Record.stored("s1", in: zoneID)
        let operation = try await first(&sealing, keys)
        #expect(operation.change.parent == .set(recordName: "p"))
        record.protection = operation.change.protection
        record.parent = "p"
        var opening = keys
        let cipher = try opening.cipher(opening: record)
        let statement = try RecordStatement(#require(record.protection?.statement))
        try statement.check(record.facts(for: keys.access.user), sealer: cipher.sealer)
    }

    @Test func `B-ENC-07 a record that is created again gets a version above the deleted one's`() async throws {
        var sealing = BatchSealer(try batch(["s1"]), firstVersion: 7)
        for (last, next) in [(UInt64(40), UInt64(41)), (RecordStatement.versionMax, 41)] {
            _ = try await sent(&sealing, SampleKeys.zone())
            var refusal = RequestFailure(.staleRecordStatement, "no")
            refusal.lastVersion = last
            #expect(sealing.take([.failed(recordName: "s1", refusal)]) == ["s1"])
            sealing.look(at: [])
            let operation = try await first(&sealing, SampleKeys.zone())
            let statement = try RecordStatement(#require(operation.change.protection?.statement))
            #expect(statement.version == next)
        }
    }

    @Test func `B-SAV-02 a save that checks the tag gets the conflict`() async throws {
        var sealing = BatchSealer(try batch(["s1"], .update), firstVersion: 7)
        _ = await sealing.request(SampleKeys.zone())
        _ = sealing.take([failed("s1", .staleKeyEpoch)])
        sealing.look(at: [try held("s1", ["y": .int64(2)])])
        let operation = try await first(&sealing, SampleKeys.zone(epoch: 1))
        #expect(operation.change.changeTag == ChangeTag("mine"))
        #expect(sealing.take([failed("s1", .conflict)]).isEmpty)
        #expect(sealing.outcomes == [.success(failed("s1", .conflict))])
    }

    @Test func `within an epoch the record keeps its key, and other values stay where they are`() async throws {
        var sealing = BatchSealer(try batch(["s1"]), firstVersion: 7)
        _ = await sealing.request(SampleKeys.zone())
        _ = sealing.take([failed("s1", .staleKeyEpoch)])
        let current = OpenedRecord(
            try SampleKeys.record("s1", ["y": .int64(2)], parent: "p"),
            values: .success([try Field(name: "y", value: .int64(2))]))
        sealing.look(at: [current])
        let operation = try await first(&sealing, SampleKeys.zone())
        #expect(operation.kind == .forceUpdate && operation.change.fields.map(\.name) == ["x"])
        let protection = try #require(operation.change.protection)
        #expect(protection.hasSameKeys(as: current.record.protection))
        // The value that the save does not touch is stated again.
        let before = try RecordStatement(#require(current.record.protection?.statement))
        let statement = try RecordStatement(protection.statement)
        #expect(statement.version == 2 && statement.previousTag == before.tag)
        #expect(statement.values.map(\.name) == ["x", "y"] && statement.values[1] == before.values[0])
    }

    @Test func `B-BAT-02 a record that does not open is not sealed again, and fails its batch`() async throws {
        for isAtomic in [true, false] {
            var sealing = BatchSealer(try batch(["s1", "p", "s2"], atomic: isAtomic), firstVersion: 7)
            _ = await sealing.request(SampleKeys.zone())
            _ = sealing.take([failed("s1", .staleKeyEpoch), saved("p"), failed("s2", .staleKeyEpoch)])
            sealing.look(at: [
                OpenedRecord(try held("s1", ["y": .int64(2)]).record, values: .failure(.tampered("changed")))
            ])
            let request = await sealing.request(SampleKeys.zone(epoch: 1))
            #expect(names(request) == (isAtomic ? [] : ["s2"]))
            #expect(sealing.hasSettled)
            sealing.fail(.transport(.connectionLost))
            #expect(sealing.outcomes[0] == .failure(.tampered("changed")))
            if isAtomic {
                guard case .success(.failed(_, let failure)) = sealing.outcomes[2] else { return }
                #expect(failure.code == .atomicFailure)
            } else {
                // A saved record stays saved, also if other records fail.
                #expect(sealing.outcomes[1...] == [.success(saved("p")), .failure(.transport(.connectionLost))])
            }
        }
    }

    @Test func `in the end the last refusal is reported`() async throws {
        var sealing = BatchSealer(try batch(["s1", "p"]), firstVersion: 7)
        _ = await sealing.request(SampleKeys.zone())
        _ = sealing.take([failed("s1", .staleKeyEpoch), failed("p", .atomicFailure)])
        sealing.giveUp()
        #expect(sealing.outcomes == [failed("s1", .staleKeyEpoch), failed("p", .atomicFailure)].map { .success($0) })
    }
}
