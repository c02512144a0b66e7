import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit

/// Tests of the built `cktool` with records, over HTTP.
@Suite(.timeLimit(.minutes(20))) struct CKToolRecordTests {
    private static let container = CloudAndMachines.container
    private static let place = [
        "--team-id", "WWDRTEAMID", "--container-id", container, "--environment", "development",
    ]
    private static let zone = place + ["--database-type", "private", "--zone-name", "Books"]

    /// Runs a test with a user's machine that has a zone and a user token.
    private func run(_ body: (CloudAndMachines, Machine) async throws -> Void) async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            _ = try await ada.app().privateCloudDatabase.save(CKRecordZone(zoneName: "Books"))
            // Another machine, which is not signed in.
            let desk = try setup.machine("desk")
            let saved = try await desk.cktool(
                "save-token", "--type", "user", "--email", "Ada@example.com", "--rounds", CloudAndMachines.rounds,
                input: ["correct horse"])
            #expect(saved.status == 0, "\(saved.remarks)")
            try await body(setup, desk)
        }
    }

    /// What the tool prints about a record.
    private struct Printed: Decodable {
        struct Field: Decodable {
            var type: String
            var value: JSONValue
        }
        struct Change: Decodable {
            var timestamp: String
            var userRecordName: String
        }
        enum JSONValue: Decodable, Equatable {
            case text(String)
            case number(Double)
            case list([JSONValue])
            case object([String: JSONValue])

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let text = try? container.decode(String.self) {
                    self = .text(text)
                } else if let number = try? container.decode(Double.self) {
                    self = .number(number)
                } else if let list = try? container.decode([JSONValue].self) {
                    self = .list(list)
                } else {
                    self = .object(try container.decode([String: JSONValue].self))
                }
            }
        }

        var recordName: String
        var recordType: String
        var recordChangeTag: String
        var created: Change
        var fields: [String: Field]
    }

    private struct Page: Decodable {
        var records: [Printed]
        var continuationToken: String?
    }

    private static let fields = """
        {
            "title": { "type": "stringType", "value": "The Mysterious Island" },
            "pageCount": { "type": "int64Type", "value": 1464 },
            "rating": { "type": "doubleType", "value": 4.5 },
            "publishedOn": { "type": "timestampType", "value": "1875-09-12T21:12:42Z" },
            "place": { "type": "locationType", "value": { "latitude": 47.2, "longitude": -1.5 } },
            "tags": { "type": "stringListType", "value": ["sea", "balloon"] },
            "cover": { "type": "assetType", "value": "COVER" },
            "notes": { "type": "bytesType", "value": "AAEC" }
        }
        """

    @Test func `a record is created, found, changed and deleted`() async throws {
        try await run { _, desk in
            let cover = desk.home + "/cover.jpg"
            try Data("a picture".utf8).write(to: URL(fileURLWithPath: cover))
            let made = try await desk.cktool(
                ["create-record"] + Self.zone
                    + ["--record-type", "Book", "--fields-json", Self.fields, "--asset-files", "COVER=" + cover])
            #expect(made.status == 0, "\(made.remarks)")
            let record: Printed = try made.decoded()
            #expect(record.recordType == "Book" && !record.recordName.isEmpty)
            #expect(record.fields["title"]?.type == "stringType")
            #expect(record.fields["pageCount"]?.value == .number(1464))
            #expect(record.fields["rating"]?.type == "doubleType")
            #expect(record.fields["publishedOn"]?.value == .text("1875-09-12T21:12:42Z"))
            #expect(record.fields["tags"]?.type == "stringListType")
            #expect(record.fields["tags"]?.value == .list([.text("sea"), .text("balloon")]))
            guard case .object(let asset)? = record.fields["cover"]?.value else {
                Issue.record("the record has no cover")
                return
            }
            #expect(asset["size"] == .number(9) && asset["downloadUrl"] != nil)

            let second = try await desk.cktool(
                ["create-record"] + Self.zone + ["--record-type", "Book", "--record-name", "second", "--fields-stdin"],
                input: [#"{"title":{"type":"stringType","value":"Ice"},"pageCount":{"type":"int64Type","value":90}}"#])
            #expect(second.status == 0, "\(second.remarks)")
            for (filters, sort, titles) in [
                ([#"title == "The Mysterious Island""#], "title ASC", ["The Mysterious Island"]),
                (["pageCount > 80", "pageCount < 2000"], "pageCount DESC", ["The Mysterious Island", "Ice"]),
                (["pageCount > 80"], "pageCount", ["Ice", "The Mysterious Island"]),
                (["publishedOn < 1900-01-01"], "title", ["The Mysterious Island"]),
                (["tags LIST_CONTAINS_ANY balloon,train"], "title", ["The Mysterious Island"]),
                (["title IN stringType:Ice,Fire"], "title", ["Ice"]),
                (["rating >= 4.5"], "title", ["The Mysterious Island"]),
                (["title == stringType:90"], "title", []),
            ] {
                let found = try await desk.cktool(
                    ["query-records"] + Self.zone + ["--record-type", "Book", "--filters"] + filters
                        + ["--sort-by", sort, "--requested-fields", "title"])
                #expect(found.status == 0, "\(filters): \(found.remarks)")
                let page: Page = try found.decoded()
                #expect(page.records.compactMap { $0.fields["title"]?.value } == titles.map { .text($0) }, "\(filters)")
                #expect(page.records.allSatisfy { $0.fields.count == 1 })
            }
            let query = ["query-records"] + Self.zone + ["--record-type", "Book", "--filters", "pageCount > 0"]
            let first: Page = try await desk.cktool(query + ["--limit", "1"]).decoded()
            let token = try #require(first.continuationToken)
            let rest: Page = try await desk.cktool(query + ["--limit", "1", "--continuation-token", token]).decoded()
            #expect(Set((first.records + rest.records).map(\.recordName)) == [record.recordName, "second"])

            let change = #"{"pageCount":{"type":"int64Type","value":91},"title":{"type":"stringType","value":null}}"#
            let changed: Printed = try await desk.cktool(
                ["update-record"] + Self.zone + ["--record-name", "second", "--fields-json", change]
            ).decoded()
            #expect(changed.fields["pageCount"]?.value == .number(91) && changed.fields["title"] == nil)
            let stale = try await desk.cktool(
                ["update-record"] + Self.zone
                    + ["--record-name", "second", "--record-change-tag", "0", "--fields-json", change])
            #expect(stale.status == 1 && stale.remarks.contains("oplock"), "\(stale)")
            let looked = try await desk.cktool(
                ["lookup-records"] + Self.zone + ["--record-names", "second", "third"])
            #expect(looked.status == 1 && looked.remarks.contains("third: Record not found"), "\(looked)")
            #expect(try looked.decoded(Page.self).records.map(\.recordName) == ["second"])

            let delete = ["delete-record"] + Self.zone + ["--record-name", "second"]
            #expect(try await desk.cktool(delete).status == 64)
            #expect(try await desk.cktool(delete + ["--yes"]).status == 0)
            let again = try await desk.cktool(delete + ["-y"])
            #expect(again.status == 1 && again.remarks.contains("Record not found"), "\(again)")
        }
    }

    @Test func `records of a query are deleted, after a dry run`() async throws {
        try await run { _, desk in
            for number in 0..<3 {
                let made = try await desk.cktool(
                    ["create-record"] + Self.zone + ["--record-type", "Page", "--fields-json"]
                        + [#"{"number":{"type":"int64Type","value":\#(number)}}"#])
                #expect(made.status == 0, "\(made.remarks)")
            }
            let delete = ["delete-records"] + Self.zone + ["--record-type", "Page", "--filters", "number >= 1"]
            for dry in [[], ["--dry-run", "true", "--yes"]] {
                let counted = try await desk.cktool(delete + dry)
                #expect(counted.output == "Dry run. Found 2 matching records to delete.\n", "\(counted.remarks)")
            }
            #expect(try await desk.cktool(delete + ["--dry-run", "false"]).status == 64)
            let deleted = try await desk.cktool(delete + ["--dry-run", "false", "--yes"])
            #expect(deleted.status == 0 && deleted.output == "Deleted 2 records.\n", "\(deleted.remarks)")
            let left: Page = try await desk.cktool(
                ["query-records"] + Self.zone + ["--record-type", "Page", "--filters", "number >= 0"]
            ).decoded()
            #expect(left.records.map { $0.fields["number"]?.value } == [.number(0)])
        }
    }

    @Test func `mistakes are named before anything is sent, refusals with what to do`() async throws {
        try await run { _, desk in
            let create = ["create-record"] + Self.zone + ["--record-type", "Book"]
            for (arguments, status, words) in [
                (["--fields-json", "nonsense"], 1, "not a JSON object"),
                (["--fields-json", #"{"a":1}"#], 1, "The field a is not of the form"),
                (["--fields-json", #"{"a":{"type":"colour","value":1}}"#], 1, "The type of the field a is unknown"),
                (["--fields-json", #"{"a":{"type":"int64Type","value":"x"}}"#], 1, "a whole number"),
                (["--fields-json", #"{"a":{"type":"timestampType","value":"soon"}}"#], 1, "a time such as"),
                (["--fields-json", #"{"a":{"type":"assetType","value":"KEY"}}"#], 1, "--asset-files KEY=PATH"),
                (["--fields-file", "/nothing.json"], 1, "/nothing.json cannot be read"),
                ([], 64, "--fields-json"),
            ] {
                let refused = try await desk.cktool(create + arguments)
                #expect(refused.status == Int32(status) && refused.remarks.contains(words), "\(refused)")
            }
            let query = ["query-records"] + Self.zone + ["--record-type", "Book"]
            for wrong in [
                ["--filters", "title"], ["--filters", "title LIKE x"], ["--limit", "201"], ["--sort-by", "a UP"],
            ] {
                #expect(try await desk.cktool(query + wrong).status == 64, "\(wrong)")
            }
            let unknown = try await desk.cktool(query)
            #expect(unknown.status == 1 && unknown.remarks.contains("Import a schema"), "\(unknown)")
            let made = try await desk.cktool(create + ["--fields-json", "{}"])
            #expect(made.status == 0, "\(made.remarks)")
            let unindexed = try await desk.cktool(query)
            #expect(unindexed.status == 1 && unindexed.remarks.contains("___recordID"), "\(unindexed)")
            let nowhere = try await desk.cktool(
                ["create-record"] + Self.place
                    + ["--database-type", "private", "--zone-name", "Nowhere", "--record-type", "Book"]
                    + ["--fields-json", "{}"])
            #expect(nowhere.status == 1 && nowhere.remarks.contains("--zone-name"), "\(nowhere)")

            let invalid = try await desk.cktool(query + ["--token", "abc"])
            #expect(invalid.status == 1 && invalid.remarks.contains("Session has expired or is invalid."), "\(invalid)")
            #expect(try await desk.cktool(["remove-token", "--type", "user", "--force"]).status == 0)
            let without = try await desk.cktool(query)
            #expect(without.status == 64 && without.remarks.contains("No user token found"), "\(without)")
        }
    }

    @Test func `a signed-in machine needs no token, and the public database is open to the user`() async throws {
        try await CloudAndMachines.run { setup in
            let ada = try await setup.signedInMachine("ada")
            let open = Self.place + ["--database-type", "public"]
            let made = try await ada.cktool(
                ["create-record"] + open + ["--record-type", "Note", "--fields-json"]
                    + [#"{"text":{"type":"stringType","value":"for all"}}"#])
            #expect(made.status == 0, "\(made.remarks)")
            let found: Page = try await ada.cktool(
                ["query-records"] + open + ["--record-type", "Note", "--filters", "text BEGINS_WITH for"]
            ).decoded()
            #expect(found.records.count == 1)
            let wrong = try await setup.machine("desk").cktool(
                "save-token", "--email", "ada@example.com", "--rounds", CloudAndMachines.rounds, input: ["wrong"])
            #expect(wrong.status == 1, "\(wrong)")
        }
    }
}
