import CloudUnderTest
import Foundation
import PostgresServer
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Clouds whose rows are in PostgreSQL, as processes.
@Suite(
    "Clouds on PostgreSQL", .timeLimit(.minutes(20)),
    .enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"))
struct PostgresCloudTests {
    private func freshAddress() async throws -> String {
        try await PostgresServer.shared().address(schema: PostgresServer.freshSchema())
    }

    private func record(_ name: String) -> CKRecord {
        CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: CKRecordZone(zoneName: "Z").zoneID))
    }

    private func names(_ database: CKDatabase, since token: CKServerChangeToken? = nil) async throws -> Set<String> {
        let zone = CKRecordZone(zoneName: "Z").zoneID
        let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
        return Set(page.modificationResultsByID.keys.map(\.recordName))
    }

    @Test func `a cloud in a database survives being killed, and commands work on it`() async throws {
        let address = try await freshAddress()
        try await CloudAndMachines.run(store: address) { setup in
            let ada = try await setup.signedInMachine("ada")
            let database = try ada.app().privateCloudDatabase
            try await database.save(CKRecordZone(zoneName: "Z"))
            try await database.save(record("A"))
            #expect(!FileManager.default.fileExists(atPath: setup.cloud.data + "/welkin.sqlite"))
            setup.cloud.kill()
            try setup.cloud.restart()
            try await database.save(record("B"))
            #expect(try await names(database) == ["A", "B"])
            let check = try await setup.runAsOperator("check")
            #expect(check.status == 0, "\(check.remarks)")

            let hidden = try await setup.runAsOperator("account", "list", "--store", "postgres://u:hidden@127.0.0.1/c")
            #expect(hidden.status != 0)
            #expect(hidden.remarks.contains("--store-file") && !hidden.remarks.contains("hidden"))
            // A folder without the secret, and one with another.
            #expect(throws: ChildFailure.self) { _ = try CloudProcess(environment: ["WELKIN_STORE": address]) }
            let stranger = try CloudProcess()
            defer { stranger.end() }
            stranger.stop()
            try FileManager.default.removeItem(atPath: stranger.data + "/welkin.sqlite")
            stranger.environment["WELKIN_STORE"] = address
            do {
                try stranger.restart()
                Issue.record("a stranger's cloud was served")
            } catch {
                #expect(String(describing: error).contains("belongs to another cloud"), "\(error)")
            }
        }
    }

    @Test func `a cloud that moves to PostgreSQL and back keeps its devices and their tokens`() async throws {
        let address = try await freshAddress()
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let database = try ada.app().privateCloudDatabase
            let zone = CKRecordZone(zoneName: "Z")
            try await database.save(zone)
            try await database.save(record("A"))
            let token = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil).changeToken
            let data = setup.cloud.data
            let copy: (String, String, Bool) async throws -> Machine.Outcome = { from, to, isFinal in
                let flags = isFinal ? ["--final"] : []
                return try await Machine.run(
                    [CloudProcess.program() ?? "welkin", "store", "copy", "--from", from, "--to", to] + flags,
                    variables: setup.operatorsMachine.variables, in: setup.operatorsMachine.home)
            }
            let live = try await copy(data, address, false)
            #expect(live.status == 0, "\(live.remarks)")
            try await database.save(record("B"))
            let early = try await copy(data, address, true)
            #expect(early.status != 0 && early.remarks.contains("a cloud is running"))
            setup.cloud.stop()
            let final = try await copy(data, address, true)
            #expect(final.status == 0 && final.output.contains("complete"), "\(final.remarks)")
            try FileManager.default.createDirectory(atPath: data + "/old", withIntermediateDirectories: false)
            try FileManager.default.moveItem(atPath: data + "/welkin.sqlite", toPath: data + "/old/welkin.sqlite")
            setup.cloud.environment["WELKIN_STORE"] = address
            try setup.cloud.restart()
            #expect(try await names(database, since: token) == ["B"])
            try await database.save(record("C"))
            setup.cloud.stop()
            let back = try await copy(address, data, true)
            #expect(back.status == 0, "\(back.remarks)")
            setup.cloud.environment["WELKIN_STORE"] = nil
            try setup.cloud.restart()
            #expect(try await names(database, since: token) == ["B", "C"])
        }
    }

    @Test func `two nodes on one database serve one cloud`() async throws {
        let address = try await freshAddress()
        try await CloudAndMachines.run(store: address) { setup in
            let first = try await setup.signedInMachine("ada")
            // The other node has the same secret; files of assets are not part of this test.
            let data = setup.cloud.folder + "/other"
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
            try FileManager.default.copyItem(atPath: setup.cloud.data + "/secret", toPath: data + "/secret")
            let node = try CloudProcess(arguments: ["--data", data], environment: ["WELKIN_STORE": address])
            defer { node.end() }
            var second = try setup.machine("second")
            second.variables["CLOUDKIT_ENDPOINT"] = "http://127.0.0.1:\(node.port)"
            let login = try await second.welkin(
                "login", "--email", "ada@example.com", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            #expect(login.status == 0, "\(login.remarks)")

            let (here, there) = (try first.app(), try second.app())
            var inbox = there.remoteNotifications.makeAsyncIterator()
            while there.connection.notifications.registrations.load() == nil {
                try await Task.sleep(for: .milliseconds(1))
            }
            let zone = try await here.privateCloudDatabase.save(CKRecordZone(zoneName: "Z"))
            let subscription = CKDatabaseSubscription(subscriptionID: "D")
            subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            try await here.privateCloudDatabase.save(subscription)
            try await here.privateCloudDatabase.save(record("A"))
            // Long before a waiting request would end by itself.
            let start = ContinuousClock.now
            #expect(await inbox.next()?.notification?.subscriptionID == "D")
            #expect(ContinuousClock.now - start < .seconds(20))

            // Both write to one zone, and each reads what the other wrote at once.
            for number in 0..<10 {
                let (writer, reader) = number % 2 == 0 ? (here, there) : (there, here)
                try await writer.privateCloudDatabase.save(record("R\(number)"))
                let read = try await reader.privateCloudDatabase.record(for: record("R\(number)").recordID)
                #expect(read.recordID.zoneID == zone.zoneID)
            }

            // A device that is signed out at one node is refused at the other.
            let status = try await second.welkin("status", "--json").decoded(Status.self)
            let revoked = try await setup.runAsOperator(
                "account", "revoke", "ada@example.com", try #require(status.deviceID))
            #expect(revoked.status == 0, "\(revoked.remarks)")
            var refusal: CKError.Code?
            let deadline = ContinuousClock.now + .seconds(20)
            while refusal == nil, ContinuousClock.now < deadline {
                do {
                    _ = try await there.privateCloudDatabase.record(for: record("A").recordID)
                } catch {
                    refusal = (error as? CKError)?.code
                }
            }
            #expect(refusal == .accountTemporarilyUnavailable)
            #expect(try await names(here.privateCloudDatabase).count == 11)
        }
    }
}
