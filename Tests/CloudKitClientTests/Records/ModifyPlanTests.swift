import CloudKitModel
import Testing

@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct ModifyPlanTests {
    private let zone = ZoneID(zoneName: "Z")

    private func save(_ name: String, in zone: ZoneID, owners: [String] = []) -> ModifyPlan.Item {
        ModifyPlan.Item(
            id: RecordID(recordName: name, zoneID: zone),
            operation: RecordOperation(.create, RecordChange(recordName: name, recordType: "T")), owners: owners)
    }

    private func names(_ plan: ModifyPlan) -> [[String?]] {
        plan.batches.map { $0.request.operations.map(\.change.recordName) }
    }

    @Test func `B-BAT-01 items are grouped by zone, one request a zone`() throws {
        let plan = try ModifyPlan(
            saves: [save("a", in: zone), save("b", in: .default), save("c", in: zone)],
            deletes: [RecordID(recordName: "d", zoneID: .default)], isAtomic: true, scope: .private)
        #expect(names(plan) == [["a", "c"], ["b", "d"]])
        #expect(plan.batches.map(\.request.zoneID) == [zone, .default])
        #expect(plan.batches[0].items.map(\.position) == [0, 2])
        #expect(plan.batches[1].items.map(\.position) == [1, 0] && plan.batches[1].items[1].isDeletion)
        #expect(plan.batches[1].request.operations.map(\.kind) == [.create, .forceDelete])
        #expect(plan.batches.allSatisfy { $0.request.atomic == true })
    }

    @Test func `a record that a batch deletes is not one that the batch seals again`() throws {
        let plan = try ModifyPlan(
            saves: [save("a", in: zone)], deletes: [RecordID(recordName: "b", zoneID: zone)], isAtomic: true,
            scope: .private)
        #expect(plan.batches.map(\.savedNames) == [["a"]])
    }

    @Test func `B-LIM-01 more than 400 items are refused before sending`() {
        let saves = (0..<300).map { save("s\($0)", in: zone) }
        let deletes = (0..<101).map { RecordID(recordName: "d\($0)", zoneID: zone) }
        #expect(
            throws: CallFailure.limitExceeded(
                "Your request contains 401 items which is more than the maximum number of items in a single request "
                    + "(400)")
        ) { try ModifyPlan(saves: saves, deletes: deletes, isAtomic: true, scope: .private) }
        #expect(throws: Never.self) {
            try ModifyPlan(saves: saves, deletes: deletes.dropLast(), isAtomic: true, scope: .private)
        }
    }

    @Test func `B-BAT-07 B-BAT-08 a record named twice fails the whole operation`() {
        #expect(throws: CallFailure.invalidArguments("You can't save the same record twice: a")) {
            try ModifyPlan(
                saves: [save("a", in: zone), save("a", in: zone)], deletes: [], isAtomic: true, scope: .private)
        }
        #expect(throws: CallFailure.self) {
            try ModifyPlan(
                saves: [save("a", in: zone)], deletes: [RecordID(recordName: "a", zoneID: zone)], isAtomic: true,
                scope: .private)
        }
        #expect(throws: Never.self) {
            try ModifyPlan(
                saves: [save("a", in: zone), save("a", in: .default)], deletes: [], isAtomic: true, scope: .private)
        }
    }

    @Test func `B-BAT-10 in batches that are not atomic, targets of deleteSelf references go first`() throws {
        let saves = [
            save("child", in: .default, owners: ["parent"]), save("parent", in: .default, owners: ["root"]),
            save("root", in: .default, owners: ["child"]), save("other", in: .default),
        ]
        let plan = try ModifyPlan(saves: saves, deletes: [], isAtomic: true, scope: .private)
        #expect(names(plan) == [["root", "parent", "child", "other"]])
        #expect(plan.batches[0].items.map(\.position) == [2, 1, 0, 3])
    }

    @Test func `In an atomic zone the order of the app stays`() throws {
        let saves = [save("child", in: zone, owners: ["parent"]), save("parent", in: zone)]
        let plan = try ModifyPlan(saves: saves, deletes: [], isAtomic: true, scope: .private)
        #expect(names(plan) == [["child", "parent"]])
    }

    @Test func `B-BAT-11 the client change token is sent with every zone`() throws {
        let plan = try ModifyPlan(
            saves: [save("a", in: zone), save("b", in: .default)], deletes: [], isAtomic: true, scope: .private,
            clientChangeToken: [1, 2])
        #expect(plan.batches.map(\.request.clientChangeToken) == [[1, 2], [1, 2]])
    }
}
