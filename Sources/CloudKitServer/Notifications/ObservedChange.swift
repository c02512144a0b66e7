import CloudKitModel
import CloudKitRecordLayer

/// A change of a record that a batch made, as subscriptions look at it.
struct ObservedChange: Hashable, Sendable {
    let event: RecordEvent
    /// The record as it is now; of a deleted one, as it was (B-SUB-04).
    let record: StoredRecord
    /// The version of the change: notifications about it are known by it.
    let version: UInt64
}
