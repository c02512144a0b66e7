import CloudKitModel
import OrderedStore

/// A record in its stored form: a small header, then its fields in the form in which they leave on the wire.
///
/// Reading takes slices of the fields; fields that were not asked for are skipped. A deleted record of a custom zone stays as a
/// tombstone under the same key, so that a new record of that name finds the feed entry to move. One reference, as a `Record`.
package struct StoredRecord: Sendable {
    fileprivate struct Properties: Hashable, Sendable {
        var name: String
        var recordType: String
        var isTombstone: Bool
        var tagVersion: UInt64
        var feedVersion: UInt64
        var created: Stamp
        var modified: Stamp
        var parent: String?
        var share: String?
        var shortGUID: String?
        var protection: Protection?
        var storedBytes = 0
        var packed: PackedFields
    }

    /// Unchecked: the properties change only while one record alone has them.
    private final class Storage: @unchecked Sendable {
        // As for a property of a structure, the compiler checks that accesses do not overlap.
        @exclusivity(unchecked) var properties: Properties

        init(_ properties: Properties) { self.properties = properties }
    }

    private var storage: Storage

    private var properties: Properties {
        get { storage.properties }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.properties) }
            yield &storage.properties
        }
    }

    private init(_ properties: Properties) { storage = Storage(properties) }
}

extension StoredRecord: Hashable {
    package static func == (first: StoredRecord, second: StoredRecord) -> Bool {
        first.storage === second.storage || first.storage.properties == second.storage.properties
    }

    package func hash(into hasher: inout Hasher) { storage.properties.hash(into: &hasher) }
}

extension StoredRecord {
    /// The name of the record.
    package var name: String {
        get { storage.properties.name }
        _modify { yield &properties.name }
    }

    /// The record type.
    package var recordType: String {
        get { storage.properties.recordType }
        _modify { yield &properties.recordType }
    }

    /// Whether the record was deleted.
    package var isTombstone: Bool {
        get { storage.properties.isTombstone }
        _modify { yield &properties.isTombstone }
    }

    /// The version that the change tag is made of (B-REC-06).
    package var tagVersion: UInt64 {
        get { storage.properties.tagVersion }
        _modify { yield &properties.tagVersion }
    }

    /// The record's position in the zone's feed; 0 in zones without one.
    package var feedVersion: UInt64 {
        get { storage.properties.feedVersion }
        _modify { yield &properties.feedVersion }
    }

    /// The creation.
    package var created: Stamp {
        get { storage.properties.created }
        _modify { yield &properties.created }
    }

    /// The last modification.
    package var modified: Stamp {
        get { storage.properties.modified }
        _modify { yield &properties.modified }
    }

    /// The name of the parent record; nil if there is none.
    package var parent: String? {
        get { storage.properties.parent }
        _modify { yield &properties.parent }
    }

    /// The name of the share's record; nil if the record is no root.
    package var share: String? {
        get { storage.properties.share }
        _modify { yield &properties.share }
    }

    /// The short GUID of the share's link; nil if there is none.
    package var shortGUID: String? {
        get { storage.properties.shortGUID }
        _modify { yield &properties.shortGUID }
    }

    /// The keys of its sealed values; nil where it never had any. A tombstone keeps the tag of the last statement alone, as its statement.
    package var protection: Protection? {
        get { storage.properties.protection }
        _modify { yield &properties.protection }
    }

    /// Bytes it takes in the store; 0 before it was there.
    package var storedBytes: Int { storage.properties.storedBytes }

    private var packed: PackedFields { storage.properties.packed }
}

extension StoredRecord {
    /// A record to be stored.
    ///
    /// - Parameter fields: Sorted by name, each name once.
    package init(
        name: String, recordType: String, version: UInt64, feedVersion: UInt64, created: Stamp, modified: Stamp,
        parent: String?, share: String?, shortGUID: String?, protection: Protection? = nil, fields: [Field]
    ) {
        self.init(
            Properties(
                name: name, recordType: recordType, isTombstone: false, tagVersion: version, feedVersion: feedVersion,
                created: created, modified: modified, parent: parent, share: share, shortGUID: shortGUID,
                protection: protection, packed: PackedFields(fields)))
    }

    /// Creates the tombstone of a deleted record of a custom zone.
    package init(tombstoneOf record: StoredRecord, version: UInt64, modified: Stamp) {
        var properties = record.properties
        properties.isTombstone = true
        properties.tagVersion = version
        properties.feedVersion = version
        properties.modified = modified
        properties.parent = nil
        properties.share = nil
        properties.shortGUID = nil
        properties.protection = record.lastStatement.map { Protection(epoch: 0, statement: $0.bytes) }
        properties.packed = PackedFields([])
        self.init(properties)
    }

