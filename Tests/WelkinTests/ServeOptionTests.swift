import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit

/// Tests of the limits and modes of `welkin serve` with the built program.
@Suite(.timeLimit(.minutes(20))) struct ServeOptionTests {
    private func record(_ name: String, _ type: String = "Note", _ fields: [String: String] = [:]) -> CKRecord {
        let record = CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name))
        for (key, value) in fields { record[key] = value }
        return record
    }

    @Test func `B-LIM-16 limits of the command line apply to apps`() async throws {
        let options = [
            "--record-bytes-max", "2000", "--zones-max", "2", "--fields-max", "3", "--asset-bytes-max", "1000",
            "--people-lookups-max", "2",
        ]
        try await CloudAndMachines.run(serving: options) { setup in
            let ada = try await setup.signedInMachine("ada")
            let app = try ada.app()
            let database = app.privateCloudDatabase

            try await database.save(record("small", "Note", ["text": String(repeating: "x", count: 1500)]))
            let large = await #expect(throws: CKError.self) {
                try await database.save(record("large", "Note", ["text": String(repeating: "x", count: 2500)]))
            }
            #expect(large?.code == .limitExceeded)

            for name in ["One", "Two"] { try await database.save(CKRecordZone(zoneName: name)) }
            let third = await #expect(throws: CKError.self) { try await database.save(CKRecordZone(zoneName: "Three")) }
            #expect(third != nil)
            #expect("\(try #require(third))".contains("2 zones"), "\(String(describing: third))")
            // A zone that is there can be saved again.
            try await database.save(CKRecordZone(zoneName: "Two"))

            try await database.save(record("three", "Wide", ["a": "", "b": "", "c": ""]))
            let fourth = await #expect(throws: CKError.self) {
                try await database.save(record("four", "Wide", ["d": ""]))
            }
            #expect(fourth != nil)

            let file = URL(fileURLWithPath: ada.home + "/file")
            try Data(count: 5000).write(to: file)
            let heavy = record("heavy", "Letter")
            heavy["file"] = CKAsset(fileURL: file)
            let tooLong = await #expect(throws: CKError.self) { try await database.save(heavy) }
            #expect(tooLong != nil)

            // Looking up people is counted by the hour.
            _ = try await app.shareParticipant(forEmailAddress: "ben@example.com")
            _ = try await app.shareParticipant(forEmailAddress: "cyd@example.com")
            let busy = await #expect(throws: CKError.self) {
                _ = try await app.shareParticipant(forEmailAddress: "dan@example.com")
            }
            #expect(busy?.retryAfterSeconds ?? 0 > 0)
        }
    }

    @Test(arguments: ["--user-requests-per-second", "--container-requests-per-second"])
    func `B-THR-06 requests beyond a rate are refused with the time to wait`(_ option: String) async throws {
        // Ten requests may come at once; the next ones come faster than one a second.
        try await CloudAndMachines.run(serving: [option, "1"]) { setup in
            let database = try await setup.signedInMachine("ada").app().privateCloudDatabase
            let error = await #expect(throws: CKError.self) {
                for _ in 0..<1000 { _ = try await database.allRecordZones() }
            }
            #expect(error?.code == .serviceUnavailable || error?.code == .requestRateLimited)
            #expect((error?.retryAfterSeconds ?? 0) >= 1)
        }
    }

    @Test func `B-LIM-16 limits out of range are refused before a cloud is made`() async throws {
        try await CloudAndMachines.run { setup in
            let desk = setup.operatorsMachine
            let wrong: [(String, String, String)] = [
                ("--record-bytes-max", "0", "--record-bytes-max is 1 to 1048576."),
                ("--record-bytes-max", "1048577", "--record-bytes-max is 1 to 1048576."),
                ("--zones-max", "0", "--zones-max is 1 to 1000."),
                ("--zones-max", "1001", "--zones-max is 1 to 1000."),
                ("--fields-max", "257", "--fields-max is 1 to 256."),
                ("--people-lookups-max", "0", "--people-lookups-max is 1 to 1000000."),
                ("--sign-ups-max", "100001", "--sign-ups-max is 1 to 100000."),
                ("--asset-bytes-max", "0", "--asset-bytes-max is 1 or more."),
                ("--user-requests-per-second", "0", "--user-requests-per-second is 0.001 to 1000000."),
                ("--container-requests-per-second", "nan", "--container-requests-per-second is 0.001 to 1000000."),
                ("--quota-bytes", "-1", "quota-bytes"), ("--quota-bytes", "1MB", "quota-bytes"),
                ("--sign-up", "maybe", "sign-up"), ("--log-format", "xml", "log-format"),
            ]
            for (option, value, reason) in wrong {
                let refused = try await desk.welkin(
                    "serve", "--port", "0", "--data", desk.home + "/new", "\(option)=\(value)")
                #expect(refused.status == 64, "\(option) \(value)")
                #expect(refused.remarks.contains(reason), "\(refused.remarks)")
            }
            #expect(!desk.exists("new"))
        }
    }

    @Test func `a strict cloud of web services refuses what the documentation does not have`() async throws {
        try await CloudAndMachines.run(serving: ["--strict-web-services"]) { setup in
            let added = try await setup.runAsOperator(
                "account", "add", "ada@example.com", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            #expect(added.status == 0, "\(added.remarks)")
            let ada = try setup.machine("ada")
            let login = try await ada.welkin("login", "--email", "ada@example.com", input: ["correct horse"])
            #expect(login.status == 1)
            #expect(login.remarks.contains("not part of CloudKit Web Services"), "\(login.remarks)")
            #expect(try await ada.welkin("status").status == 1)
        }
    }
}
