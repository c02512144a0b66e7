import Foundation

/// Something that holds fields by name: a record, or its encrypted values.
public protocol CKRecordKeyValueSetting: NSObjectProtocol {
    subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? { get set }

    // Apple's framework names `__CKRecordObjCValue` in these two; here the wider type is what lets `as? String` compile.

    func object(forKey key: String) -> (any CKRecordValueProtocol)?

    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: String)

    /// The names of the fields that hold something.
    func allKeys() -> [String]

    /// The names of the fields set or removed since the last fetch, decoding or save (B-REC-03).
    func changedKeys() -> [String]
}

extension CKRecordKeyValueSetting {
    /// The value in the type that the context asks for; nil too when the field holds another type.
    @_disfavoredOverload
    public subscript<T: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> T? {
        get { self[key] as? T }
        set { self[key] = newValue as (any CKRecordValueProtocol)? }
    }

    /// The value of a field; nil where the record has none.
    @_disfavoredOverload
    public subscript(key: String) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) as? any __CKRecordObjCValue }
        set { setObject(newValue, forKey: key) }
    }
}

/// The encrypted fields of a record (B-ENC-05): apart from the others, under names of their own.
final class EncryptedValues: NSObject, CKRecordKeyValueSetting, Sendable {
    private let content: RecordContent

    init(_ content: RecordContent) {
        self.content = content
        super.init()
    }

    var fields: RecordFields { content.encrypted }

    subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { fields.values[key] }
        set { setObject(newValue, forKey: key) }
    }

    func object(forKey key: String) -> (any CKRecordValueProtocol)? { fields.values[key] }

    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: String) {
        content.revise { $0.encrypted.set(object, forKey: key) }
    }

    func allKeys() -> [String] { fields.values.keys.sorted() }

    func changedKeys() -> [String] { fields.changedKeys.sorted() }
}
