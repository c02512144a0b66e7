import CloudKitEncryption
import CloudKitModel
import ScriptedCloud
import Testing

@testable import CloudKitClient

/// Creates requests without the CloudKit framework: Model values in and out, no class of Apple's.
@Suite(.timeLimit(.minutes(20))) struct DatabaseRequestsTests {
    private func requests(_ transport: ScriptedTransport, secret: AccountSecret? = nil) -> DatabaseRequests {
        let place = ContainerEndpoint(
            endpoint: "https://cloud.test", container: ContainerID("iCloud.a"), environment: .development)
        let connection = ContainerConnection(
            identifier: "iCloud.a", place: .success(place), account: ScriptedAccount(secret: secret),
            transport: transport, clientEnvironment: ScriptedClock().clientEnvironment)
        return DatabaseRequests(connection: connection, scope: .private, settings: .userInitiated())
    }

    private func save(_ name: String, in zone: ZoneID, _ secrets: RecordSecrets? = nil) -> ModifyPlan.Item {
        ModifyPlan.Item(
            id: RecordID(recordName: name, zoneID: zone),
            operation: RecordOperation(.create, RecordChange(recordName: name, recordType: "Note")), owners: [],
            secrets: secrets)
    }

    @Test func `B-BAT-01 a plan is split by zone, and each zone is one request`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.savesAll)
        let zones = [ZoneID(zoneName: "A"), ZoneID(zoneName: "B")]
        let plan = try ModifyPlan(
            saves: [save("1", in: zones[0]), save("2", in: zones[1]), save("3", in: zones[0])], deletes: [],
            isAtomic: true, scope: .private)
        let outcomes = try await requests(transport).sendByZone(plan)
        #expect(outcomes.map(\.item.position) == [0, 2, 1] && outcomes.allSatisfy { !$0.item.isDeletion })
        #expect(try transport.requests.map { try $0.modification().zoneID } == zones)
    }

    @Test func `a sealed value leaves no plain text and opens again`() async throws {
        let transport = ScriptedTransport { request in
            let modification = try request.modification()
            return .records(
                modification.operations.map { operation in
                    var record = Record.stored(operation.change.recordName ?? "?", in: modification.zoneID)
                    for case .set(let field) in operation.change.fields { record.fields.append(field) }
                    record.protection = operation.change.protection
                    return .record(record)
                })
        }
        let field = try Field(name: "word", value: .string("hidden"))
        let secrets = RecordSecrets(fields: [field], recordType: "Note", isMoved: false)
        let plan = try ModifyPlan(
            saves: [save("1", in: ZoneID(zoneName: "A"), secrets)], deletes: [], isAtomic: true, scope: .private)
        let outcome = try #require(try await requests(transport, secret: AccountSecret()).sendByZone(plan).first)
        let sent = try #require(transport.requests.first)
        #expect(!String(decoding: sent.body, as: UTF8.self).contains("hidden"))
        #expect(try outcome.result.get()?.values.get() == [field])
    }
}
