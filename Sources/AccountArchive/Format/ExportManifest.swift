/// The table of contents of an export, `manifest.json`, which is written last.
package struct ExportManifest: Codable, Hashable, Sendable {
    /// The format that this program writes, and the newest that it reads.
    package static let formatNewest = 1
    /// The name of its file in an export.
    static let file = "manifest.json"

    /// The format of the export.
    package var format: Int
    /// The program that wrote the export, with its version; for people.
    package var program: String
    /// The address of the cloud.
    package var cloud: String
    /// The address of the account.
    package var account: String
    /// The time at which the export began, in milliseconds since 1970.
    package var created: Int64
    /// The containers, by name and environment.
    package var containers: [ExportedContainer]
    /// Files of assets in the folder.
    package var assetCount: Int
    /// Bytes of those files.
    package var assetBytes: Int64

    /// Records of all containers.
    package var recordCount: Int { containers.reduce(0) { $0 + $1.recordCount } }
    /// Records that are incomplete, each with the reason in its line.
    package var problemCount: Int { containers.reduce(0) { $0 + $1.problemCount } }
}

/// A container of an export in one environment.
package struct ExportedContainer: Codable, Hashable, Sendable {
    /// The name of the container.
    package var container: String
    /// `development` or `production`.
    package var environment: String
    /// The user's record name there, which another cloud does not have.
    package var userRecordName: String
    /// The folder of the container in the export.
    package var folder: String
    /// The zones of the private database.
    package var zones: [ExportedZone]
    /// The records that the person created in the public database.
    package var publicRecords: ExportedFile
    /// The shares of the person's zones, one a line.
    package var shares: ExportedFile
    /// The zones and trees that others share with the person, one a line.
    package var sharedWithMe: ExportedFile
    /// The record types of the records, in the schema language.
    package var schema: ExportedFile

    /// Records of the private zones and of the public database.
    package var recordCount: Int { zones.reduce(publicRecords.lines) { $0 + $1.file.lines } }
    /// Those of them that are incomplete.
    package var problemCount: Int { zones.reduce(publicRecords.problems) { $0 + $1.file.problems } }
    /// All files of the container but those of assets.
    package var files: [ExportedFile] { zones.map(\.file) + [publicRecords, shares, sharedWithMe, schema] }
    /// The name and environment, for messages.
    package var title: String { "\(container) (\(environment))" }
}

/// A zone of an export.
package struct ExportedZone: Codable, Hashable, Sendable {
    /// The name of the zone.
    package var name: String
    /// Whether the zone has one key for all of its records.
    package var hasKeyPerZone: Bool
    /// The records, one a line.
    package var file: ExportedFile
}

/// A file of an export.
package struct ExportedFile: Codable, Hashable, Sendable {
    /// The path in the export.
    package var path: String
    /// The length in bytes.
    package var bytes: Int64
    /// SHA-256 of the bytes, in hexadecimal.
    package var sha256: String
    /// The number of lines; 0 for a file that is no list.
    package var lines: Int
    /// The number of records that are incomplete.
    package var problems: Int
}
