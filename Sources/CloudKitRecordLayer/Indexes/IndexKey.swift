import CloudKitModel
import OrderedStore

/// The keys of indexes: `zone, record type, kind, field, value…, record name`, with nothing under them.
///
/// Everything after the zone is the *entry*, the same in every zone: a plan names ranges of entries before it knows
/// which zones will be asked.
enum IndexKey {
    enum Kind: Int64, Hashable, Sendable, CaseIterable {
        /// Record names alone, always kept: the records of a type.
        case extent = 1
        /// One value per record: equality, ranges, prefixes and order; null for a record without it, if sortable.
        case ordered = 2
        /// One entry for each different element of a list.
        case member = 3
        /// One entry for each different word of a text or list of texts.
        case token = 4
        /// The grid code of a location, then its degrees.
        case cell = 5
    }

    static func zonePrefix(_ zone: UInt32) -> Bytes { KeyBuilder(.index, zone: zone, capacity: 8).bytes }

    /// Returns the beginning of every entry of one record type, under a zone's prefix or nothing.
    static func typePrefix(_ recordType: String, under prefix: Bytes = []) -> Bytes {
        var key = KeyBuilder(prefix: prefix, capacity: recordType.utf8.count + 2)
        key.append(recordType)
        return key.bytes
    }

    /// Returns the beginning of every entry of one index, under a zone's prefix or nothing.
    static func prefix(_ kind: Kind, of field: String, recordType: String, under prefix: Bytes = []) -> KeyBuilder {
        self.prefix(kind, of: field, underType: typePrefix(recordType, under: prefix))
    }

    /// Returns the beginning of every entry of one index, under the prefix of its record type.
    static func prefix(_ kind: Kind, of field: String, underType typePrefix: Bytes) -> KeyBuilder {
        var key = KeyBuilder(prefix: typePrefix, capacity: field.utf8.count + 96)
        key.append(kind.rawValue)
        if kind != .extent { key.append(field) }
        return key
    }

    /// The key's value and record name, read after `prefixCount` bytes.
    static func read(_ key: Bytes, after prefixCount: Int, kind: Kind) throws -> IndexHit {
        var reader = KeyReader(key, after: prefixCount)
        var place: Place?
        switch kind {
        case .extent: break
        case .ordered, .token: try reader.skip()
        case .member:
            // An element that is a location takes two elements of the key.
            if reader.kind == .double, try hasTwoDoubles(reader) { try reader.skip() }
            try reader.skip()
        case .cell:
            try reader.skip()
            place = Place(latitude: try reader.readDouble(), longitude: try reader.readDouble())
        }
        let value = key[prefixCount..<(key.count - reader.rest.count)]
        return IndexHit(value: Bytes(value), recordName: try reader.readString(), place: place)
    }

    private static func hasTwoDoubles(_ reader: KeyReader) throws -> Bool {
        var ahead = reader
        try ahead.skip()
        return ahead.kind == .double
    }
}

/// The contents of one index entry.
struct IndexHit: Hashable, Sendable {
    /// The elements of the key that make up the value.
    var value: Bytes
    var recordName: String
    /// Of a cell entry.
    var place: Place?
}

extension KeyBuilder {
    /// Appends a value in the order in which indexes compare it; false for types that have no index.
    ///
    /// Texts are folded, and cut at `FoldedText.indexedBytesMax`.
    @discardableResult
    mutating func appendIndexed(_ value: FieldValue) -> Bool {
        switch value {
        case .string(let text): append(FoldedText.indexed(text).text)
        case .int64(let number), .timestamp(let number): append(number)
        case .double(let number): append(number)
        case .reference(let reference): append(reference.recordName)
        case .location(let location):
            append(location.latitude)
            append(location.longitude)
        case .bytes, .asset, .list: return false
        }
        return true
    }
}
