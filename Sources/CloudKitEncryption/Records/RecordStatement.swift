/// One authenticated list of everything that a version of a record holds in sealed form, with the record's type, parent
/// and place in the chain of its versions.
///
/// A reader compares the record with it: a value that was replaced by an older one, removed or added, and a parent, type
/// or creation date that was changed, make the whole record an error (B-TM-04). The list is readable without keys, so
/// that a device which fetched some fields only can check those, and can state the others again unseen.
package struct RecordStatement: Hashable, Sendable {
    /// A sealed field, or a field of files with keys.
    package struct Value: Hashable, Sendable {
        /// The name of the field.
        package let name: String
        /// The end of its sealed bytes' tag.
        package let tag: UInt64

        /// Creates a value with the given properties.
        package init(name: String, tag: UInt64) {
            self.name = name
            self.tag = tag
        }
    }

    /// The number of the record's version, which increases with each one that a device makes.
    package let version: UInt64
    /// The tag of the statement that this one was made from; zeros: of none.
    package let previousTag: [UInt8]
    /// The record's creation in milliseconds since 1970, as the device that made the statement knew it; nil: it did not.
    package let created: Int64?
    /// In the order of the bytes of their names, each name once.
    package let values: [Value]
    /// Everything before the seal.
    private let head: [UInt8]
    /// Nonce and tag that authenticate the statement.
    private let seal: [UInt8]

    static let tagBytes = 16
    /// Millions of years of milliseconds are no version.
    package static let versionMax: UInt64 = 1 << 48 - 1
    /// More than a record may have fields.
    package static let valuesMax = 10_000

    /// The facts of a record that its statement authenticates without listing them.
    package struct Facts: Hashable, Sendable {
        /// The name of the parent record; nil: it has none.
        package var parent: String?
        /// The user record name of the record's creator, never a placeholder.
        package var creator: String
        /// Milliseconds since 1970.
        package var created: Int64?

        /// Creates facts; without a creation date the creator is not stated either.
        package init(parent: String?, creator: String, created: Int64?) {
            self.parent = parent
            self.creator = creator
            // 0 is the stored form of an unknown date.
            self.created = created == 0 ? nil : created
        }
    }

    /// Makes the statement of a version of a record.
    ///
    /// - Parameters:
    ///   - base: The statement of the version that it was made from; nil: the record had none.
    ///   - version: Of the record; more than that of `base`.
    ///   - values: Each name once, in any order.
    /// - Throws: `tooMany`.
    package init(
        after base: RecordStatement?, version: UInt64, values: [Value], facts: Facts, sealer: RecordSealer,
        random: Randomness = .system
    ) throws(EncryptionError) {
        guard values.count <= Self.valuesMax else { throw .tooMany(.statement, limit: Self.valuesMax) }
        guard version <= Self.versionMax else {
            throw .malformed(.statement, reason: "the record has too many versions: delete it and save it again")
        }
        self.version = version
        previousTag = base?.tag ?? Array(repeating: 0, count: Self.tagBytes)
        created = facts.created
        let isSorted = zip(values, values.dropFirst()).allSatisfy { $0.name.precedes($1.name) }
        self.values = isSorted ? values : values.sorted { $0.name.precedes($1.name) }
        head = Self.head(version: version, previousTag: previousTag, created: created, values: self.values)
        seal = try sealer.sealStatement(facts, head: head, random: random)
    }

    /// Reads a statement, without checking its seal.
    package init(_ bytes: [UInt8]) throws(EncryptionError) {
        var reader = ByteReader(bytes, of: .statement)
        try reader.takeVersion()
        version = try reader.takeNumber()
        guard version <= Self.versionMax else { throw reader.malformed("its version is too high") }
        previousTag = Array(try reader.take(Self.tagBytes))
        let milliseconds = try reader.takeNumber(UInt64.self)
        created = milliseconds == 0 ? nil : Int64(bitPattern: milliseconds)
        let count = try reader.takeNumber(UInt16.self)
        guard count <= Self.valuesMax else { throw .tooMany(.statement, limit: Self.valuesMax) }
        var values: [Value] = []
        values.reserveCapacity(Int(count))
        for _ in 0..<count {
            let value = Value(name: try reader.takeName(), tag: try reader.takeNumber())
            if let last = values.last, !last.name.precedes(value.name) {
                throw reader.malformed("its values are not in order")
            }
            values.append(value)
        }
        self.values = values
        seal = Array(try reader.take(KeyMaterial.overhead))
        try reader.finish()
        head = Array(bytes.dropLast(KeyMaterial.overhead))
    }

    /// The stored form.
    package var bytes: [UInt8] { head + seal }

    /// The tag by which the next statement of the record names this one.
    package var tag: [UInt8] { seal.suffix(Self.tagBytes) }

    private static func head(
        version: UInt64, previousTag: [UInt8], created: Int64?, values: [Value]
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(35 + KeyMaterial.overhead + values.reduce(0) { $0 + 10 + $1.name.utf8.count })
        bytes.append(1)
        bytes.appendBigEndian(version)
        bytes += previousTag
        bytes.appendBigEndian(UInt64(bitPattern: created ?? 0))
        bytes.appendBigEndian(UInt16(values.count))
        for value in values {
            bytes.appendBigEndian(UInt16(value.name.utf8.count))
            bytes.append(contentsOf: value.name.utf8)
            bytes.appendBigEndian(value.tag)
        }
        return bytes
    }

    // MARK: - Checking

    /// Checks that the record's key made this statement, for a record with these facts.
    ///
    /// - Parameter facts: Of the record as it came.
    /// - Throws: `notAsStated`.
    package func check(_ facts: Facts, sealer: RecordSealer) throws(EncryptionError) {
        if let created, created != facts.created { throw .notAsStated(.creationDate) }
        let stated = Facts(parent: facts.parent, creator: facts.creator, created: created)
        do throws(EncryptionError) {
            try sealer.openStatement(seal[...], stated, head: head)
        } catch {
            guard case .doesNotOpen = error else { throw error }
            throw .notAsStated(.facts)
        }
    }

    /// Compares the sealed values of a record with the listed ones; needs no key.
    ///
    /// - Parameters:
    ///   - present: The sealed values that came with the record, each name once.
    ///   - wanted: The names of the fields that were asked for; nil: all. Others may be absent.
    /// - Throws: `notAsStated`.
    package func check(_ present: [Value], wanted: Set<String>? = nil) throws(EncryptionError) {
        let isSorted = zip(present, present.dropFirst()).allSatisfy { $0.name.precedes($1.name) }
        var rest = (isSorted ? present : present.sorted { $0.name.precedes($1.name) })[...]
        for value in values {
            if let next = rest.first, next.name == value.name {
                guard next.tag == value.tag else { throw .notAsStated(.otherValue(field: value.name)) }
                rest.removeFirst()
            } else if wanted?.contains(value.name) ?? true {
                throw .notAsStated(.missingValue(field: value.name))
            }
        }
        if let added = rest.first { throw .notAsStated(.addedValue(field: added.name)) }
    }
}

