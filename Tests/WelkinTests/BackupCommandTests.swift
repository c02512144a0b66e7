import CloudUnderTest
import Foundation
import ObjectServer
import Testing

@testable import CloudKit

/// `welkin backup` and `welkin restore`, as an operator uses them.
@Suite(.timeLimit(.minutes(20))) struct BackupCommandTests {
    /// Runs a command that takes no data folder.
    private func run(_ setup: CloudAndMachines, _ arguments: String...) async throws -> Machine.Outcome {
        try await run(setup, arguments)
    }

    private func run(_ setup: CloudAndMachines, _ arguments: [String]) async throws -> Machine.Outcome {
        let machine = setup.operatorsMachine
        return try await Machine.run(
            [try #require(CloudProcess.program())] + arguments, variables: machine.variables, in: machine.home)
    }

    private struct Row: Decodable {
        var moment: String
        var files: Int
        var bytesAdded: Int64
    }

    @Test func `a running cloud is backed up, lost and restored, and its people go on`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            let ada = try await setup.signedInMachine("ada")
            let database = try ada.app().privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
            let file = ada.home + "/photo"
            try Data(repeating: 7, count: 300_000).write(to: URL(fileURLWithPath: file))
            let photo = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "p", zoneID: zone))
            photo["file"] = CKAsset(fileURL: URL(fileURLWithPath: file))
            photo.encryptedValues["secret"] = "sealed"
            try await database.save(photo)
            let token = try await database.recordZoneChanges(inZoneWith: zone, since: nil).changeToken

            let backup = cloud.folder + "/backup"
            let passphrase = cloud.folder + "/passphrase"
            try "correct horse battery staple\n".write(toFile: passphrase, atomically: true, encoding: .utf8)
            let sealing = ["--passphrase-file", passphrase]
            let first = try await setup.runAsOperator("backup", backup, sealing[0], sealing[1], "--scrypt-cost", "1024")
            #expect(first.status == 0, "\(first.remarks)")
            let moment = first.output.trimmingCharacters(in: .whitespacesAndNewlines)
            // Bob comes after the moment.
            _ = try await setup.signedInMachine("bob")
            let second = try await setup.runAsOperator("backup", backup, sealing[0], sealing[1])
            #expect(second.status == 0, "\(second.remarks)")
            let list = try await run(setup, "backup", "list", backup, sealing[0], sealing[1], "--json")
            let rows: [Row] = try list.decoded()
            #expect(rows.map(\.moment).first == moment)
            #expect(rows.map(\.files) == [1, 1])
            #expect(rows[1].bytesAdded < rows[0].bytesAdded)
            let verified = try await run(setup, "backup", "verify", backup, "all", sealing[0], sealing[1])
            #expect(verified.status == 0 && verified.output.isEmpty, "\(verified.output)\(verified.remarks)")

            // The machine is lost.
            cloud.kill()
            try FileManager.default.removeItem(atPath: cloud.data)
            let restored = try await run(
                setup, "restore", backup, "--data", cloud.data, "--at", moment, sealing[0], sealing[1])
            #expect(restored.status == 0, "\(restored.remarks)")
            #expect(restored.remarks.contains("A new epoch has begun"))
            let checked = try await setup.runAsOperator("check")
            #expect(checked.status == 0, "\(checked.output)\(checked.remarks)")
            try cloud.restart()
            let health = try RawExchange(port: cloud.port, connections: 1).ask(.get("/health")).text
            #expect(health.contains(#""status":"ok""#), "\(health)")

            let error = await #expect(throws: CKError.self) {
                _ = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            }
            #expect(error?.code == .changeTokenExpired)
            #expect(error?.restoredTo != nil)
            let held = try await database.record(for: photo.recordID)
            #expect(held.encryptedValues["secret"] == "sealed")
            let content = try Data(contentsOf: #require((held["file"] as? CKAsset)?.fileURL))
            #expect(content == Data(repeating: 7, count: 300_000))
            // Bob's account is not there: a clear state, and his address is free.
            let accounts = try await setup.runAsOperator("account", "list")
            #expect(accounts.output.contains("ada@example.com") && !accounts.output.contains("bob@example.com"))
        }
    }

    @Test func `a device that signed in after the moment is told to sign in again`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            let backup = cloud.folder + "/backup"
            _ = try await setup.signedInMachine("ada")
            let taken = try await setup.runAsOperator("backup", backup)
            #expect(taken.status == 0, "\(taken.remarks)")
            let bob = try await setup.signedInMachine("bob")
            let database = try bob.app().privateCloudDatabase
            try await database.save(CKRecord(recordType: "Note"))
            cloud.stop()
            try FileManager.default.moveItem(atPath: cloud.data, toPath: cloud.data + ".lost")
            let restored = try await run(setup, "restore", backup, "--data", cloud.data)
            #expect(restored.status == 0, "\(restored.remarks)")
            try cloud.restart()
            let error = await #expect(throws: CKError.self) { try await database.save(CKRecord(recordType: "Note")) }
            #expect(error?.code == .accountTemporarilyUnavailable, "\(String(describing: error))")
            #expect(error?.localizedDescription.isEmpty == false)
            let status: Status = try await bob.welkin("status", "--json").decoded()
            #expect(!status.signedIn || status.state != "available", "\(status)")
            // With the same address and password the account is made again.
            let added = try await setup.runAsOperator(
                "account", "add", "bob@example.com", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            #expect(added.status == 0, "\(added.remarks)")
            _ = try await bob.welkin("logout")
            let login = try await bob.welkin(
                "login", "--email", "bob@example.com", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            #expect(login.status == 0, "\(login.remarks)")
            try await bob.app().privateCloudDatabase.save(CKRecord(recordType: "Note"))
        }
    }

    @Test func `refusals name the reason and what to do`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            let inside = try await setup.runAsOperator("backup", cloud.data + "/backup")
            #expect(inside.status != 0)
            #expect(inside.remarks.contains("lie one in the other"), "\(inside.remarks)")
            let other = try await setup.runAsOperator("backup", cloud.folder)
            #expect(other.status != 0 && other.remarks.contains("is not a backup of Welkin"), "\(other.remarks)")
            #expect(other.remarks.contains("or an empty place"), "\(other.remarks)")
            let none = try await run(setup, "backup", "list", cloud.folder + "/none")
            #expect(none.status != 0 && none.remarks.contains("is not a backup of Welkin"))
            #expect(none.remarks.contains("name the place of a backup"), "\(none.remarks)")
            let backup = cloud.folder + "/backup"
            let taken = try await setup.runAsOperator("backup", backup)
            #expect(taken.status == 0, "\(taken.remarks)")
            let full = try await run(setup, "restore", backup, "--data", cloud.data)
            #expect(full.status != 0 && full.remarks.contains("is not empty"), "\(full.remarks)")
            let moment = try await run(setup, "restore", backup, "--data", cloud.folder + "/new", "--at", "1999")
            #expect(moment.status != 0 && moment.remarks.contains("no moment begins with 1999"))
            // A damaged chunk: all are named, and nothing is restored.
            let chunks = try #require(FileManager.default.subpaths(atPath: backup + "/chunks")).filter { $0.count > 60 }
            for chunk in chunks { try Data([1, 2, 3]).write(to: URL(fileURLWithPath: backup + "/chunks/" + chunk)) }
            let verified = try await run(setup, "backup", "verify", backup)
            #expect(verified.status == 1)
            #expect(verified.output.contains("secret: ") && verified.output.contains("welkin.sqlite: "))
            let damaged = try await run(setup, "restore", backup, "--data", cloud.folder + "/new")
            #expect(damaged.status != 0 && damaged.remarks.contains("the backup is damaged"), "\(damaged.remarks)")
            #expect(!FileManager.default.fileExists(atPath: cloud.folder + "/new"))
        }
    }

    @Test func `a machine backs up what only the holder of the private key reads`() async throws {
        try await CloudAndMachines.run { setup in
            let folder = setup.cloud.folder
            let (key, backup) = (folder + "/key", folder + "/backup")
            let made = try await run(setup, "backup", "key", "new", key)
            #expect(made.status == 0, "\(made.remarks)")
            let recipient = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let again = try await run(setup, "backup", "key", "new", key)
            #expect(again.status != 0, "the key is not written over")
            let bad = try await setup.runAsOperator("backup", backup, "--recipient", recipient + "x")
            #expect(bad.status != 0 && bad.remarks.contains("not the recipient of a backup"), "\(bad.remarks)")
            let taken = try await setup.runAsOperator("backup", backup, "--recipient", recipient)
            #expect(taken.status == 0, "\(taken.remarks)")
            let second = try await setup.runAsOperator("backup", backup)
            #expect(second.status == 0, "\(second.remarks)")
            let listed = try await run(setup, "backup", "list", backup, "--data", setup.cloud.data, "--json")
            let rows: [Row] = try listed.decoded()
            #expect(rows.count == 2)
            let blind = try await run(setup, "backup", "verify", backup)
            #expect(blind.status != 0 && blind.remarks.contains("--key-file"), "\(blind.remarks)")
            let verified = try await run(setup, "backup", "verify", backup, "all", "--key-file", key)
            #expect(verified.status == 0, "\(verified.output)\(verified.remarks)")
            let pruned = try await run(
                setup, "backup", "prune", backup, "--keep", "1", "--data", setup.cloud.data)
            #expect(pruned.status == 0, "\(pruned.remarks)")
            let restored = try await run(
                setup, "restore", backup, "--data", folder + "/new", "--key-file", key)
            #expect(restored.status == 0, "\(restored.remarks)")
            let checked = try await run(setup, "check", "--data", folder + "/new")
            #expect(checked.status == 0, "\(checked.output)\(checked.remarks)")
            let both = try await setup.runAsOperator(
                "serve", "--backup", backup, "--backup-recipient", recipient, "--backup-passphrase-file", key)
            #expect(both.status != 0 && both.remarks.contains("exclude each other"), "\(both.remarks)")
        }
    }

    /// The times of the segments in a backup.
    private func segmentTimes(_ backup: String) -> [Int64] {
        (FileManager.default.subpaths(atPath: backup + "/changes") ?? []).filter { $0.hasSuffix(".pages") }
            .compactMap { $0.dropLast(6).split(separator: "-").last.flatMap { Int64($0) } }
    }

    @Test func `a cloud that is killed is restored with what it saved between its moments`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            let backup = cloud.folder + "/backup"
            try cloud.restart(further: ["--backup", backup, "--backup-continuous", "--backup-every", "1d"])
            let ada = try await setup.signedInMachine("ada")
            let database = try ada.app().privateCloudDatabase
            let file = ada.home + "/photo"
            try Data(repeating: 7, count: 300_000).write(to: URL(fileURLWithPath: file))
            let photo = CKRecord(recordType: "Photo")
            photo["file"] = CKAsset(fileURL: URL(fileURLWithPath: file))
            try await database.save(photo)
            let saved = Int64(Date().timeIntervalSince1970 * 1000)
            func moments() -> [String] {
                (try? FileManager.default.contentsOfDirectory(atPath: backup + "/moments")) ?? []
            }
            while moments().isEmpty || !segmentTimes(backup).contains(where: { $0 > saved }) {
                try await database.save(CKRecord(recordType: "Note"))
                try await Task.sleep(for: .milliseconds(50))
            }
            let metrics = try RawExchange(port: cloud.port, connections: 1).ask(.get("/metrics")).text
            #expect(metrics.contains("welkin_backup_lag_seconds "))
            let busy = try await run(setup, "backup", "prune", backup, "--keep", "1")
            #expect(busy.status != 0 && busy.remarks.contains("another process works on the backup"), "\(busy.remarks)")
            cloud.kill()
            try FileManager.default.removeItem(atPath: cloud.data)
            let wrong = try await run(setup, "restore", backup, "--data", cloud.data, "--at", "2026-99-01")
            #expect(wrong.status != 0 && wrong.remarks.contains("a time such as"), "\(wrong.remarks)")
            let early = try await run(setup, "restore", backup, "--data", cloud.data, "--at", "2020-01-01T00:00:00Z")
            #expect(early.status != 0 && early.remarks.contains("no such moment"), "\(early.remarks)")
            let verified = try await run(setup, "backup", "verify", backup, "all")
            #expect(verified.status == 0, "\(verified.output)\(verified.remarks)")
            let restored = try await run(setup, "restore", backup, "--data", cloud.data)
            #expect(restored.status == 0 && restored.output.contains("segments of changes"), "\(restored.remarks)")
            let checked = try await setup.runAsOperator("check")
            #expect(checked.status == 0, "\(checked.output)\(checked.remarks)")
            try cloud.restart()
            let held = try await database.record(for: photo.recordID)
            let content = try Data(contentsOf: #require((held["file"] as? CKAsset)?.fileURL))
            #expect(content == Data(repeating: 7, count: 300_000))
        }
    }

    @Test func `changes that were saved while the place was away reach it afterwards`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            let backup = cloud.folder + "/backup"
            try cloud.restart(further: ["--backup", backup, "--backup-continuous", "--backup-every", "1d"])
            let ada = try await setup.signedInMachine("ada")
            let database = try ada.app().privateCloudDatabase
            func waitForSegment(after time: Int64) async throws {
                while !segmentTimes(backup).contains(where: { $0 > time }) {
                    try await database.save(CKRecord(recordType: "Note"))
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
            while (try? FileManager.default.contentsOfDirectory(atPath: backup + "/moments"))?.isEmpty != false {
                try await Task.sleep(for: .milliseconds(20))
            }
            try await waitForSegment(after: now())
            try FileManager.default.moveItem(atPath: backup, toPath: backup + ".away")
            let record = CKRecord(recordType: "Note")
            try await database.save(record)
            let saved = now()
            // A save is not answered later because the place is away.
            for _ in 0..<20 {
                try await database.save(CKRecord(recordType: "Note"))
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(!FileManager.default.fileExists(atPath: backup), "the place is not made again in silence")
            try FileManager.default.moveItem(atPath: backup + ".away", toPath: backup)
            try await waitForSegment(after: saved)
            cloud.kill()
            try FileManager.default.removeItem(atPath: cloud.data)
            let restored = try await run(setup, "restore", backup, "--data", cloud.data)
            #expect(restored.status == 0, "\(restored.remarks)")
            try cloud.restart()
            #expect(try await database.record(for: record.recordID).recordType == "Note")
        }
    }

    @Test func `a bucket that cannot be used is refused with the reason`() async throws {
        try await CloudAndMachines.run { setup in
            let folder = setup.cloud.folder
            let settings = folder + "/objects"
            try "endpoint = http://127.0.0.1:1\naccess_key = a\nsecret_key = hidden\n".write(
                toFile: settings, atomically: true, encoding: .utf8)
            for (place, file, hint) in [
                ("s3://No_Bucket", settings, "not s3://bucket/prefix"), ("ftp://host/x", nil, "a folder or s3://"),
                ("s3://bucket", nil, "access key is missing"), (folder + "/b", settings, "go with a backup at s3://"),
                ("s3://bucket", folder + "/none", "there is no file"),
            ] as [(String, String?, String)] {
                let outcome = try await run(
                    setup, ["backup", "list", place] + (file.map { ["--bucket-file", $0] } ?? []))
                #expect(outcome.status != 0 && outcome.remarks.contains(hint), "\(place): \(outcome.remarks)")
                #expect(!outcome.remarks.contains("hidden"))
            }
            let without = try await setup.runAsOperator("serve", "--backup-bucket-file", settings)
            #expect(without.status != 0 && without.remarks.contains("needs --backup"), "\(without.remarks)")
        }
    }

    @Test(.enabled(if: ObjectServer.missing == nil, "OpenStack Swift is not installed"))
    func `a cloud is backed up to a bucket and restored from it`() async throws {
        let objects = try await ObjectServer.shared()
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            _ = try await setup.signedInMachine("ada")
            let settings = cloud.folder + "/objects"
            func write(key: String) throws {
                try "endpoint = \(objects.endpoint)\naccess_key = \(ObjectServer.accessKey)\nsecret_key = \(key)\n"
                    .write(
                        toFile: settings, atomically: true, encoding: .utf8)
            }
            try write(key: ObjectServer.secretKey)
            let place = "s3://\(ObjectServer.bucket)/\(UUID().uuidString)"
            let taken = try await setup.runAsOperator("backup", place, "--bucket-file", settings)
            #expect(taken.status == 0, "\(taken.remarks)")
            let verified = try await run(setup, "backup", "verify", place, "--bucket-file", settings)
            #expect(verified.status == 0 && verified.remarks.contains("no problems"), "\(verified.remarks)")
            let pruned = try await run(setup, "backup", "prune", place, "--keep", "1", "--bucket-file", settings)
            #expect(pruned.status == 0, "\(pruned.remarks)")
            let new = cloud.folder + "/new"
            let restored = try await run(setup, "restore", place, "--data", new, "--bucket-file", settings)
            #expect(restored.status == 0, "\(restored.remarks)")
            let checked = try await run(setup, "check", "--data", new)
            #expect(checked.status == 0, "\(checked.output)\(checked.remarks)")
            let missing = try await setup.runAsOperator("backup", "s3://missing/x", "--bucket-file", settings)
            #expect(missing.status != 0 && missing.remarks.contains("create the bucket"), "\(missing.remarks)")
            try write(key: "another")
            let refused = try await run(setup, "backup", "list", place, "--bucket-file", settings)
            #expect(refused.status != 0 && refused.remarks.contains("check the secret key"), "\(refused.remarks)")
            #expect(!refused.remarks.contains("another"))
        }
    }

    @Test func `a cloud backs itself up, keeps the newest moments and shows their age`() async throws {
        let folder = NSTemporaryDirectory() + "welkin-scheduled-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let cloud = try CloudProcess(
            arguments: ["--backup", folder, "--backup-every", "1s", "--backup-keep", "2"])
        defer { cloud.end() }
        func moments() -> [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: folder + "/moments")) ?? [])
                .filter { $0.hasSuffix(".moment") }.sorted()
        }
        var seen: Set<String> = []
        while seen.count < 4 {
            seen.formUnion(moments())
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(moments().count <= 3)
        let metrics = try RawExchange(port: cloud.port, connections: 1).ask(.get("/metrics")).text
        #expect(metrics.contains("welkin_backup_age_seconds "))
        #expect(metrics.contains(#"welkin_backups_total{outcome="done"}"#))
        cloud.stop()
    }
}
