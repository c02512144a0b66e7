import CloudKitRecordLayer
import Foundation

/// Something kept in a book as JSON.
protocol BookRow: Codable, Sendable {}

extension Book {
    func row<Row: BookRow>(_ key: String, as type: Row.Type = Row.self) async throws -> Row? {
        try await get(key).map { try JSONDecoder().decode(Row.self, from: Data($0)) }
    }

    /// The same, in a transaction that names the book's partition.
    func row<Row: BookRow>(
        _ key: String, as type: Row.Type = Row.self, in transaction: StorageWriter
    ) async throws -> Row? {
        try await get(key, in: transaction).map { try JSONDecoder().decode(Row.self, from: Data($0)) }
    }

    func rows<Row: BookRow>(prefix: String, as type: Row.Type = Row.self) async throws -> [Row] {
        try await entries(prefix: prefix).map { try JSONDecoder().decode(Row.self, from: Data($0.value)) }
    }
}

extension Book.Page {
    func row<Row: BookRow>(_ key: String, as type: Row.Type = Row.self) async throws -> Row? {
        try await get(key).map { try JSONDecoder().decode(Row.self, from: Data($0)) }
    }

    func rows<Row: BookRow>(prefix: String, as type: Row.Type = Row.self) async throws -> [Row] {
        try await entries(prefix: prefix).map { try JSONDecoder().decode(Row.self, from: Data($0.value)) }
    }

    mutating func set(_ key: String, to row: some BookRow) throws {
        set(key, to: Array(try JSONEncoder().encode(row)))
    }
}
