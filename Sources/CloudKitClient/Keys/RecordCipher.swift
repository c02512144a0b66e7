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
    func seal(_ plain: Field) throws(EncryptionError) -> Field { try sealStated(plain).field }

    /// The field as it may leave the device, and as the record's statement lists it.
    func sealStated(
        _ plain: Field, random: Randomness = .system
    ) throws(EncryptionError) -> (field: Field, value: RecordStatement.Value) {
        let type = FieldType(plain.type.base, isList: plain.type.isList, isEncrypted: true)
        let bytes = try sealer.seal(plain.json, field: plain.name, type: type.description, random: random)
        let value = RecordStatement.Value(name: plain.name, tag: RecordSealer.tag(ofSealed: bytes))
        return (Field(name: plain.name, type: type, sealed: bytes), value)
    }

    /// The field with its plain value, in the type in which its device sealed it.
    func open(_ field: Field) throws(EncryptionError) -> Field { try openStated(field).plain }

    /// The field with its plain value, and as the record's statement lists it.
    func openStated(_ field: Field) throws(EncryptionError) -> (plain: Field, value: RecordStatement.Value) {
        guard let sealed = field.sealed else {
            throw .malformed(.field(field.name), reason: "it is not sealed data")
        }
        var failure = EncryptionError.doesNotOpen(.field(field.name))
        for type in field.type.sealedAs {
            do throws(EncryptionError) {
                let json = try sealer.open(sealed, field: field.name, type: type.description)
                let plain = Field(name: field.name, type: FieldType(type.base, isList: type.isList), json: json)
                return (plain, RecordStatement.Value(name: field.name, tag: RecordSealer.tag(ofSealed: sealed)))
            } catch {
                failure = error
                guard case .doesNotOpen = error else { throw error }
            }
        }
        throw failure
    }
}
