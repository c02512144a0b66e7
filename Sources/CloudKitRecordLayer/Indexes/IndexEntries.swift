import CloudKitModel
import OrderedStore

/// The index entries that a record has, as a pure function of the record and the indexes of its type.
///
/// The write path asks for the *difference* between the record before and after; fields that did not change cost a
/// comparison of their bytes.
package struct IndexEntries: Hashable, Sendable {
    /// Keys to be removed.
    package private(set) var removed: [Bytes] = []
    /// Keys to be set, each with an empty value.
    package private(set) var added: [Bytes] = []

    /// Compares the entries of a record before and after a change.
    ///
    /// - Parameters:
    ///   - old: The record that the zone held; nil or a tombstone: nothing.
    ///   - new: The record that it will hold; nil or a tombstone: nothing.
    ///   - oldIndexes: The indexes of the old record's type; they may be left out if the types are the same.
    ///   - newIndexes: The indexes of the new record's type; nil if that has no definition: only its extent is kept.
    ///   - newFields: The fields of the new record, where they are at hand.
    ///   - words: The words of texts, as far as they were found before.
    /// - Throws: `internalError` if a stored field was damaged.
    package init(
        zone: UInt32, from old: StoredRecord?, to new: StoredRecord?, oldIndexes: RecordIndexes? = nil,
        newIndexes: RecordIndexes?, newFields: [Field]? = nil, words: PreparedWords = PreparedWords()
    ) throws {
        let before = old.flatMap { $0.isTombstone ? nil : $0 }
        let after = new.flatMap { $0.isTombstone ? nil : $0 }
        let prefix = IndexKey.zonePrefix(zone)
        if let before, let after, before.recordType == after.recordType {
            guard let newIndexes else { return }
            try addDifference(
                from: before, to: after, try Self.values(of: after, newFields), indexes: newIndexes, under: prefix,
                words)
        } else {
            if let before {
                removed = try Self.all(
                    before, try IndexedValues(before), oldIndexes ?? newIndexes, under: prefix, words)
            }
            if let after {
                added = try Self.all(after, try Self.values(of: after, newFields), newIndexes, under: prefix, words)
            }
        }
    }

    private static func values(of record: StoredRecord, _ fields: [Field]?) throws -> IndexedValues {
        if let fields { IndexedValues(record, fields: fields) } else { try IndexedValues(record) }
    }

    private mutating func addDifference(
        from before: StoredRecord, to after: StoredRecord, _ new: IndexedValues, indexes: RecordIndexes,
        under prefix: Bytes, _ words: PreparedWords
    ) throws {
        let old = try IndexedValues(before)
        // Both are one record of one type.
        let keys = RecordKeys(after, under: prefix)
        for field in indexes.fields where !field.marks.isEmpty && !old.agrees(with: new, in: field) {
            var (gone, made): ([Bytes], [Bytes]) = ([], [])
            try Self.addValueEntries(of: keys, field, old, words, to: &gone)
            try Self.addValueEntries(of: keys, field, new, words, to: &made)
            removed += gone.without(made)
            added += made.without(gone)
            guard field.marks.contains(.searchable) else { continue }
            let goneWords = try old.words(of: field, words)
            let madeWords = try new.words(of: field, words)
            let writer = EntryWriter(of: keys, field)
            writer.addTokens(goneWords.subtracting(madeWords), to: &removed)
            writer.addTokens(madeWords.subtracting(goneWords), to: &added)
        }
    }

    /// Every entry of a record, its extent included; an entry may occur twice.
    private static func all(
        _ record: StoredRecord, _ values: IndexedValues, _ indexes: RecordIndexes?, under prefix: Bytes,
        _ words: PreparedWords
    ) throws -> [Bytes] {
        let fields = indexes?.fields ?? []
        let keys = RecordKeys(record, under: prefix)
        var entries: [Bytes] = []
        // Two for a field, and some words.
        entries.reserveCapacity(2 * fields.count + 8)
        entries.append(keys.extent)
        for field in fields {
            try addValueEntries(of: keys, field, values, words, to: &entries)
            guard field.marks.contains(.searchable) else { continue }
            EntryWriter(of: keys, field).addTokens(try values.words(of: field, words), to: &entries)
        }
        return entries
    }

    static func extent(of record: StoredRecord, under prefix: Bytes = []) -> Bytes {
        RecordKeys(record, under: prefix).extent
    }

    /// Returns the entries of one field, of every kind that its marks ask for; an entry may occur twice.
    ///
    /// - Parameter prefix: The bytes before each entry: a zone's, or nothing.
    static func entries(
        of record: StoredRecord, _ field: IndexedField, _ values: IndexedValues, under prefix: Bytes = []
    ) throws -> [Bytes] {
        let keys = RecordKeys(record, under: prefix)
        var entries: [Bytes] = []
        try addValueEntries(of: keys, field, values, PreparedWords(), to: &entries)
        if field.marks.contains(.searchable) {
            EntryWriter(of: keys, field).addTokens(try values.words(of: field, PreparedWords()), to: &entries)
        }
        return entries
    }

    /// Adds the entries of one field but those of its words.
    private static func addValueEntries(
        of record: RecordKeys, _ field: IndexedField, _ values: IndexedValues, _ words: PreparedWords,
        to entries: inout [Bytes]
    ) throws {
        // Names are in the extent already; only an order by them needs entries of its own.
        let needed: IndexMarks =
            field.name == QueryKey.SystemField.recordName.schemaName ? .sortable : [.queryable, .sortable]
        if field.marks.isDisjoint(with: needed) { return }
        let writer = EntryWriter(of: record, field)
        if let beginning = values.beginning(of: field, words) {
            writer.addBeginning(beginning, to: &entries)
        } else {
            writer.addValues(try values.value(of: field), field, to: &entries)
        }
    }
}