    /// Returns the key of a record.
    package static func key(zone: UInt32, name: String) -> Bytes {
        var key = KeyBuilder(.record, zone: zone, capacity: 6 + name.utf8.count)
        key.append(name)
        return key.bytes
    }

    /// What is known of the newest statement of the record, or of the last one that a deleted record had; nil: there was none.
    package var lastStatement: LastStatement? {
        guard let statement = protection?.statement, !statement.isEmpty else { return nil }
        return isTombstone ? LastStatement(bytes: statement) : LastStatement(of: statement)
    }

    /// The change tag.
    package var changeTag: ChangeTag { ChangeTag(version: tagVersion) }

    /// Whether the two hold the same bytes of fields.
    package func hasSameFields(as other: StoredRecord) -> Bool { packed.contents == other.packed.contents }

    /// The fields, in the order of their names.
    ///
    /// - Parameter desired: The names wanted; nil: all (B-REC-08).
    package func fields(_ desired: Set<String>? = nil) throws -> [Field] { try checked(packed.fields(desired)) }

    /// The fields of one type, in the order of their names.
    package func fields(ofType base: FieldType.Base) throws -> [Field] {
        try checked(packed.fields(ofType: base))
    }

    /// The record itself.
    ///
    /// - Throws: `DamagedValue` if its fields cannot be read.
    var checked: StoredRecord {
        get throws {
            guard packed.isWhole else { throw DamagedValue(.record) }
            return self
        }
    }

    private func checked(_ fields: [Field]?) throws -> [Field] {
        guard let fields else { throw DamagedValue(.record) }
        return fields
    }

    /// The record as answers carry it.
    ///
    /// - Throws: `DamagedValue` if its fields cannot be read.
    package func record(in zoneID: ZoneID, desired: Set<String>? = nil) throws -> Record {
        record(in: zoneID, fields: try packed.answerFields(desired))
    }

    /// The record as answers carry it, with fields that are at hand.
    package func record(in zoneID: ZoneID, fields: [Field]) -> Record { record(in: zoneID, fields: .values(fields)) }

    private func record(in zoneID: ZoneID, fields: PackableFields) -> Record {
        Record(
            id: RecordID(recordName: name, zoneID: zoneID), recordType: recordType, fields: fields,
            changeTag: changeTag, created: created, modified: modified, parent: parent, share: share,
            shortGUID: shortGUID, protection: protection)
    }
}

extension PackedFields {
    /// The fields that an answer carries: as they are in the store, if all are wanted.
    fileprivate func answerFields(_ desired: Set<String>?) throws -> PackableFields {
        if let desired, let fields = fields(desired) { return .values(fields) }
        guard desired == nil, isWhole else { throw DamagedValue(.record) }
        return .packed(self)
    }
}

extension ChangeTag {
    /// Short and opaque: the version in base 36.
    package init(version: UInt64) { self.init(String(version, radix: 36)) }
}

extension StoredRecord {
    /// 1: without protection.
    fileprivate static let format: UInt8 = 2

    /// The stored form.
    package var encoded: Bytes {
        var value = ValueWriter(capacity: 192 + packed.contents.count)
        value.add(byte: Self.format)
        value.add(byte: isTombstone ? 1 : 0)
        value.add(tagVersion)
        value.add(feedVersion)
        value.add(created.timestamp)
        value.add(modified.timestamp)
        value.add(recordType)
        value.add(created.user.recordName)
        value.add(created.deviceID)
        value.add(modified.user.recordName)
        value.add(modified.deviceID)
        value.add(parent)
        value.add(share)
        value.add(shortGUID)
        value.add(byte: protection.map { $0.statement.isEmpty ? 1 : 2 } ?? 0)
        if let protection {
            value.add(protection.epoch)
            value.add(protection.keys)
            if !protection.statement.isEmpty { value.add(protection.statement) }
        }
        value.append(packed.contents)
        return value.bytes
    }

    /// Reads the stored form.
    package init(name: String, decoding bytes: Bytes) throws {
        var texts = CommonTexts()
        try self.init(name: name, decoding: bytes, sharing: &texts)
    }

