import Foundation
import Testing

@testable import CloudKit

/// Records that were never saved in this form: swapped, mixed, cut and stripped ones.
@Suite(.timeLimit(.minutes(20))) struct RecordAttackTests {
    @Test(arguments: Attack.of(.records))
    func `B-TM-04 a record that no device saved in this form is an error`(_ attack: Attack) async throws {
        try await Stage.check(attack) { stage in try await stage.playRecords() }
    }
}

extension Stage {
    fileprivate func playRecords() async throws {
        try await makeFolder()
        let ada = try await device("ada")
        let other = CKRecordZone.ID(zoneName: "Other")
        try await makeFolder(other)
        let one = try await ada.own.record(for: Self.id("One"))
        one.encryptedValues["draft"] = "secret draft of One"
        one["note"] = "first"
        _ = try await ada.own.save(one)
        try await feed(ada.own)
        try await feed(ada.own, in: other)
        let later = try await ada.own.record(for: Self.id("One"))
        later.encryptedValues["text"] = "secret later text of One"
        later.encryptedValues["draft"] = nil
        later["note"] = "second"
        if attack == .protectionOlder { try await ada.own.requests().raiseKeyEpoch(of: Self.zone.model) }
        _ = try await ada.own.save(later)

        let older = liar.versions(of: "One").first { $0["fields", "draft"] != nil && $0.isIn("Notes") }
        let two = liar.versions(of: "Two").first { $0.isIn("Notes") }
        let elsewhere = liar.versions(of: "One").first { $0.isIn("Other") }
        let facts = Facts(
            older: try #require(older), two: try #require(two), elsewhere: try #require(elsewhere))
        let laptop = try await device("ada", "laptop")
        let attack = attack
        // A device that has seen the record, and one that has seen nothing.
        let readers =
            switch attack {
            case .sealedStripped: [ada]
            case .sealedStrippedElsewhere: [laptop]
            default: [ada, laptop]
            }
        for reader in readers {
            for reading in Reading.allCases {
                try await lie { exchange in
                    exchange.change { answer in
                        answer.mutateRecord("One") { if $0.isIn("Notes") { attack.forge(&$0, facts) } }
                    }
                } during: {
                    try await reading.read("One", Self.zone, reader.own)
                }
            }
        }
        // The lie leaves no trace.
        #expect(try await text("One", ada.own) == "secret later text of One")
        #expect(try await text("One", laptop.own) == "secret later text of One")
    }
}

/// Records that the cloud has seen.
private struct Facts: Sendable {
    var older: JSON
    var two: JSON
    var elsewhere: JSON
}

extension JSON {
    /// Returns whether a record is in a zone.
    func isIn(_ zone: String) -> Bool { self["zoneID", "zoneName"]?.text == zone }
}

extension Attack {
    fileprivate func forge(_ record: inout JSON, _ facts: Facts) {
        switch self {
        case .fieldsSwapped:
            let text = record["fields", "text", "value"]
            record["fields", "text", "value"] = record["fields", "extra", "value"]
            record["fields", "extra", "value"] = text
        case .fieldsOfOtherRecord: record["fields"] = facts.two["fields"]
        case .fieldsOfOtherZone:
            record["fields"] = facts.elsewhere["fields"]
            record["protection"] = facts.elsewhere["protection"]
        case .typeChanged: record["recordType"] = "Memo"
        case .fieldTypeChanged: record["fields", "text", "type"] = "ENCRYPTED_BYTES"
        case .fieldTruncated: Self.edit(&record) { $0.removeLast() }
        case .fieldFlipped: Self.edit(&record) { $0[$0.count - 1] ^= 1 }
        case .fieldRenamed:
            record["fields", "body"] = record["fields", "text"]
            record["fields", "text"] = nil
        case .fieldUnsealed: record["fields", "text", "value"] = "forged"
        case .fieldReplacedByPlain: record["fields", "text"] = ["value": "forged", "type": "STRING"]
        case .fieldRemoved: record["fields", "text"] = nil
        case .fieldOlder: record["fields", "text"] = facts.older["fields", "text"]
        case .fieldRestored: record["fields", "draft"] = facts.older["fields", "draft"]
        case .sealedStripped, .sealedStrippedElsewhere:
            for field in ["text", "extra"] { record["fields", field] = ["value": "forged", "type": "STRING"] }
            record["protection"] = nil
        case .parentChanged: record["parent"] = ["recordName": "Two"]
        case .parentRemoved: record["parent"] = nil
        case .creationChanged: record["created", "timestamp"] = 1_000_000
        case .modificationChanged: record["modified", "timestamp"] = 1_000_000
        case .plainFieldChanged: record["fields", "note", "value"] = "forged"
        case .protectionRemoved: record["protection"] = nil
        case .protectionOfOtherRecord: record["protection"] = facts.two["protection"]
        case .protectionEpochRaised: record["protection", "epoch"] = 1
        case .protectionOlder: record["protection"] = facts.older["protection"]
        case .wrapsDamaged: record["protection", "keys"] = JSON(base64: [1, 2, 3])
        default: break
        }
    }

    private static func edit(_ record: inout JSON, _ change: (inout [UInt8]) -> Void) {
        guard var bytes = record["fields", "text", "value"]?.base64 else { return }
        change(&bytes)
        record["fields", "text", "value"] = JSON(base64: bytes)
    }
}
