import Foundation
import OrderedStore

/// Everything that a cloud of some version has stored, as that version listed it.
struct StoreSample {
    /// A stored row.
    struct Row: Hashable {
        var partition: String
        var key: [UInt8]
        var value: [UInt8]
    }

    var rows: [Row]

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Samples")

    /// Reads the sample of a format of rows.
    init(format: Int) throws {
        let text = try String(contentsOf: Self.folder.appending(path: "rows-\(format).txt"), encoding: .utf8)
        rows = text.split(separator: "\n").map { line in
            let parts = line.split(separator: " | ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            let value = parts[2].hasPrefix("{") ? Array(parts[2].utf8) : Self.bytes(parts[2])
            return Row(partition: parts[0], key: Self.bytes(parts[1]), value: value)
        }
    }

    /// Reads ASCII in which other bytes are `\xx`.
    private static func bytes(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// The names of the partitions, and that of the format.
    var partitions: [String] { Array(Set(rows.map(\.partition)).union(["format"])).sorted() }

    /// Writes all rows to a store.
    func fill(_ store: any OrderedStore) async throws {
        for (name, rows) in Dictionary(grouping: rows, by: \.partition) {
            try await store.write([Partition(name)]) { transaction in
                for row in rows { transaction.set(row.key, row.value) }
            }
        }
    }

    /// Returns all rows of a store in the sample's partitions.
    func rows(of store: any OrderedStore) async throws -> Set<Row> {
        var found: Set<Row> = []
        for name in partitions {
            let all = KeyRange(lower: [], upper: [0xFF])
            for entry in try await store.read(Partition(name), { try await $0.scan(all, limit: .max) }) {
                found.insert(Row(partition: name, key: entry.key, value: entry.value))
            }
        }
        return found
    }
}