    /// Reads the stored form of one of several records.
    ///
    /// - Parameter texts: The texts of the records before it, which it most likely has in common with them.
    init(name: String, decoding bytes: Bytes, sharing texts: inout CommonTexts) throws {
        self.init(try Self.properties(name: name, decoding: bytes, sharing: &texts))
    }
}

extension StoredRecord {
    fileprivate static func properties(
        name: String, decoding bytes: Bytes, sharing texts: inout CommonTexts
    ) throws -> Properties {
        var value = ValueReader(bytes, of: .record)
        let format = try value.byte()
        guard (1...Self.format).contains(format) else { throw DamagedValue(.record) }
        let isTombstone = try value.byte() & 1 != 0
        let tagVersion: UInt64 = try value.number()
        let feedVersion: UInt64 = try value.number()
        let createdAt = try value.number(Int64.self)
        let modifiedAt = try value.number(Int64.self)
        let recordType = try value.text(texts.recordType)
        let created = try value.stamp(at: createdAt, texts.created)
        let modified = try value.stamp(at: modifiedAt, texts.modified)
        let parent = try value.optionalText()
        let share = try value.optionalText()
        let shortGUID = try value.optionalText()
        // 0: no protection, 1: without a statement, 2: with one.
        let parts = format >= 2 ? try value.byte() : 0
        guard parts <= 2 else { throw DamagedValue(.record) }
        var protection: Protection?
        if parts > 0 {
            var held = Protection(epoch: try value.number(), keys: try value.string())
            if parts == 2 { held.statement = try value.string() }
            protection = held
        }
        texts.note(recordType: recordType, created: created, modified: modified)
        return Properties(
            name: name, recordType: recordType, isTombstone: isTombstone, tagVersion: tagVersion,
            feedVersion: feedVersion, created: created, modified: modified, parent: parent, share: share,
            shortGUID: shortGUID, protection: protection, storedBytes: bytes.count,
            packed: PackedFields(bytes: bytes, offset: value.position))
    }
}

extension Record {
    /// Reads the stored form of a record, as answers carry it.
    ///
    /// - Parameters:
    ///   - desired: The fields that it gets; nil for all.
    ///   - texts: The texts of the records before it, which it most likely has in common with them.
    init(
        name: String, in zoneID: ZoneID, decoding bytes: Bytes, desired: Set<String>?,
        sharing texts: inout CommonTexts
    ) throws {
        let properties = try StoredRecord.properties(name: name, decoding: bytes, sharing: &texts)
        self.init(
            id: RecordID(recordName: properties.name, zoneID: zoneID), recordType: properties.recordType,
            fields: try properties.packed.answerFields(desired), changeTag: ChangeTag(version: properties.tagVersion),
            created: properties.created, modified: properties.modified, parent: properties.parent,
            share: properties.share, shortGUID: properties.shortGUID, protection: properties.protection)
    }
}

extension ValueReader {
    /// Reads the user and the device of a time.
    fileprivate mutating func stamp(at timestamp: Int64, _ similar: Stamp) throws -> Stamp {
        let user = try text(similar.user.recordName)
        return Stamp(timestamp: timestamp, user: UserID(user), deviceID: try optionalText(similar.deviceID))
    }
}

extension Reading {
    /// The records under `names`, tombstones included, in the order asked for.
    package func records(zone: UInt32, names: [String]) async throws -> [StoredRecord?] {
        let values = try await get(names.map { StoredRecord.key(zone: zone, name: $0) })
        var texts = CommonTexts()
        return try zip(names, values).map { name, bytes in
            try bytes.map { try StoredRecord(name: name, decoding: $0, sharing: &texts) }
        }
    }

    /// Up to `limit` stored records in the order of their names, tombstones included, beginning after a name.
    package func records(zone: UInt32, after name: String?, limit: Int) async throws -> [StoredRecord] {
        var range = KeyRange(prefix: KeyBuilder(.record, zone: zone).bytes)
        if let name { range.lower = StoredRecord.key(zone: zone, name: name) + [0] }
        return try await scan(range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .record)
            try key.skip()
            return try StoredRecord(name: key.readString(), decoding: entry.value)
        }
    }
}

extension WriteTransaction {
    /// Stores a record or tombstone and returns its stored size in bytes.
    @discardableResult
    package mutating func set(_ record: StoredRecord, zone: UInt32) -> Int {
        let value = record.encoded
        set(StoredRecord.key(zone: zone, name: record.name), value)
        return value.count
    }

    /// Removes a record.
    package mutating func clearRecord(zone: UInt32, name: String) { clear(StoredRecord.key(zone: zone, name: name)) }
}
