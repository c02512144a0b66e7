import CloudUnderTest
import Foundation
import ObjectServer
import PostgresServer
import Testing

@testable import CloudKit

/// Files of clouds whose rows are in PostgreSQL: in the database, in an object store, and on their way from one to the other.
@Suite(
    "Files of several nodes", .timeLimit(.minutes(20)),
    .enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"))
struct FilesOfNodesTests {
    /// Beyond one chunk of a file in the database.
    private static let content = Data((0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })

    private func photo(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name) }

    private func save(_ name: String, by machine: Machine) async throws {
        let file = URL(fileURLWithPath: machine.home + "/" + name)
        try Self.content.write(to: file)
        let record = CKRecord(recordType: "Photo", recordID: photo(name))
        record["file"] = CKAsset(fileURL: file)
        try await machine.app().privateCloudDatabase.save(record)
    }

    private func fetch(_ name: String, by machine: Machine) async throws -> Data {
        let record = try await machine.app().privateCloudDatabase.record(for: photo(name))
        return try Data(contentsOf: #require((record["file"] as? CKAsset)?.fileURL))
    }

    /// Signs in another device of ada's at a node.
    private func device(_ name: String, at node: CloudProcess, _ setup: CloudAndMachines) async throws -> Machine {
        var machine = try setup.machine(name)
        machine.variables["CLOUDKIT_ENDPOINT"] = "http://127.0.0.1:\(node.port)"
        let login = try await machine.welkin(
            "login", "--email", "ada@example.com", "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
        #expect(login.status == 0, "\(login.remarks)")
        return machine
    }

    private func node(_ setup: CloudAndMachines, _ environment: [String: String]) throws -> CloudProcess {
        let data = setup.cloud.folder + "/node-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: setup.cloud.data + "/secret", toPath: data + "/secret")
        return try CloudProcess(arguments: ["--data", data], environment: environment)
    }

    @Test func `nodes share files in the database, damage is found, and files move to a folder`() async throws {
        let server = try await PostgresServer.shared()
        let schema = PostgresServer.freshSchema()
        let address = server.address(schema: schema)
        try await CloudAndMachines.run(store: address) { setup in
            let here = try await setup.signedInMachine("ada")
            let node = try node(setup, ["WELKIN_STORE": address])
            defer { node.end() }
            try await save("A", by: here)
            let there = try await device("there", at: node, setup)
            #expect(try await fetch("A", by: there) == Self.content)
            #expect(!FileManager.default.fileExists(atPath: setup.cloud.data + "/assets"))
            let sound = try await setup.runAsOperator("check")
            #expect(sound.status == 0 && sound.remarks.contains("1 files"), "\(sound.output)\(sound.remarks)")
            let quick = try await setup.runAsOperator("check", "--quick")
            #expect(quick.status == 0, "\(quick.output)")

            // The whole store with its files in another schema.
            let other = server.address(schema: PostgresServer.freshSchema())
            let copied = try await setup.runAsOperator("store", "copy-files", "--to", "database")
            #expect(copied.status != 0 && copied.remarks.contains("already"), "\(copied.remarks)")
            let whole = try await run(setup, "store", "copy", "--from", address, "--to", other)
            #expect(whole.status == 0, "\(whole.remarks)")
            let elsewhere = try await run(setup, "check", "--data", setup.cloud.data, "--store", other)
            #expect(elsewhere.status == 0 && elsewhere.remarks.contains("1 files"), "\(elsewhere.output)")

            // To a folder, while the cloud runs, then for good.
            let folder = setup.cloud.folder + "/shared"
            let early = try await setup.runAsOperator("store", "copy-files", "--to", folder)
            #expect(early.status == 0 && early.output.contains("1 copied"), "\(early.remarks)")
            try await save("B", by: here)
            node.stop()
            let served = try await setup.runAsOperator("store", "copy-files", "--to", folder, "--final")
            #expect(
                served.status != 0 && served.remarks.contains("nodes of the cloud are running"), "\(served.remarks)")
            setup.cloud.stop()
            let final = try await setup.runAsOperator("store", "copy-files", "--to", folder, "--final")
            #expect(final.status == 0 && final.output.contains("2 files"), "\(final.remarks)")
            setup.cloud.environment["WELKIN_ASSETS"] = folder
            node.environment["WELKIN_ASSETS"] = "database"
            try setup.cloud.restart()
            do {
                try node.restart()
                Issue.record("a node looks for the files elsewhere")
            } catch {
                #expect(String(describing: error).contains("--assets"), "\(error)")
            }
            let third = try await device("third", at: setup.cloud, setup)
            #expect(try await fetch("A", by: third) == Self.content)
            #expect(try await fetch("B", by: third) == Self.content)
        }
    }

    @Test func `a damaged chunk in the database is reported by check and by the download`() async throws {
        let server = try await PostgresServer.shared()
        let schema = PostgresServer.freshSchema()
        try await CloudAndMachines.run(store: server.address(schema: schema)) { setup in
            let here = try await setup.signedInMachine("ada")
            try await save("A", by: here)
            try server.sql(
                """
                UPDATE \(schema).entries SET value = set_byte(value, 1000, get_byte(value, 1000) # 1)
                WHERE key > '\\xd3'::bytea AND key < '\\xd4'::bytea
                """)
            let check = try await setup.runAsOperator("check")
            #expect(
                check.status == 1 && check.output.contains("the file is damaged"), "\(check.output)\(check.remarks)")
            let there = try await device("there", at: setup.cloud, setup)
            await #expect(throws: CKError.self) { _ = try await fetch("A", by: there) }
        }
    }

    @Test(.enabled(if: ObjectServer.missing == nil, "OpenStack Swift is not installed"))
    func `nodes share files in an object store`() async throws {
        let address = try await PostgresServer.shared().address(schema: PostgresServer.freshSchema())
        let objects = try await ObjectServer.shared()
        try await CloudAndMachines.run(store: address) { setup in
            let here = try await setup.signedInMachine("ada")
            try await save("A", by: here)
            setup.cloud.stop()
            let settings = setup.cloud.folder + "/objects"
            let lines = [
                "# The object store of a test.", "endpoint = \(objects.endpoint)",
                "access_key = \(ObjectServer.accessKey)", "secret_key = \(ObjectServer.secretKey)",
            ]
            _ = FileManager.default.createFile(
                atPath: settings, contents: Data(lines.joined(separator: "\n").utf8),
                attributes: [.posixPermissions: 0o600])
            let place = "s3://\(ObjectServer.bucket)/\(UUID().uuidString)"
            let moved = try await setup.runAsOperator(
                "store", "copy-files", "--to", place, "--assets-file", settings, "--final")
            #expect(moved.status == 0 && moved.output.contains("1 copied"), "\(moved.remarks)")
            // The database says where the files are.
            setup.cloud.environment["WELKIN_ASSETS_FILE"] = settings
            try setup.cloud.restart()
            let node = try node(setup, ["WELKIN_STORE": address, "WELKIN_ASSETS_FILE": settings])
            defer { node.end() }
            let there = try await device("there", at: node, setup)
            #expect(try await fetch("A", by: there) == Self.content)
            try await save("B", by: there)
            let third = try await device("third", at: setup.cloud, setup)
            #expect(try await fetch("B", by: third) == Self.content)
            // Where the settings name its address for devices, they fetch from the object store itself.
            setup.cloud.environment["WELKIN_ASSETS_PUBLIC_ENDPOINT"] = objects.endpoint
            try setup.cloud.restart()
            let fourth = try await device("fourth", at: setup.cloud, setup)
            #expect(try await fetch("A", by: fourth) == Self.content)
            let metrics = try RawExchange(port: setup.cloud.port, connections: 1).ask(.get("/metrics")).text
            #expect(metrics.contains("\nwelkin_asset_sent_bytes_total 0\n"))
            let check = try await run(
                setup, "check", "--data", setup.cloud.data, "--assets", place, "--assets-file", settings)
            #expect(check.status == 0 && check.remarks.contains("2 files"), "\(check.output)\(check.remarks)")
            let keyless = try await setup.runAsOperator("check")
            #expect(keyless.status != 0 && keyless.remarks.contains("access key"), "\(keyless.remarks)")
            #expect(!keyless.remarks.contains(ObjectServer.secretKey))
        }
    }

    private func run(_ setup: CloudAndMachines, _ arguments: String...) async throws -> Machine.Outcome {
        try await Machine.run(
            [CloudProcess.program() ?? "welkin"] + arguments, variables: setup.operatorsMachine.variables,
            in: setup.operatorsMachine.home)
    }
}
