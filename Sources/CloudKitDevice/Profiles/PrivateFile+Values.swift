import Foundation

/// Files with one JSON value each.
extension PrivateFile {
    /// The end of the name of the file by which `change` keeps other processes out.
    static let lockSuffix = ".lock"

    /// Returns the value in a file.
    ///
    /// - Parameter empty: The value of a file that is not there.
    package static func read<Value: Decodable>(_ path: String, or empty: Value) throws -> Value {
        guard let bytes = try read(path) else { return empty }
        return try JSONDecoder().decode(Value.self, from: Data(bytes))
    }

    /// Reads the value in a file and lets `body` change it, while no other process does; where `body` throws, nothing changes.
    ///
    /// - Parameter empty: The value of a file that is not there.
    package static func change<Value: Codable & Equatable, Result>(
        _ path: String, from empty: Value, _ body: (inout Value) throws -> Result
    ) throws -> Result {
        try FileLock.hold(path + lockSuffix) {
            let before = try read(path, or: empty)
            var value = before
            let result = try body(&value)
            if value != before { try replace(path, with: Array(JSONEncoder().encode(value))) }
            return result
        }
    }
}
