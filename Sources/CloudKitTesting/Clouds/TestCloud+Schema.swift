import CloudKit
import CloudKitModel
import CloudKitSchema
import CloudKitServer
import Foundation

extension TestCloud {
    /// An environment of a container, each with its own data and schema.
    public enum Environment: String, Sendable, CaseIterable {
        case development, production
    }

    /// An index of a field.
    public struct Index: OptionSet, Sendable {
        /// The value as a number.
        public let rawValue: UInt8

        /// Creates the value from a number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Equality, membership, list tests.
        public static let queryable = Index(rawValue: 1)
        /// Ordering and ranges.
        public static let sortable = Index(rawValue: 2)
        /// Full text.
        public static let searchable = Index(rawValue: 4)
    }

    /// Gives a container the schema of a file in the schema language, in development and production.
    ///
    /// - Parameters:
    ///   - path: The file, relative to the folder of the test's package or absolute.
    ///   - container: The container, such as `iCloud.com.example.app`.
    /// - Throws: `TestCloudError` with line and column of a fault in the file, or with the reasons why it cannot be applied.
    public func schema(_ path: String, in container: String) async throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw TestCloudError("the file \(path) cannot be read in \(FileManager.default.currentDirectoryPath)")
        }
        try await schema(text: String(decoding: data, as: UTF8.self), in: container)
    }

    /// Gives a container the schema of a text in the schema language, in development and production.
    ///
    /// - Throws: As `schema(_:in:)`.
    public func schema(text: String, in container: String) async throws {
        try await TestCloudError.explaining {
            try await ImportSchema(running.cloud).run(text, in: ContainerID(container))
            try await DeploySchema(running.cloud).run(of: ContainerID(container), force: true)
        }
    }

    /// Copies the schema that development has by now to production, as `welkin schema deploy` does.
    public func deploySchema(of container: String) async throws {
        try await TestCloudError.explaining {
            _ = try await DeploySchema(running.cloud).run(of: ContainerID(container), force: true)
        }
    }

    /// Returns the schema of a container as text in the schema language.
    public func exportSchema(of container: String, _ environment: Environment = .development) async throws -> String {
        try await ExportSchema(running.cloud).run(of: ContainerID(container), environment.model)
    }

    /// Sets the indexes of a field in development; existing records are covered on return.
    ///
    /// - Parameters:
    ///   - field: The field, or a system field such as `recordName` or `creationDate`.
    ///   - recordType: The record type; records of it were saved, or the schema has it.
    ///   - container: The container.
    ///   - indexes: The indexes that the field has from now on.
    public func index(
        _ field: String, of recordType: String, in container: String, _ indexes: Index
    ) async throws {
        let cloud = running.cloud
        try await TestCloudError.explaining {
            try await SetIndex(cloud).run(
                FieldIndexes(rawValue: indexes.rawValue), on: Self.key(field), ofType: recordType,
                in: ContainerID(container), .development)
        }
    }

    private static func key(_ field: String) -> QueryKey {
        let attributes: [String: QueryKey.SystemField] = [
            "recordID": .recordName, "creationDate": .createdTimestamp, "modificationDate": .modifiedTimestamp,
            "creatorUserRecordID": .createdUserRecordName, "lastModifiedUserRecordID": .modifiedUserRecordName,
        ]
        let known = QueryKey.SystemField.allCases.first { $0.rawValue == field || $0.schemaName == field }
        return (attributes[field] ?? known).map { .system($0) } ?? .field(field)
    }
}

extension TestCloud.Environment {
    var model: CloudKitModel.Environment {
        switch self {
        case .development: .development
        case .production: .production
        }
    }
}

/// The error of a call that a test cloud refused, with the remedy.
public struct TestCloudError: Error, Sendable, CustomStringConvertible {
    /// The reason and the remedy.
    public let description: String

    init(_ description: String) { self.description = description }

    static func explaining<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let failure as RequestFailure {
            throw TestCloudError([failure.reason, failure.remedy].compactMap { $0 }.joined(separator: ". "))
        }
    }
}
