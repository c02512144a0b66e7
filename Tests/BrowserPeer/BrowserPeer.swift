import CloudKit
import Foundation

/// An app on a device, beside which `script/check-browser` runs a browser: saves, shares and reads encrypted records.
///
/// Each line of input is a command with its words separated by tabs; each is answered by a line of JSON, `{"error"}` for a failure.
/// - `save NAME PARENT SECRET FILE`: saves a record of the type `Note` with a sealed text and a sealed file, both from these texts. PARENT may be empty.
/// - `read NAME` and `read-shared OWNER NAME`: `{title, secret, file}`.
/// - `share NAME none|read|write EMAIL`: shares the tree of a record; EMAIL may be empty. `{url}`.
/// - `one-time NAME`: adds a one-time link to the share of a record. `{url}`.
/// - `look NAME`: fetches the share of a record, so that this device does what its keys need. `{participants}`.
/// - `retitle NAME TITLE`: changes the plain title of a record.
/// - `stop NAME`: deletes the share of a record.
/// - `accept URL`: takes part in a share.
/// - `vary NUMBER`: sends some forty requests of all kinds, whose values depend on the number.
@main
struct BrowserPeer {
    static func main() async {
        while let line = readLine() {
            let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            var answer: [String: String]
            do {
                answer = try await run(words[0], Array(words.dropFirst()))
            } catch {
                answer = ["error": "\(error)"]
            }
            // A dictionary of texts is always JSON.
            let bytes = (try? JSONEncoder().encode(answer)) ?? Data("{}".utf8)
            FileHandle.standardOutput.write(bytes + Data("\n".utf8))
        }
    }

    private static let container = CKContainer.default()
    private static let zone = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
    private static var database: CKDatabase { container.privateCloudDatabase }

    private struct Problem: Error {
        var reason: String
    }

    private static func run(_ command: String, _ words: [String]) async throws -> [String: String] {
        switch command {
        case "save": return try await save(words[0], parent: words[1], secret: words[2], file: words[3])
        case "read": return try facts(try await database.record(for: id(words[0])))
        case "read-shared":
            let zone = CKRecordZone.ID(zoneName: "Notes", ownerName: words[0])
            let id = CKRecord.ID(recordName: words[1], zoneID: zone)
            return try facts(try await container.sharedCloudDatabase.record(for: id))
        case "share": return try await share(words[0], access: words[1], email: words[2])
        case "age": return try await age(words[0], count: Int(words[1]) ?? 0, leaving: words[2], joining: words[3])
        case "one-time": return try await addOneTimeLink(words[0])
        case "look": return ["participants": String(try await fetchShare(words[0]).participants.count)]
        case "retitle":
            let record = try await database.record(for: id(words[0]))
            record["title"] = words[1]
            _ = try await database.save(record)
            return [:]
        case "stop":
            _ = try await database.deleteRecord(withID: try await fetchShare(words[0]).recordID)
            return [:]
        case "accept":
            guard let url = URL(string: words[0]) else { throw Problem(reason: "no URL") }
            _ = try await container.accept(try await container.shareMetadata(for: url))
            return [:]
        case "vary":
            try await VariedRequests(container: container, number: Int(words[0]) ?? 0).run()
            return [:]
        default: throw Problem(reason: "unknown command")
        }
    }

    private static func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    private static func save(
        _ name: String, parent: String, secret: String, file: String
    ) async throws -> [String: String] {
        _ = try await database.save(CKRecordZone(zoneID: zone))
        let record = CKRecord(recordType: "Note", recordID: id(name))
        record["title"] = "Title of \(name)"
        record.encryptedValues["secret"] = secret
        record.encryptedValues["amount"] = 42.5
        record.encryptedValues["tags"] = ["one", "two"]
        record.encryptedValues["due"] = Date(timeIntervalSince1970: 1_700_000_000)
        let address = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: address) }
        try Data(file.utf8).write(to: address)
        record["file"] = CKAsset(fileURL: address)
        if !parent.isEmpty { record.parent = CKRecord.Reference(recordID: id(parent), action: .none) }
        _ = try await database.save(record)
        return [:]
    }

    private static func facts(_ record: CKRecord) throws -> [String: String] {
        var facts = [
            "title": record["title"] as? String ?? "", "secret": record.encryptedValues["secret"] as? String ?? "",
        ]
        if let address = (record["file"] as? CKAsset)?.fileURL {
            facts["file"] = String(decoding: try Data(contentsOf: address), as: UTF8.self)
        }
        return facts
    }

    private static func fetchShare(_ name: String) async throws -> CKShare {
        let root = try await database.record(for: id(name))
        guard let reference = root.share,
            let share = try await database.record(for: reference.recordID) as? CKShare
        else { throw Problem(reason: "\(name) is not shared") }
        return share
    }

    private static func share(_ name: String, access: String, email: String) async throws -> [String: String] {
        let root = try await database.record(for: id(name))
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "Shared \(name)"
        share.publicPermission = access == "write" ? .readWrite : access == "read" ? .readOnly : .none
        if !email.isEmpty {
            guard let participant = try await container.shareParticipant(forEmailAddress: email) as CKShare.Participant?
            else { throw Problem(reason: "no participant") }
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        _ = try await database.modifyRecords(saving: [root, share], deleting: [])
        return ["url": try await fetchShare(name).url?.absoluteString ?? ""]
    }

    /// Lets a participant come and go, each time with another key epoch of the share, and then another one come.
    private static func age(
        _ name: String, count: Int, leaving: String, joining: String
    ) async throws -> [String: String] {
        for _ in 0..<count {
            var share = try await fetchShare(name)
            share.addParticipant(try await container.shareParticipant(forEmailAddress: leaving))
            _ = try await database.save(share)
            // Looking at it gives the participant the key.
            share = try await fetchShare(name)
            guard
                let participant = share.participants.first(where: {
                    $0.userIdentity.lookupInfo?.emailAddress == leaving
                })
            else { throw Problem(reason: "no participant") }
            share.removeParticipant(participant)
            _ = try await database.save(share)
        }
        let share = try await fetchShare(name)
        let participant = try await container.shareParticipant(forEmailAddress: joining)
        participant.permission = .readWrite
        share.addParticipant(participant)
        _ = try await database.save(share)
        return ["url": try await fetchShare(name).url?.absoluteString ?? ""]
    }

    private static func addOneTimeLink(_ name: String) async throws -> [String: String] {
        let share = try await fetchShare(name)
        let participant = CKShare.Participant.oneTimeURLParticipant()
        participant.permission = .readOnly
        share.addParticipant(participant)
        _ = try await database.save(share)
        return ["url": try await fetchShare(name).oneTimeURL(for: participant.participantID)?.absoluteString ?? ""]
    }
}