extension EncryptionError {
    /// The difference between a record and its statement.
    package enum Difference: Hashable, Sendable {
        /// A sealed value of another version of the record.
        case otherValue(field: String)
        /// A sealed value that was removed.
        case missingValue(field: String)
        /// A sealed value that the record does not have in this version.
        case addedValue(field: String)
        /// Another creation date.
        case creationDate
        /// Another type, parent, creator, or a changed statement.
        case facts
        /// No statement at all.
        case noStatement
        /// Nothing yet that this device knows: it holds a statement of a record that it did not see.
        case unchecked
    }
}

extension EncryptionError {
    /// The way in which a record is not the one that this device has seen.
    package enum Rollback: Hashable, Sendable {
        /// A version before the one seen.
        case olderVersion
        /// Another version with the same number: two devices were shown different records.
        case otherBranch
        /// Another version than the one that was saved, in the answer to the save.
        case otherAnswer
    }
}

extension EncryptionError.Rollback: CustomStringConvertible {
    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .olderVersion: "it shows an older version of the record than this device has seen"
        case .otherBranch: "it shows another record under the number of the version that this device has seen"
        case .otherAnswer: "it answered the save with another version than the saved one"
        }
    }
}

extension EncryptionError.Difference: CustomStringConvertible {
    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .otherValue(let field): "the encrypted field '\(field)' is of another version"
        case .missingValue(let field): "the encrypted field '\(field)' is missing"
        case .addedValue(let field): "the encrypted field '\(field)' is not part of this version"
        case .creationDate: "its creation date was changed"
        case .facts: "its type, parent or creator, or the statement itself, was changed"
        case .noStatement: "the statement is missing, or cannot be checked"
        case .unchecked: "the record was not fetched with it"
        }
    }
}

extension String {
    /// Compares the bytes of two texts.
    fileprivate func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