extension [Bytes] {
    /// Returns the elements that `others` does not hold. Most fields have one entry or a few.
    fileprivate func without(_ others: [Bytes]) -> [Bytes] {
        if count * others.count <= 64 { return filter { !others.contains($0) } }
        let others = Set(others)
        return filter { !others.contains($0) }
    }
}

/// What all entries of one record have in common.
private struct RecordKeys {
    /// The beginning: the zone's prefix, or nothing, and the record type.
    let typePrefix: Bytes
    /// The end: the record's name.
    let name: KeyBuilder

    init(_ record: StoredRecord, under prefix: Bytes) {
        typePrefix = IndexKey.typePrefix(record.recordType, under: prefix)
        var name = KeyBuilder(capacity: record.name.utf8.count + 2)
        name.append(record.name)
        self.name = name
    }

    /// The entry of the record's type.
    var extent: Bytes {
        var key = IndexKey.prefix(.extent, of: "", underType: typePrefix)
        key.append(name)
        return key.bytes
    }
}

/// Makes the entries of one field of one record.
private struct EntryWriter {
    private let record: RecordKeys
    private let field: String

    init(of record: RecordKeys, _ field: IndexedField) {
        self.record = record
        self.field = field.name
    }

    func addValues(_ value: FieldValue?, _ field: IndexedField, to entries: inout [Bytes]) {
        switch value {
        case nil:
            // So that an order by the field does not lose the record.
            if field.marks.contains(.sortable), !field.type.isList {
                add(.ordered, to: &entries) {
                    $0.appendNull()
                    return true
                }
            }
        case .list(_, let elements):
            for element in elements { add(.member, to: &entries) { $0.appendIndexed(element) } }
        case .location(let location):
            let place = Place(location)
            add(.cell, to: &entries) { key in
                key.append(GridCode.code(of: place))
                key.append(place.latitude)
                key.append(place.longitude)
                return true
            }
        case .some(let value):
            add(.ordered, to: &entries) { $0.appendIndexed(value) }
        }
    }

    func addBeginning(_ text: String, to entries: inout [Bytes]) {
        add(.ordered, to: &entries) {
            $0.append(text)
            return true
        }
    }

    func addTokens(_ words: Set<String>, to entries: inout [Bytes]) {
        for word in words {
            add(.token, to: &entries) {
                $0.append(word)
                return true
            }
        }
    }

    private func add(_ kind: IndexKey.Kind, to entries: inout [Bytes], _ value: (inout KeyBuilder) -> Bool) {
        var key = IndexKey.prefix(kind, of: field, underType: record.typePrefix)
        guard value(&key) else { return }
        key.append(record.name)
        entries.append(key.bytes)
    }
}

extension FieldValue {
    /// The distinct words of a text or of a list of texts (B-QRY-08).
    var words: Set<String> { words(max: .max) }

    /// The first distinct words of a text or of a list of texts.
    func words(max: Int) -> Set<String> {
        var words: Set<String> = []
        switch self {
        case .string(let text): TextTokens.add(wordsOf: text, to: &words, wordsMax: max)
        case .list(_, let elements):
            for case .string(let text) in elements where words.count < max {
                TextTokens.add(wordsOf: text, to: &words, wordsMax: max)
            }
        default: break
        }
        return words
    }
}

extension WriteTransaction {
    /// Brings the indexes of a zone of the home partition up to date with one saved or deleted record.
    ///
    /// - Parameters: As `IndexEntries.init`.
    /// - Returns: The numbers of entries that were added and removed.
    @discardableResult
    package mutating func updateIndexes(
        zone: UInt32, from old: StoredRecord?, to new: StoredRecord?, oldIndexes: RecordIndexes? = nil,
        newIndexes: RecordIndexes?, newFields: [Field]? = nil, words: PreparedWords = PreparedWords()
    ) throws -> (added: Int, removed: Int) {
        let entries = try IndexEntries(
            zone: zone, from: old, to: new, oldIndexes: oldIndexes, newIndexes: newIndexes, newFields: newFields,
            words: words)
        for key in entries.removed { clear(key) }
        for key in entries.added { set(key, []) }
        return (entries.added.count, entries.removed.count)
    }
}
