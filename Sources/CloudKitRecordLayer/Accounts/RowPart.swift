import JSONBytes
import OrderedStore

/// Some properties of the rows of a table, read without the others: what nearly every request asks for.
package protocol RowPart: Sendable {
    /// Reads the part of a stored row.
    init(rowBytes bytes: Bytes) throws
}

extension RowTable where Row: StoredRow {
    /// Returns a part of the row under `key`, or nil where there is none.
    package func part<Part: RowPart>(_ type: Part.Type, of key: Key, in view: some StorageView) async throws -> Part? {
        try await view.get(stored(key)).map(Part.init(rowBytes:))
    }
}

extension RowPart {
    /// Reads the properties of a stored row one after the other.
    ///
    /// - Parameter property: Reads the value of a property or skips it; is not called for null.
    package static func readProperties(
        of bytes: Bytes, _ property: (_ name: JSONText, _ json: inout JSONReader) throws -> Void
    ) throws {
        try withJSON(bytes) { json in
            try json.object { json, name in
                if try json.peekKind() == .null { return try json.skipValue() }
                try property(name, &json)
            }
        }
    }

    /// Returns the value of a property that every row has.
    ///
    /// - Throws: `DecodingError` if the row was damaged.
    package static func required<Value>(_ value: Value?, _ name: String) throws -> Value {
        guard let value else {
            throw DecodingError.valueNotFound(
                Value.self, DecodingError.Context(codingPath: [], debugDescription: "a stored row has no \(name)"))
        }
        return value
    }
}
