import CloudKitModel
import CloudKitWire
import SeededChance
import Testing

/// Damages valid bodies in thousands of ways: every reader gives a value or a `RequestFailure`, and never traps.
@Suite(.timeLimit(.minutes(20))) struct MutationTests {
    private static let seeds: [UInt64] = [1, 2, 3, 4]

    @Test(arguments: seeds)
    func `damaged bodies never trap`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let bodies = try Self.bodies()
        for round in 0..<900 {
            var body = bodies[round % bodies.count]
            for _ in 0..<Int.random(in: 1...4, using: &random) { Self.damage(&body, &random) }
            Self.readEverything(body)
        }
    }

    private static func damage(_ body: inout [UInt8], _ random: inout SplitMix64) {
        let tokens = [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "null", "true", "-", "1e9", "\\u12", "\\ud800", "0.5", "\n",
        ]
        let index = Int.random(in: 0...body.count, using: &random)
        let token = Array((tokens.randomElement(using: &random) ?? "").utf8)
        switch Int.random(in: 0..<6, using: &random) {
        case 0 where index < body.count: body[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1 where index < body.count: body.remove(at: index)
        case 2: body.insert(UInt8.random(in: 0...255, using: &random), at: index)
        case 3: body.insert(contentsOf: token, at: index)
        case 4 where index < body.count:
            let end = min(index + Int.random(in: 1...20, using: &random), body.count)
            body.replaceSubrange(index..<end, with: token)
        default: if Int.random(in: 0..<4, using: &random) == 0 { body.removeSubrange(index...) }
        }
    }

    /// Every body that can be read can be printed, and its values are present or refused.
    private static func readEverything(_ body: [UInt8]) {
        if let request = try? ModifyRecordsRequest(wire: body, limits: .web) {
            _ = request.wire()
            for case .set(let field) in request.operations.flatMap(\.change.fields) {
                if field.type.isEncrypted {
                    _ = field.sealedEpoch
                } else {
                    #expect(throws: Never.self) { try field.value() }
                }
            }
        }
        _ = try? LookupRecordsRequest(wire: body, limits: .web).wire()
        _ = try? QueryRecordsRequest(wire: body, limits: .web).wire()
        _ = try? [ZoneID](wire: body, limits: .web).wire()
        _ = try? [ZoneOperation](wire: body, limits: .web).wire()
        _ = try? [ZoneChangesRequest](wire: body, limits: .web).wire()
        _ = try? DatabaseChangesRequest(wire: body, limits: .web).wire()
        _ = try? [RecordOutcome](wireAnswer: body, zoneID: .default).wireAnswer(style: webStyle)
        _ = try? QueryPage(wireAnswer: body, zoneID: .default).wireAnswer(style: nativeStyle)
        _ = try? [ZoneOutcome](wireAnswer: body).wireAnswer(style: webStyle)
        _ = try? [ZoneChangesOutcome](wireAnswer: body).wireAnswer(style: nativeStyle)
        _ = try? DatabaseChangesPage(wireAnswer: body).wireAnswer(style: webStyle)
        _ = try? UserIdentity(wireAnswer: body).wireAnswer()
        _ = try? PushTokenRequest(wireBody: body)
        _ = PushNotification.isVisible(payload: body)
        _ = WireError(wireAnswer: body, status: 400).wireAnswer(style: nativeStyle)
    }

    private static func bodies() throws -> [[UInt8]] {
        let record = try sampleRecord()
        let change = RecordChange(
            recordName: "R", recordType: "Note", fields: record.fields.map(FieldChange.set), changeTag: ChangeTag("t"),
            parent: .set(recordName: "P"), desiredKeys: ["a"])
        let failure = RequestFailure(.conflict, "why", retryAfter: 1, serverRecord: try sampleRecord(fields: []))
        let location = LocationValue(latitude: 1, longitude: 2)
        let filters = [
            QueryFilter(key: .field("a"), comparator: .in, value: .list(.int64, [.int64(1)])),
            QueryFilter(key: .system(.createdTimestamp), comparator: .equals, value: .timestamp(1)),
            QueryFilter(key: .system(.recordName), comparator: .equals, value: .string("R")),
            QueryFilter(key: .field("p"), comparator: .near, value: .location(location), distance: 1),
        ]
        let query = Query(
            recordType: "T", filters: filters, sorts: [QuerySort(key: .field("p"), relativeLocation: location)])
        let page = ZoneChangesPage(
            zoneID: record.id.zoneID, events: [.changed(record), .deleted(RecordTombstone(recordName: "D"))],
            syncToken: "t", moreComing: true, clientChangeToken: [1])
        return [
            ModifyRecordsRequest(operations: [RecordOperation(.update, change)], zoneID: record.id.zoneID).wire(),
            [RecordOutcome.record(record), .failed(recordName: "R", failure)].wireAnswer(style: nativeStyle),
            QueryRecordsRequest(query: query, zoneID: .default).wire(),
            [ZoneChangesOutcome.page(page)].wireAnswer(style: nativeStyle),
            [ZoneChangesRequest(zoneID: .default, syncToken: "t", resultsLimit: 1, desiredKeys: ["a"])].wire(),
            LookupRecordsRequest(records: [.init(recordName: "R", desiredKeys: ["a"])], zoneID: .default).wire(),
            [ZoneOperation.create(record.id.zoneID)].wire(),
            [ZoneOutcome.zone(Zone(id: record.id.zoneID, capabilities: .custom, syncToken: "t"))].wireAnswer(
                style: nativeStyle),
            DatabaseChangesPage(
                events: [.deleted(.default, .purged), .changed(.default, syncToken: "t")], syncToken: "t",
                moreComing: true
            ).wireAnswer(style: nativeStyle),
            UserIdentity(user: me, givenName: "A").wireAnswer(),
            Array(
                #"{"apnsToken":"AAAA","clientId":"c","push":{"service":"webPush","silent":true,"subscription":{"keys":{}}}}"#
                    .utf8), PushNotification.lost(me, ContainerID("c")).payload(),
            WireError(failure: failure, redirectURL: "u").wireAnswer(style: nativeStyle),
        ]
    }
}
