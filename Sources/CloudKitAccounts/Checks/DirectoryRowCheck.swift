import CloudKitRecordLayer
import IdentityDirectory

/// Checks the rows of the partition that holds the directory of identities.
package struct DirectoryRowCheck: Sendable {
    private let view: StorageReader

    /// The partition that holds the directory.
    package static let partition = DirectoryRows.partition

    /// Begins a check in a state of the partition.
    package init(_ view: StorageReader) { self.view = view }

    /// Checks a row.
    ///
    /// - Returns: The problem of the row; nil for one that is decoded and agrees with the rows that belong to it.
    package func problem(_ key: [UInt8], _ value: [UInt8]) async throws -> RowFinding? {
        let kind = String(decoding: key.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
        do {
            return try await check(kind, key, value).map { RowFinding(kind: kind, place: "a row", problem: $0) }
        } catch is DirectoryError {
            return RowFinding(kind: kind, place: "a row", problem: RowFinding.malformedValue)
        } catch let error as StorageError where error.code == .damagedValue {
            return RowFinding(kind: kind, place: "a row", problem: RowFinding.damagedNeighbour)
        }
    }

    private func check(_ kind: String, _ key: [UInt8], _ value: [UInt8]) async throws -> String? {
        switch kind {
        case "state":
            let state = try DirectoryState(bytes: value)
            let newest = state.next == 0 ? nil : try await view.get(DirectoryRows.head(state.next - 1))
            return newest == nil ? "its newest head is missing" : nil
        case "node": _ = try PrefixNode(bytes: value)
        case "entry":
            let entry = try StoredDirectoryEntry(bytes: value)
            return DirectoryRows.entry(entry.leaf.index) == key ? nil : "it is under the key of another entry"
        case "index": return VerifiableRandomFunction.output(of: value) == nil ? RowFinding.malformedValue : nil
        case "head": return try await checkHead(key, value)
        case "log": return DirectoryHash(value) == nil ? RowFinding.malformedValue : nil
        case "update": _ = try DirectoryUpdate(bytes: value)
        default: return "the kind of the row is unknown"
        }
        return nil
    }

    private func checkHead(_ key: [UInt8], _ value: [UInt8]) async throws -> String? {
        let head = try DirectoryHead(bytes: value)
        if DirectoryRows.head(head.number) != key { return "it is under the key of another head" }
        guard head.number > 0 else { return nil }
        let previous = try await view.get(DirectoryRows.head(head.number - 1)).map { try DirectoryHead(bytes: $0) }
        return previous?.hash == head.previous ? nil : "the head before it is missing or another one"
    }
}
