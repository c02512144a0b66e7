import Foundation
import Synchronization

extension CKSyncEngine {
    /// Records to save and delete together.
    public struct RecordZoneChangeBatch: CustomStringConvertible, Sendable {
        /// The records to save.
        public var recordsToSave: [CKRecord]
        /// The identifiers of the records to delete.
        public var recordIDsToDelete: [CKRecord.ID]
        /// A Boolean value that indicates whether the changes of each zone take effect together or not at all
        /// (B-SYN-07).
        public var atomicByZone: Bool

        /// A batch of the caller's choosing. The engine sends it in parts when it is too large for one request; an atomic
        /// one fails with `limitExceeded` instead.
        public init(
            recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        /// Creates a batch of the pending changes that fit into one request (B-LIM-04), from the first on.
        ///
        /// - Parameters:
        ///   - pendingChanges: The changes of the engine's state that the scope includes.
        ///   - recordProvider: Returns the record to save. nil: it does not exist any more, the change is dropped
        ///     (B-SYN-06).
        /// - Returns: nil when there is nothing to send.
        nonisolated(nonsending) public init?(
            pendingChanges: [PendingRecordZoneChange],
            recordProvider: nonisolated(nonsending) (CKRecord.ID) async -> CKRecord?
        ) async {
            self.init()
            var room = BatchCapacity()
            filling: for change in pendingChanges {
                switch change {
                case .saveRecord(let id):
                    guard let record = await recordProvider(id) else {
                        SkippedChanges.current?.add(change)
                        continue
                    }
                    guard room.take(record.estimatedBytes) else { break filling }
                    recordsToSave.append(record)
                case .deleteRecord(let id):
                    guard room.take(0) else { break filling }
                    recordIDsToDelete.append(id)
                }
            }
            if recordsToSave.isEmpty, recordIDsToDelete.isEmpty { return nil }
        }

        /// A textual form of the value, for logs and debugging.
        public var description: String {
            "RecordZoneChangeBatch(\(recordsToSave.count) to save, \(recordIDsToDelete.count) to delete"
                + (atomicByZone ? ", atomic by zone)" : ")")
        }
    }
}

/// The space left in a batch.
struct BatchCapacity {
    /// B-LIM-04.
    static let itemsMax = 250
    /// Below the 2 MB of a request (B-LIM-02), since sizes are estimated.
    static let bytesMax = 1_500_000

    private var items = 0
    private var bytes = 0

    /// Takes one item in, if it fits. The first one always does.
    mutating func take(_ size: Int) -> Bool {
        guard items < Self.itemsMax, items == 0 || bytes + size <= Self.bytesMax else { return false }
        items += 1
        bytes += size
        return true
    }
}

/// Collects the changes whose record a provider no longer had, while the delegate makes one batch.
final class SkippedChanges: Sendable {
    @TaskLocal static var current: SkippedChanges?

    private let changes = Mutex<Set<CKSyncEngine.PendingRecordZoneChange>>([])

    var all: Set<CKSyncEngine.PendingRecordZoneChange> { changes.withLock { $0 } }

    func add(_ change: CKSyncEngine.PendingRecordZoneChange) { changes.withLock { _ = $0.insert(change) } }
}

extension CKRecord {
    /// About how many bytes the record takes in a request, assets left out (B-AST-06).
    var estimatedBytes: Int {
        let plain = fields.values.reduce(0) { $0 + $1.key.utf8.count + Self.estimatedBytes(of: $1.value) }
        // Sealed values travel as base64 of JSON.
        let sealed = encrypted.fields.values.reduce(0) {
            $0 + $1.key.utf8.count + Self.estimatedBytes(of: $1.value) * 2
        }
        return plain + sealed + 256
    }

    private static func estimatedBytes(of value: Any) -> Int {
        switch value {
        case let text as NSString: 40 + (text as String).utf8.count
        case let data as NSData: 40 + data.length * 4 / 3
        case let list as NSArray: list.reduce(40) { $0 + estimatedBytes(of: $1) }
        default: 80
        }
    }
}
