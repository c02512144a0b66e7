import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit

/// Tests of `welkin schema` with the built program beside a running cloud.
@Suite(.timeLimit(.minutes(20))) struct SchemaCommandTests {
    private static let container = CloudAndMachines.container

    /// A row of `welkin schema list --json`.
    private struct ListedField: Decodable, Equatable {
        var recordType: String
        var field: String
        var type: String
        var indexes: [String]
    }

    private func write(_ text: String, _ setup: CloudAndMachines) throws -> String {
        let path = setup.operatorsMachine.home + "/schema.ckdb"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func `B-SCH-02 a first save in production goes through once the schema was deployed`() async throws {
        try await CloudAndMachines.run { setup in
            var ada = try await setup.signedInMachine("ada")
            let contact = CKRecord(recordType: "Contact", recordID: CKRecord.ID(recordName: "c"))
            contact["name"] = "Grace"
            try await ada.app().privateCloudDatabase.save(contact)

            ada.variables["CLOUDKIT_ENVIRONMENT"] = "production"
            let token = try await setup.runAsOperator(
                "token", "create", Self.container, "--environment", "production")
            ada.variables["CLOUDKIT_API_TOKEN"] = token.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let production = try ada.app().privateCloudDatabase
            let another = CKRecord(recordType: "Contact", recordID: CKRecord.ID(recordName: "c"))
            another["name"] = "Grace"
            do {
                try await production.save(another)
                Issue.record("production took a type that was not deployed")
            } catch let error as CKError {
                #expect("\(error)".contains("welkin schema deploy"), "\(error)")
            }

            let report = try await setup.runAsOperator("schema", "lint", Self.container)
            #expect(report.output.contains("Contact"))
            let deployed = try await setup.runAsOperator("schema", "deploy", Self.container)
            #expect(deployed.status == 0, "\(deployed.remarks)")
            try await production.save(another)
            let same = try await setup.runAsOperator("schema", "diff", Self.container)
            #expect(same.status == 0 && same.output.isEmpty, "\(same.output)")
        }
    }

    @Test func `an export can be imported, and mistakes are named by line and column`() async throws {
        try await CloudAndMachines.run { setup in
            let text = "DEFINE SCHEMA\nRECORD TYPE Contact (\n  name STRING QUERYABLE SORTABLE\n);\n"
            let imported = try await setup.runAsOperator(
                "schema", "import", Self.container, try write(text, setup))
            #expect(imported.status == 0, "\(imported.remarks)")
            let exported = try await setup.runAsOperator("schema", "export", Self.container)
            #expect(exported.output.contains("STRING QUERYABLE SORTABLE"))
            let again = try await setup.runAsOperator(
                "schema", "validate", Self.container, try write(exported.output, setup))
            #expect(again.status == 0, "\(again.remarks)")
            let wrong = try await setup.runAsOperator(
                "schema", "validate", Self.container,
                try write("DEFINE SCHEMA\nRECORD TYPE Contact (\n  name STRNG\n);\n", setup))
            #expect(wrong.status == 1)
            #expect(wrong.remarks.contains("Line 3, column 8"), "\(wrong.remarks)")
            let absent = try await setup.runAsOperator("schema", "import", Self.container, "/nothing.ckdb")
            #expect(absent.status == 1)
        }
    }

    @Test func `indexes are listed and set, and a field that does not exist is named`() async throws {
        try await CloudAndMachines.run { setup in
            let text = "DEFINE SCHEMA\nRECORD TYPE Contact (\n  name STRING,\n  photo ASSET\n);\n"
            #expect(
                try await setup.runAsOperator("schema", "import", Self.container, try write(text, setup)).status == 0)
            let set = try await setup.runAsOperator(
                "schema", "index", Self.container, "Contact", "name", "--queryable", "--sortable")
            #expect(set.status == 0, "\(set.remarks)")
            #expect(set.output == "Contact.name: queryable, sortable.\n")
            let recordName = try await setup.runAsOperator(
                "schema", "index", Self.container, "Contact", "recordName", "--queryable")
            #expect(recordName.status == 0, "\(recordName.remarks)")
            let listed = try await setup.runAsOperator("schema", "list", Self.container)
            #expect(listed.output.contains("queryable sortable") && listed.output.contains("___recordID"))
            let lines = try await setup.runAsOperator("schema", "list", Self.container, "--json").decoded(
                [ListedField].self)
            #expect(
                lines.contains(
                    ListedField(
                        recordType: "Contact", field: "name", type: "STRING", indexes: ["queryable", "sortable"])))
            let removed = try await setup.runAsOperator("schema", "index", Self.container, "Contact", "name")
            #expect(removed.output == "Contact.name: no index.\n")

            for (type, field, index) in [
                ("Contact", "nickname", "--queryable"), ("Person", "name", "--queryable"),
                ("Contact", "photo", "--sortable"),
            ] {
                let refused = try await setup.runAsOperator("schema", "index", Self.container, type, field, index)
                #expect(refused.status == 1, "\(type).\(field)")
                #expect(refused.remarks.contains(field) || refused.remarks.contains(type), "\(refused.remarks)")
            }
        }
    }

    @Test func `B-SCH-04 a deployment that apps could notice needs force, and a reset needs consent`() async throws {
        try await CloudAndMachines.run { setup in
            let indexed = "DEFINE SCHEMA\nRECORD TYPE Contact (\n  name STRING QUERYABLE\n);\n"
            let plain = "DEFINE SCHEMA\nRECORD TYPE Contact (\n  name STRING\n);\n"
            func imported(_ text: String) async throws -> Machine.Outcome {
                try await setup.runAsOperator("schema", "import", Self.container, try write(text, setup))
            }
            #expect(try await imported(indexed).status == 0)
            #expect(try await setup.runAsOperator("schema", "deploy", Self.container).status == 0)
            #expect(try await imported(plain).status == 0)
            let lint = try await setup.runAsOperator("schema", "lint", Self.container)
            #expect(lint.status == 1 && lint.output.contains("risk: "), "\(lint.output)")
            let refused = try await setup.runAsOperator("schema", "deploy", Self.container)
            #expect(refused.status == 1)
            #expect(refused.remarks.contains("force"), "\(refused.remarks)")
            let forced = try await setup.runAsOperator("schema", "deploy", Self.container, "--force")
            #expect(forced.status == 0, "\(forced.remarks)")
            // Nothing of production can go away in development.
            let removed = try await imported("DEFINE SCHEMA\n")
            #expect(removed.status == 1 && removed.remarks.contains("Contact"), "\(removed.remarks)")

            #expect(try await imported(indexed).status == 0)
            let diff = try await setup.runAsOperator(
                "schema", "diff", Self.container, try write(plain, setup))
            #expect(diff.status == 0 && diff.output.contains("name"), "\(diff.output)")
            let reset = try await setup.runAsOperator("schema", "reset", Self.container)
            #expect(reset.status == 1 && reset.remarks.contains("--yes"), "\(reset.remarks)")
            #expect(try await setup.runAsOperator("schema", "reset", Self.container, "--yes").status == 0)
            #expect(try await setup.runAsOperator("schema", "diff", Self.container).output.isEmpty)
        }
    }

    @Test func `B-DB-06 a role is given and taken, and what does not exist is named`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let text = """
                DEFINE SCHEMA
                CREATE ROLE editor;
                RECORD TYPE News (
                  title STRING,
                  GRANT READ TO "_world",
                  GRANT READ, CREATE, WRITE TO editor
                );

                """
            #expect(
                try await setup.runAsOperator("schema", "import", Self.container, try write(text, setup)).status == 0)
            let database = try ada.app().publicCloudDatabase
            func publish() async throws {
                let news = CKRecord(recordType: "News")
                news["title"] = "hello"
                try await database.save(news)
            }
            let before = await #expect(throws: CKError.self) { try await publish() }
            #expect(before?.code == .permissionFailure)
            func role(_ verb: String, _ name: String, _ email: String) async throws -> Machine.Outcome {
                try await setup.runAsOperator("schema", "role", verb, Self.container, name, email)
            }
            let given = try await role("give", "editor", "ada@example.com")
            #expect(given.status == 0 && given.output.contains("has the role editor"), "\(given.remarks)")
            try setup.cloud.restart()
            try await publish()
            let user = try await ada.app().userRecordID().recordName
            #expect(try await setup.runAsOperator("schema", "role", "list", Self.container).output.contains(user))
            #expect(try await role("take", "editor", "ada@example.com").output.contains("no longer has"))
            #expect(!(try await setup.runAsOperator("schema", "role", "list", Self.container).output.contains(user)))
            let unknown = try await role("give", "painter", "ada@example.com")
            #expect(unknown.status == 1 && unknown.remarks.contains("no such role"), "\(unknown.remarks)")
            let stranger = try await role("give", "editor", "eve@example.com")
            #expect(stranger.status == 1 && stranger.remarks.contains("eve@example.com"), "\(stranger.remarks)")
        }
    }

    @Test func `schemas are read from standard input and written to files; wrong containers are refused`() async throws
    {
        try await CloudAndMachines.run { setup in
            let imported = try await setup.runAsOperator(
                "schema", "import", Self.container, "-", input: ["DEFINE SCHEMA RECORD TYPE Note ( text STRING );"])
            #expect(imported.status == 0, "\(imported.remarks)")
            let path = setup.operatorsMachine.home + "/out.ckdb"
            #expect(
                try await setup.runAsOperator("schema", "export", Self.container, "--output", path).status == 0)
            #expect(try String(contentsOfFile: path, encoding: .utf8).contains("RECORD TYPE Note"))
            let nowhere = try await setup.runAsOperator(
                "schema", "export", Self.container, "--output", "/no such folder/out.ckdb")
            #expect(nowhere.status == 1 && nowhere.remarks.contains("cannot be written"), "\(nowhere.remarks)")
            for command in ["export", "list", "lint", "deploy", "diff"] {
                let refused = try await setup.runAsOperator("schema", command, "iCloud com")
                #expect(refused.status == 64, "\(command)")
                #expect(refused.remarks.contains("A container's name has"), "\(refused.remarks)")
            }
            #expect(
                try await setup.runAsOperator("schema", "list", Self.container, "--environment", "staging").status == 64
            )
        }
    }
}
