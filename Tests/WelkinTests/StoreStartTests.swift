import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit

/// What a cloud's start refuses, and what it does with an older copy of its folder.
@Suite(.timeLimit(.minutes(20))) struct StoreStartTests {
    @Test func `a store without its secret and a secret without its store are refused`() async throws {
        try await CloudAndMachines.run { setup in
            _ = try await setup.signedInMachine("ada")
            let cloud = setup.cloud
            cloud.kill()
            let secret = cloud.data + "/secret"
            try FileManager.default.moveItem(atPath: secret, toPath: secret + ".away")
            #expect(throws: ChildFailure.self) { try cloud.restart() }
            #expect(throws: Never.self) { try FileManager.default.moveItem(atPath: secret + ".away", toPath: secret) }
            let store = cloud.data + "/welkin.sqlite"
            for end in ["", "-wal"] where FileManager.default.fileExists(atPath: store + end) {
                try FileManager.default.moveItem(atPath: store + end, toPath: store + end + ".away")
            }
            #expect(throws: ChildFailure.self) { try cloud.restart() }
            #expect(!FileManager.default.fileExists(atPath: store))
            for end in ["", "-wal"] where FileManager.default.fileExists(atPath: store + end + ".away") {
                try FileManager.default.moveItem(atPath: store + end + ".away", toPath: store + end)
            }
            try cloud.restart()
        }
    }

    @Test func `B-BKD-13 a device that knows a later state than a restored copy fetches everything again`() async throws
    {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let database = try ada.app().privateCloudDatabase
            let zone = CKRecordZone(zoneName: "Z")
            try await database.save(zone)
            try await database.save(
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "A", zoneID: zone.zoneID)))
            setup.cloud.kill()
            let data = setup.cloud.data
            try FileManager.default.copyItem(atPath: data, toPath: data + ".copy")
            try setup.cloud.restart()
            try await database.save(
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "B", zoneID: zone.zoneID)))
            let ahead = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil).changeToken
            setup.cloud.kill()
            try FileManager.default.removeItem(atPath: data)
            try FileManager.default.moveItem(atPath: data + ".copy", toPath: data)
            try setup.cloud.restart()
            do {
                _ = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: ahead)
                Issue.record("the token of a later state was accepted")
            } catch let error as CKError {
                #expect(error.code == .changeTokenExpired)
            }
            let page = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
            #expect(page.modificationResultsByID.keys.map(\.recordName) == ["A"])
            let health = try Self.health(of: setup.cloud)
            #expect(health.contains("\"check\":\"epoch\""))
        }
    }

    @Test func `a store that is older than what was served last begins a new epoch`() async throws {
        try await CloudAndMachines.run { setup in
            _ = try await setup.signedInMachine("ada")
            let cloud = setup.cloud
            cloud.kill()
            // As a run after the store was copied would have left it.
            let served = cloud.data + "/served"
            let text = try String(contentsOfFile: served, encoding: .utf8)
            let lines = text.split(separator: "\n").map { $0.hasPrefix("mark ") ? "mark fff" : String($0) }
            try (lines.joined(separator: "\n") + "\n").write(toFile: served, atomically: true, encoding: .utf8)
            try cloud.restart()
            let health = try Self.health(of: cloud)
            #expect(health.contains("older than what was served last"))
            cloud.kill()
            try cloud.restart()
            let after = try Self.health(of: cloud)
            #expect(after == #"{"status":"ok","store":"readable"}"#)
        }
    }

    @Test func `welkin check reads a store beside a running cloud`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            try await ada.app().privateCloudDatabase.save(CKRecord(recordType: "Note"))
            for arguments in [["check"], ["check", "--quick"]] {
                let outcome = try await Machine.run(
                    [try #require(CloudProcess.program())] + arguments + ["--data", setup.cloud.data],
                    variables: ada.variables, in: ada.home)
                #expect(outcome.status == 0, "\(outcome.output)\(outcome.remarks)")
                #expect(outcome.output.isEmpty)
                #expect(outcome.remarks.contains("no problems"))
            }
        }
    }

    private static func health(of cloud: CloudProcess) throws -> String {
        try RawExchange(port: cloud.port, connections: 1).ask(.get("/health")).text
    }
}
