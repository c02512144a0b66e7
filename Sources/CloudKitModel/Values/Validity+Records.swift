/// The rules for names and sizes, each a function that throws the violation (docs/rules/LIM.md).
package enum Validity {
    /// Characters of record and zone names (B-LIM-11), field names (B-LIM-12) and record types.
    package static let nameLengthMax = 255
    /// Bytes of a record without those of its assets (B-LIM-05).
    package static let recordBytesMax = 1_048_576
    /// The record type of shares, whose own field names have a dot (docs/web-services.md §10.1).
    package static let shareRecordType = "cloudkit.share"

    /// A record name: 1 to 255 ASCII characters (B-LIM-11).
    ///
    /// - Parameter isSystem: Whether the record is one of the system's, as that of a user, whose name begins with `_`.
    /// - Throws: `badRequest`.
    package static func recordName(_ name: String, isSystem: Bool = false) throws(RequestFailure) {
        guard isPlainName(name), isSystem || !name.utf8.starts(with: "_".utf8) else {
            throw RequestFailure(
                .badRequest, "Invalid record name.",
                remedy: "Use 1 to 255 ASCII characters that do not begin with an underscore.")
        }
    }

    /// A record type: a letter, then letters, digits and `_` (B-LIM-13); `cloudkit.share` is the system's.
    ///
    /// - Throws: `typeNotFound`, as for a type that does not exist: so does the live service (docs/web-services.md §5.3).
    package static func recordType(_ name: String) throws(RequestFailure) {
        guard isIdentifier(name) || name == shareRecordType else {
            throw RequestFailure(
                .typeNotFound, "Did not find record type: \(String(name.unicodeScalars.prefix(nameLengthMax)))")
        }
    }

    /// A field name: a letter, then letters, digits and `_`, at most 255 (B-LIM-12), none of the record's own attributes
    /// (B-LIM-14).
    ///
    /// - Throws: `systemFieldWrite` for a name that begins with `_` or has a `$`, else `badRequest`.
    package static func fieldName(_ name: String, ofType recordType: String) throws(RequestFailure) {
        if isIdentifier(name) {
            guard !reservedFieldNames.contains(name) else {
                throw RequestFailure(
                    .badRequest, "The field name is reserved for an attribute of the record.",
                    remedy: "Choose another field name.")
            }
            return
        }
        if recordType == shareRecordType, shareFieldNames.contains(name) { return }
        if name.utf8.first == UInt8(ascii: "_") || name.utf8.contains(UInt8(ascii: "$")) {
            throw RequestFailure(.systemFieldWrite, "Unprivileged attempt to insert a system field")
        }
        throw RequestFailure(
            .badRequest, "Invalid field name.",
            remedy: "Use a letter, then letters, digits and underscores, at most 255 characters.")
    }

    /// The size of a record, in bytes as stored: names and JSON of its fields, without what assets point to.
    package static func recordBytes(_ fields: [Field]) -> Int {
        fields.reduce(0) { $0 + $1.name.utf8.count + $1.json.count }
    }

    /// A record of at most 1 MB (B-LIM-05).
    ///
    /// - Throws: `sizeLimitExceeded`, `record too large`.
    package static func recordSize(_ fields: [Field]) throws(RequestFailure) {
        guard recordBytes(fields) <= recordBytesMax else {
            throw RequestFailure(.sizeLimitExceeded, "record too large", remedy: "Move large values into assets.")
        }
    }

    /// ASCII without control characters, 1 to 255.
    static func isPlainName(_ name: String) -> Bool {
        let bytes = name.utf8
        return (1...nameLengthMax).contains(bytes.count) && bytes.allSatisfy { (0x20..<0x7F).contains($0) }
    }

    private static func isIdentifier(_ name: String) -> Bool {
        let bytes = name.utf8
        guard (1...nameLengthMax).contains(bytes.count), let first = bytes.first, isLetter(first) else { return false }
        return bytes.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }

    private static let reservedFieldNames: Set<String> = [
        "recordID", "recordType", "creationDate", "modificationDate", "creatorUserRecordID",
        "lastModifiedUserRecordID", "recordChangeTag", "etag", "modifiedByDevice",
    ]

    /// The names by which a share introduces itself; the only ones with a dot.
    package static let shareFieldNames: Set<String> = [
        "cloudkit.title", "cloudkit.type", "cloudkit.thumbnailImageData",
    ]
}

extension Record {
    /// A Boolean value that indicates whether the record is one of a share, with or without its properties.
    package var isShare: Bool { recordType == Validity.shareRecordType }
}
