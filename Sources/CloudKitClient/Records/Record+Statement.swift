import CloudKitEncryption
import CloudKitModel
import Foundation

extension Record {
    /// A Boolean value that indicates whether a device has stated what the record holds.
    var isStated: Bool { !(protection?.statement.isEmpty ?? true) }

    /// Returns the facts of the record as its statement names them.
    ///
    /// - Parameter user: The user record name of the account.
    func facts(for user: String) -> RecordStatement.Facts {
        RecordStatement.Facts(parent: parent, created: created, user: user)
    }

    /// Compares the record with its statement, as far as that is possible without its key.
    ///
    /// - Parameter wanted: The names of the fields that were asked for; nil: all.
    /// - Throws: `EncryptionError`; `RequestFailure` for a field that cannot be read.
    func checkStatedValues(wanted: Set<String>?) throws {
        guard let statement = protection?.statement, !statement.isEmpty else { return }
        try RecordStatement(statement).check(try fields.compactMap { try $0.statedValue() }, wanted: wanted)
    }
}

extension RecordStatement.Facts {
    /// - Parameters:
    ///   - created: nil: not known.
    ///   - user: The user record name of the account.
    init(parent: String?, created: Stamp?, user: String) {
        let creator = created.map { $0.user.isCaller ? user : $0.user.recordName }
        self.init(parent: parent, creator: creator ?? "", created: created?.timestamp)
    }
}

extension Field {
    /// Returns the field as a statement lists it; nil: it holds nothing sealed.
    ///
    /// - Throws: `EncryptionError`, `RequestFailure` for a value that cannot be read.
    func statedValue() throws -> RecordStatement.Value? {
        if type.isEncrypted {
            guard let sealed else { throw EncryptionError.malformed(.field(name), reason: "it is not sealed data") }
            return RecordStatement.Value(name: name, tag: RecordSealer.tag(ofSealed: sealed))
        }
        guard type.base == .asset else { return nil }
        let keys = try assets().map { $0.wrappingKey.flatMap { Data(base64Encoded: $0) }.map(Array.init) ?? [] }
        guard keys.contains(where: { !$0.isEmpty }) else { return nil }
        let tag = type.isList ? RecordSealer.tag(ofKeys: keys) : RecordSealer.tag(ofSealed: keys[0])
        return RecordStatement.Value(name: name, tag: tag)
    }
}
