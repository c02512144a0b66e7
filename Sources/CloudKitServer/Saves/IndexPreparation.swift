import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// The part of a batch's index work that needs no transaction: finding the words of texts, and refusing what is too much for one turn
/// in the writer.
struct IndexPreparation {
    private(set) var words = PreparedWords()
    /// About how many index entries each item changes, by name: those of texts and of lists.
    private(set) var entryCounts: [String: Int] = [:]
    /// How many of them an item surely adds and changes: those of long texts and of lists.
    private var certainCounts: [String: (added: Int, changed: Int)] = [:]
    private var entryCount = 0
    private let limits: Limits

    /// Looks through the new values.
    ///
    /// - Throws: `sizeLimitExceeded` for more index entries than one batch may add.
    init(of items: [IncomingChange], schema: Schema, limits: Limits) async throws {
        self.limits = limits
        var last: (name: String?, type: RecordTypeDefinition?) = (nil, nil)
        for item in items {
            // Most items of a batch have one type.
            if item.recordType != last.name { last = (item.recordType, item.recordType.flatMap { schema[$0] }) }
            let type = last.type
            for field in item.fields where !field.type.isEncrypted {
                // A field that the schema does not know gets every index in development.
                let indexes = type?.fields[field.name]?.indexes
                if field.type.isList, indexes != [] { count(try Self.elementCount(of: field), of: item.name) }
                if indexes?.contains(.searchable) ?? true {
                    let longTextCount = try words.add(field, of: item.name)
                    count(longTextCount, of: item.name)
                    if longTextCount == 0 { entryCounts[item.name, default: 0] += Self.wordEstimate(of: field) }
                }
                if entryCount > limits.indexEntriesMax { throw RequestFailure.tooManyIndexEntries(limits) }
                // So that requests with little to do need not wait for all of a large one.
                if field.json.count > Self.longTextBytes { await Task.yield() }
            }
        }
        certainCounts = certainCounts.mapValues { ($0.changed, $0.changed) }
    }

    /// Refuses a part of the batch that would keep other users waiting for too long.
    ///
    /// - Throws: `sizeLimitExceeded` for more index entries than one turn may change.
    func checkTurn(of items: [IncomingChange]) throws(RequestFailure) {
        var (added, changed) = (0, 0)
        for item in items {
            guard let counts = certainCounts[item.name] else { continue }
            added += counts.added
            changed += counts.changed
        }
        guard added <= limits.wholeEntriesMax, changed <= 2 * limits.wholeEntriesMax else {
            throw RequestFailure.tooManyIndexEntries(limits)
        }
    }

    /// Looks through the values that the batch replaces or deletes, as they are now.
    ///
    /// - Throws: `sizeLimitExceeded` for more index entries than one batch may change, or larger records than one batch may concern.
    mutating func addHeld(
        _ items: [IncomingChange], zoneName: String, schema: Schema, _ view: StorageReader
    ) async throws {
        var rest = items.filter { $0.kind != .create }[...]
        guard !rest.isEmpty, let zone = try await view.zone(named: zoneName) else { return }
        var bytes = 0
        while !rest.isEmpty {
            let part = rest.prefix(Self.heldAtOnce)
            rest = rest.dropFirst(part.count)
            let records = try await view.records(zone: zone.number, names: part.map(\.name))
            for case (let item, let record?) in zip(part, records) where !record.isTombstone {
                bytes += record.storedBytes
                guard bytes <= limits.batchHeldBytesMax else { throw RequestFailure.batchTooLarge(limits) }
                let names = item.kind.isDelete ? nil : Set(item.fields.map(\.name)).union(item.removed)
                let type = schema[record.recordType]
                for field in try record.fields(names)
                where type?.fields[field.name]?.indexes.contains(.searchable) ?? false {
                    count(try words.add(field, of: item.name), of: item.name)
                    let next = item.fields.first { $0.name == field.name }
                    if let next { discount(words.commonCount(field, next, of: item.name), of: item.name) }
                }
                if entryCount > 2 * limits.indexEntriesMax { throw RequestFailure.tooManyIndexEntries(limits) }
            }
        }
    }

    private mutating func count(_ entries: Int, of name: String) {
        if entries == 0 { return }
        entryCount += entries
        entryCounts[name, default: 0] += entries
        certainCounts[name, default: (0, 0)].changed += entries
    }

    /// Notes entries that a text and the one which replaces it have both.
    private mutating func discount(_ entries: Int, of name: String) {
        if entries == 0 { return }
        entryCount -= 2 * entries
        entryCounts[name, default: 0] -= 2 * entries
        certainCounts[name, default: (0, 0)].added -= entries
        certainCounts[name, default: (0, 0)].changed -= 2 * entries
    }

    /// Returns about how many words a short text has, without reading it: more rather than fewer.
    private static func wordEstimate(of field: Field) -> Int {
        guard field.type.base == .string, !field.type.isList else { return 0 }
        return field.json.count { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...0xDF:
                false
            // What parts words, and characters that may be a word each.
            default: true
            }
        }
    }

    /// Returns about how many elements a list has, never too few.
    private static func elementCount(of field: Field) throws -> Int {
        let commas = field.json.count { $0 == UInt8(ascii: ",") }
        guard commas > shortListMax, case .list(_, let elements) = try field.value() else { return commas + 1 }
        return elements.count
    }

    private static let shortListMax = 256
    private static let longTextBytes = 32_768
    private static let heldAtOnce = 16
}

extension RequestFailure {
    /// One batch would change too many index entries (B-LIM-18).
    static func tooManyIndexEntries(_ limits: Limits) -> RequestFailure {
        RequestFailure(
            .sizeLimitExceeded,
            "the request changes more than \(limits.wholeEntriesMax) entries of indexes at once, or more than \(limits.indexEntriesMax)",
            remedy: "Send the halves; keep long lists in fields without indexes, or in assets.")
    }
}
