import ArgumentParser
import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation

/// Shows records as the cloud stores them.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Show records as the cloud stores them and its operator can see them.",
        subcommands: [ShowRecordCommand.self])
}

struct ShowRecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a record of a user's private database as it is stored.",
        discussion: """
            Encrypted fields and the keys of assets are shown sealed, because this machine has no key to open them:

              welkin record show iCloud.com.example.app Diary entry-1 --email ada@example.com
              welkin record show iCloud.com.example.app Diary entry-1 --user _0123456789abcdef0123456789abcdef
            """)

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions
    @Argument(help: "The zone's name; _defaultZone is the default one.") var zone: String
    @Argument(help: "The record's name.") var record: String
    @Option(help: "The owner's e-mail address.") var email: String?
    @Option(help: "The name of the owner's user record in the container.") var user: String?
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (email == nil) != (user == nil) else { throw ValidationError("Give --email or --user.") }
    }

    func run() async throws {
        let found = try await DataFolder.with(folder) { folder in
            let owner = try await owner(in: folder)
            let outcomes = try await LookupRecords(folder.cloud).run(
                LookupRecordsRequest(
                    records: [LookupRecordsRequest.Item(recordName: record)], zoneID: ZoneID(zoneName: zone)),
                in: DatabaseAddress(
                    container: containerOptions.containerID, environment: containerOptions.environment, scope: .private),
                by: Caller(user: owner))
            return try Self.record(of: outcomes, named: record)
        }
        if json { return try Output.json(RecordLines(found)) }
        Output.result("\(found.recordType) \(found.id.recordName), tag \(found.changeTag.value)")
        Output.table(
            [["FIELD", "TYPE", "STORED"]] + RecordLines(found).fields.map { [$0.name, $0.type, $0.stored] })
    }

    private func owner(in folder: DataFolder) async throws -> UserID {
        if let user { return UserID(user) }
        guard let email else { throw ValidationError("Give --email or --user.") }
        guard let account = try await folder.accountStore.accounts.account(email: email) else {
            throw AccountError.notFound(email)
        }
        return try await folder.accountStore.userNames
            .name(of: account.id, in: containerOptions.containerID)
    }

    private static func record(of outcomes: [RecordOutcome], named name: String) throws -> Record {
        switch outcomes.first {
        case .record(let record)?: return record
        case .failed(_, let failure)?: throw RecordMissing(name: name, reason: failure.reason)
        default: throw RecordMissing(name: name, reason: "it was deleted")
        }
    }
}

/// The error of a record that does not exist.
private struct RecordMissing: Error, CustomStringConvertible {
    var name: String
    var reason: String

    var description: String { "There is no record \(name) to show: \(reason)." }
}

/// A record in the form in which it is printed.
private struct RecordLines: Encodable {
    struct Line: Encodable {
        var name: String
        var type: String
        var stored: String
    }

    var recordType: String
    var recordName: String
    var changeTag: String
    var fields: [Line]

    init(_ record: Record) {
        recordType = record.recordType
        recordName = record.id.recordName
        changeTag = record.changeTag.value
        fields = record.fields.map {
            Line(name: $0.name, type: $0.type.description, stored: String(decoding: $0.json, as: UTF8.self))
        }
    }
}
