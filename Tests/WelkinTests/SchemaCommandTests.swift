import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit

/// Tests of `welkin schema` with the built program beside a running cloud.
@Suite(.timeLimit(.minutes(20))) struct SchemaCommandTests {
    private static let container = CloudAndMachines.container

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
}
