import CloudKitModel
import Synchronization
import Testing

@testable import CloudKitServer

/// Devices that save while an operator gives their zones new keys (B-TM-12).
@Suite(.timeLimit(.minutes(20))) struct KeyRenewalRaceTests {
    private static let ada = Caller(user: TestCloud.ada, surface: .native)

    private static func protected(
        _ kind: RecordOperation.Kind, _ name: String, epoch: UInt32
    ) -> RecordOperation {
        var operation = create(name)
        operation.kind = kind
        operation.change.protection = Protection(epoch: epoch, keys: [7])
        return operation
    }

    private static func epoch(_ zone: String, _ cloud: Cloud) async throws -> UInt32 {
        try await ListZones(cloud).run(in: TestCloud.address(.private), by: ada)
            .first { $0.id.zoneName == zone }?.keyEpoch ?? 0
    }

    private static func renew(_ cloud: Cloud) async throws {
        try await ResetZoneKeys(cloud).run(ofZonesOf: TestCloud.ada, in: TestCloud.container, .development)
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-12 a record that is sealed under the new keys while a renewal goes on keeps its protection`(
        _ engine: Engine
    ) async throws {
        let saved = Mutex<(plain: UInt32, again: UInt32)>((0, 0))
        try await Race { test in
            for zone in ["Plain", "Again"] {
                try await test.makeZone(zone)
                try await test.modify(
                    [Self.protected(.create, "a", epoch: 0), Self.protected(.create, "b", epoch: 0)], zone: zone,
                    by: Self.ada)
            }
        } slow: { cloud in
            try await Self.renew(cloud)
        } meanwhile: { test in
            let plain = try await Self.epoch("Plain", test.cloud)
            var operation = Self.protected(.update, "a", epoch: plain)
            operation.change.changeTag = try await test.lookup(["a"], zone: "Plain", by: Self.ada)[0].record?.changeTag
            let outcome = try await test.modify([operation], zone: "Plain", by: Self.ada)
            #expect(outcome[0].record?.protection?.epoch == plain)
            // Another zone of the same name: nothing of it is due.
            let id = ZoneID(zoneName: "Again")
            _ = try await ModifyZones(test.cloud).run(
                [.delete(id), .create(id)], in: TestCloud.address(.private), by: Self.ada)
            let again = try await Self.epoch("Again", test.cloud)
            let made = try await test.modify(
                [Self.protected(.create, "a", epoch: again)], zone: "Again", by: Self.ada)
            #expect(made[0].record?.protection?.epoch == again)
            saved.withLock { $0 = (plain, again) }
        } check: { test in
            let (plain, again) = saved.withLock(\.self)
            let epoch = try await Self.epoch("Plain", test.cloud)
            #expect(epoch == 1)
            let records = try await test.lookup(["a", "b"], zone: "Plain", by: Self.ada).map(
                \.record?.protection?.epoch)
            #expect(records == [plain == epoch ? epoch : nil, nil])
            // A renewal that lists its zones afterwards renews this one as well.
            let kept = try await test.lookup(["a"], zone: "Again", by: Self.ada)[0].record?.protection?.epoch
            let present = try await Self.epoch("Again", test.cloud)
            #expect(kept == (present == again ? again : nil))
        }.run(engine, stepsMin: 5)
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-12 a save that a renewal overtakes is refused, and nothing stays sealed under the old keys`(
        _ engine: Engine
    ) async throws {
        try await Race { test in
            try await test.makeZone()
            try await test.modify([Self.protected(.create, "a", epoch: 0)], by: Self.ada)
        } slow: { cloud in
            let outcome = try await ModifyRecords(cloud).run(
                ModifyRecordsRequest(
                    operations: [Self.protected(.forceUpdate, "a", epoch: 0)], zoneID: ZoneID(zoneName: "Z")),
                in: TestCloud.address(.private), by: Self.ada)[0]
            #expect(outcome.record != nil || outcome.code == .staleKeyEpoch)
        } meanwhile: { test in
            try await Self.renew(test.cloud)
        } check: { test in
            let epoch = try await Self.epoch("Z", test.cloud)
            #expect(epoch == 1)
            let record = try await test.lookup(["a"], by: Self.ada)[0].record
            #expect(record != nil && record?.protection == nil)
        }.run(engine, stepsMin: 4)
    }
}
