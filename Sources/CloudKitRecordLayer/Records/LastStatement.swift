import CloudKitModel

/// What the tombstone of a record keeps of the record's last statement.
package struct LastStatement: Hashable, Sendable {
    /// The number of the record's last version; nil in a tombstone of an earlier build, which kept only the tag.
    package var version: UInt64?
    /// By which a save is known that arrives a second time after the deletion.
    package var tag: [UInt8]

    init(of statement: [UInt8]) {
        // A damaged row may hold anything.
        version = StatementForm.isValid(statement) ? StatementForm.recordVersion(of: statement) : nil
        tag = Array(StatementForm.tag(of: statement))
    }

    /// Reads the stored form.
    init(bytes: [UInt8]) {
        tag = Array(bytes.suffix(StatementForm.tagBytes))
        let number = bytes.dropLast(StatementForm.tagBytes)
        version = number.count == 8 ? number.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }

    /// Creates the last statement of a record that was deleted in a version.
    package init(version: UInt64?, tag: [UInt8]) {
        self.version = version
        self.tag = tag
    }

    /// The stored form: 8 bytes of the version, big-endian, and the tag.
    var bytes: [UInt8] { (version.map { withUnsafeBytes(of: $0.bigEndian) { Array($0) } } ?? []) + tag }
}
