import Foundation
import OrderedStore

/// A value that a `RowTable` holds.
package protocol RowValue: Sendable {
    /// Reads a stored value.
    init(rowBytes bytes: Bytes) throws

    /// Returns the form in which the value is stored.
    func rowBytes() throws -> Bytes
}

/// A row that is stored as a JSON object. The names of its properties are stored: they never change.
package protocol StoredRow: RowValue, Codable {}

extension StoredRow {
    /// Decodes a row from JSON.
    package init(rowBytes bytes: Bytes) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(bytes))
    }

    /// Returns the row as JSON.
    package func rowBytes() throws -> Bytes { Array(try JSONEncoder().encode(self)) }
}

/// Text is stored as its UTF-8.
extension String: RowValue {
    /// Decodes text from UTF-8.
    package init(rowBytes bytes: Bytes) { self.init(decoding: bytes, as: UTF8.self) }

    /// Returns the text as UTF-8.
    package func rowBytes() -> Bytes { Array(utf8) }
}
