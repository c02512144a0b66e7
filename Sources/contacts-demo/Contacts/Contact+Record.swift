import CloudKit

extension Contact {
    static let recordType = "Contact"

    /// Reads a contact from a record.
    init(_ record: CKRecord) {
        self.init(recordName: record.recordID.recordName, values: [:])
        for key in ContactKey.allCases {
            values[key] = ContactValue(record[key.rawValue])
        }
    }

    /// Returns a new, unsaved record.
    func newRecord(in zone: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(
            recordType: Self.recordType, recordID: CKRecord.ID(recordName: recordName, zoneID: zone))
        write(to: record)
        return record
    }

    /// Sets the fields of a record that differ from this contact's; only changed fields are sent.
    func write(to record: CKRecord) {
        let held = Contact(record)
        for key in ContactKey.allCases where values[key] != held.values[key] {
            switch values[key] {
            case .text(let text): record[key.rawValue] = text
            case .list(let list): record[key.rawValue] = list
            case .date(let date): record[key.rawValue] = date
            case nil: record[key.rawValue] = nil
            }
        }
    }
}
