import CloudKitClient
import CloudKitModel
import Foundation

extension CKError {
    /// The record as it was fetched; fields may lack where the app knew only a part (B-SAV-08).
    public var ancestorRecord: CKRecord? {
        _nsError.userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord
    }

    /// The record as the server holds it: the one to merge into and save (B-SAV-07).
    public var serverRecord: CKRecord? {
        _nsError.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord
    }

    /// The record that was sent.
    public var clientRecord: CKRecord? {
        _nsError.userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord
    }

    /// Creates the error for a record that was not saved; a conflict carries its three records (B-SAV-07).
    ///
    /// - Parameters:
    ///   - record: The record as it was sent.
    ///   - server: The record as the server holds it. If it does not open, that is the error: an app cannot merge into
    ///     values that it cannot read.
    init(_ failure: RequestFailure, saving record: CKRecord, server: OpenedRecord? = nil) {
        var details: [String: Any] = [:]
        if failure.code.native.code == Code.serverRecordChanged.rawValue {
            details[CKRecordChangedErrorClientRecordKey] = record.copy()
            details[CKRecordChangedErrorAncestorRecordKey] = record.ancestor
            if let server {
                do throws(CKError) {
                    details[CKRecordChangedErrorServerRecordKey] = try CKRecord.answered(server)
                } catch {
                    self = error
                    return
                }
            }
        }
        self.init(failure, operation: .savingRecord(record.recordID), details: details)
    }
}
