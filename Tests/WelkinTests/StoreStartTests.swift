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

    @Test func `an empty store beside a secret is refused, by commands too`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            cloud.stop()
            let store = cloud.data + "/welkin.sqlite"
            try FileManager.default.moveItem(atPath: store, toPath: store + ".away")
            try Data().write(to: URL(fileURLWithPath: store))
            #expect(refusal(of: cloud)?.contains("is missing or empty, but its secret is there") == true)
            let command = try await setup.runAsOperator("account", "list")
            #expect(command.status != 0)
            #expect(command.remarks.contains("is missing or empty, but its secret is there"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: store)).isEmpty)
            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.moveItem(atPath: store + ".away", toPath: store)
            try cloud.restart()
        }
    }

    @Test func `the log of another store is refused`() async throws {
        try await CloudAndMachines.run { setup in
            _ = try await setup.signedInMachine("ada")
            setup.cloud.kill()
            let other = try CloudProcess()
            defer { other.end() }
            other.stop()
            let log = other.data + "/welkin.sqlite-wal"
            try? FileManager.default.removeItem(atPath: log)
            try FileManager.default.copyItem(atPath: setup.cloud.data + "/welkin.sqlite-wal", toPath: log)
            #expect(refusal(of: other)?.contains("welkin.sqlite-wal is of another store; move it and") == true)
            try FileManager.default.removeItem(atPath: log)
            try? FileManager.default.removeItem(atPath: other.data + "/welkin.sqlite-shm")
            try other.restart()
        }
    }

    @Test func `the log of another store is refused by commands too, which leave both as they are`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            cloud.stop()
            let other = try CloudProcess()
            defer { other.end() }
            other.kill()
            let store = cloud.data + "/welkin.sqlite"
            try FileManager.default.copyItem(atPath: other.data + "/welkin.sqlite-wal", toPath: store + "-wal")
            let before = try [store, store + "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
            for command in [["check"], ["account", "list"]] {
                let outcome = try await setup.runAsOperator(command)
                #expect(outcome.status != 0)
                #expect(outcome.remarks.contains("welkin.sqlite-wal is of another store; move it and"))
            }
            let after = try [store, store + "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
            #expect(after == before)
            for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + end) }
            try cloud.restart()
        }
    }

    @Test func `a store that holds nothing without its log is refused, by commands too`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            cloud.kill()
            let store = cloud.data + "/welkin.sqlite"
            try FileManager.default.moveItem(atPath: store + "-wal", toPath: store + "-wal.away")
            try? FileManager.default.removeItem(atPath: store + "-shm")
            let before = try Data(contentsOf: URL(fileURLWithPath: store))
            let reason = refusal(of: cloud)
            #expect(
                reason?.contains("holds nothing without its log, but its secret is there; put") == true,
                "\(reason ?? "")")
            for command in [["check"], ["account", "list"]] {
                let outcome = try await setup.runAsOperator(command)
                #expect(outcome.status != 0)
                #expect(outcome.remarks.contains("holds nothing without its log"))
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
            for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + end) }
            try FileManager.default.moveItem(atPath: store + "-wal.away", toPath: store + "-wal")
            try cloud.restart()
        }
    }

    @Test func `a secret that is not the store's is refused, by commands too`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            cloud.stop()
            let secret = URL(fileURLWithPath: cloud.data + "/secret")
            let own = try Data(contentsOf: secret)
            try Data((String(repeating: "ab", count: 32) + "\n").utf8).write(to: secret)
            #expect(refusal(of: cloud)?.contains("is not the one that its store was made with; restore it") == true)
            let outcome = try await setup.runAsOperator("account", "list")
            #expect(outcome.status != 0)
            #expect(outcome.remarks.contains("is not the one that its store was made with"))
            try own.write(to: secret)
            try cloud.restart()
        }
    }

    @Test func `another store in the place of the one that was served is refused`() async throws {
        let cloud = try CloudProcess()
        defer { cloud.end() }
        cloud.stop()
        let other = try CloudProcess()
        defer { other.end() }
        other.stop()
        for name in ["welkin.sqlite", "secret"] {
            try FileManager.default.removeItem(atPath: cloud.data + "/" + name)
            try FileManager.default.copyItem(atPath: other.data + "/" + name, toPath: cloud.data + "/" + name)
        }
        let reason = refusal(of: cloud)
        #expect(reason?.contains("is not the store that was served last") == true, "\(reason ?? "")")
        #expect(reason?.contains("--adopt-copy") == true)
        try FileManager.default.removeItem(atPath: cloud.data + "/served")
        try cloud.restart(further: ["--adopt-copy"])
    }

    @Test func `a command leaves a damaged log to the start, which begins a new epoch`() async throws {
        try await CloudAndMachines.run { setup in
            _ = try await setup.signedInMachine("ada")
            let cloud = setup.cloud
            cloud.kill()
            let log = URL(fileURLWithPath: cloud.data + "/welkin.sqlite-wal")
            var bytes = try Data(contentsOf: log)
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: log)
            let outcome = try await setup.runAsOperator("check")
            #expect(outcome.status != 0)
            #expect(
                outcome.remarks.contains(
                    "welkin.sqlite-wal is damaged, and the commits after the damage are lost; restore"))
            #expect(try Data(contentsOf: log) == bytes)
            try cloud.restart()
            #expect(try Self.health(of: cloud).contains("the store's log is damaged"))
        }
    }

    @Test func `an older log of the same store is refused`() async throws {
        try await CloudAndMachines.run { setup in
            _ = try await setup.signedInMachine("ada")
            let cloud = setup.cloud
            cloud.kill()
            let log = cloud.data + "/welkin.sqlite-wal"
            try FileManager.default.copyItem(atPath: log, toPath: log + ".old")
            try cloud.restart()
            _ = try await setup.signedInMachine("bob")
            cloud.stop()
            #expect(!FileManager.default.fileExists(atPath: log))
            try FileManager.default.moveItem(atPath: log + ".old", toPath: log)
            #expect(refusal(of: cloud)?.contains("welkin.sqlite-wal is older than the store; move it and") == true)
            try FileManager.default.removeItem(atPath: log)
            try? FileManager.default.removeItem(atPath: cloud.data + "/welkin.sqlite-shm")
            try cloud.restart()
        }
    }

    @Test func `a store of an older format is refused with what to do`() async throws {
        let cloud = try CloudProcess()
        defer { cloud.end() }
        cloud.stop()
        let file = try #require(FileHandle(forUpdatingAtPath: cloud.data + "/welkin.sqlite"))
        defer { try? file.close() }
        // The place of SQLite's `user_version`.
        try file.seek(toOffset: 60)
        let version = try file.read(upToCount: 4)
        for older in [1, 2] as [UInt8] {
            try file.seek(toOffset: 60)
            try file.write(contentsOf: Data([0, 0, 0, older]))
            let refusal = refusal(of: cloud)
            #expect(refusal?.contains("an older version of Welkin wrote the store") == true, "\(refusal ?? "")")
            #expect(refusal?.contains("move the folder away and begin a new cloud") == true)
        }
        try file.seek(toOffset: 60)
        try file.write(contentsOf: try #require(version))
        try cloud.restart()
    }

    /// The reason for which a cloud does not start; nil if it does.
    private func refusal(of cloud: CloudProcess) -> String? {
        do {
            try cloud.restart()
            return nil
        } catch {
            return (error as? ChildFailure)?.reason
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

    @Test func `a store that is older than what was served last is served on request, and begins a new epoch`()
        async throws
    {
        try await CloudAndMachines.run { setup in
            _ = try await setup.signedInMachine("ada")
            let cloud = setup.cloud
            cloud.kill()
            // As a run after the store was copied would have left it.
            let served = cloud.data + "/served"
            let text = try String(contentsOfFile: served, encoding: .utf8)
            let lines = text.split(separator: "\n").map { $0.hasPrefix("mark ") ? "mark fff" : String($0) }
            try (lines.joined(separator: "\n") + "\n").write(toFile: served, atomically: true, encoding: .utf8)
            let reason = refusal(of: cloud)
            #expect(reason?.contains("older than what was served last") == true, "\(reason ?? "")")
            #expect(reason?.contains("--adopt-copy") == true)
            try cloud.restart(further: ["--adopt-copy"])
            let health = try Self.health(of: cloud)
            #expect(health.contains("older than what was served last"))
            cloud.kill()
            try cloud.restart()
            let after = try Self.health(of: cloud)
            #expect(after.hasPrefix(#"{"status":"ok","store":"readable","writing":"ok","storeBytes":"#))
            #expect(after.contains(#""accounts":1,"version":""#))
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
