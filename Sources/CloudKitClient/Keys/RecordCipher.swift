import CloudKitEncryption
import CloudKitModel

/// Seals and opens the values of one record: its key is derived once, however many fields it has.
struct RecordCipher: Sendable {
    /// The protection that the record carries next to its sealed values.
    let protection: Protection
    /// Seals fields and asset keys.
    let sealer: RecordSealer

    init(_ key: RecordKey, recordType: String, protection: Protection) {
        self.protection = protection
        sealer = RecordSealer(key, recordType: recordType)
    }

    /// The field as it may leave the device.
    ///
    /// - Parameter plain: With its plain value and type.
    func seal(_ plain: Field) throws(EncryptionError) -> Field {
        let type = FieldType(plain.type.base, isList: plain.type.isList, isEncrypted: true)
        let bytes = try sealer.seal(plain.json, field: plain.name, type: type.description)
        return Field(name: plain.name, type: type, sealed: bytes)
    }

    /// The field with its plain value, in the type in which its device sealed it.
    func open(_ field: Field) throws(EncryptionError) -> Field {
        guard let sealed = field.sealed else {
            throw .malformed(.field(field.name), reason: "it is not sealed data")
        }
        var failure = EncryptionError.doesNotOpen(.field(field.name))
        for type in field.type.sealedAs {
            do throws(EncryptionError) {
                let json = try sealer.open(sealed, field: field.name, type: type.description)
                return Field(name: field.name, type: FieldType(type.base, isList: type.isList), json: json)
            } catch {
                failure = error
                guard case .doesNotOpen = error else { throw error }
            }
        }
        throw failure
    }
}
