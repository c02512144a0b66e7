import CloudKitClient
import Synchronization

/// The long-lived operations that this process has in hands, so that each exists once.
enum LongLivedOperations {
    private struct Weak: Sendable { weak var operation: CKOperation? }

    private struct Key: Hashable {
        var folder: String
        var id: String
    }

    private static let current = Mutex<[Key: Weak]>([:])

    static func note(_ operation: CKOperation, in store: LongLivedStore) {
        current.withLock { current in
            current = current.filter { $0.value.operation != nil }
            current[Key(folder: store.folder, id: operation.operationID)] = Weak(operation: operation)
        }
    }

    static func forget(_ id: String, in store: LongLivedStore) {
        current.withLock { $0[Key(folder: store.folder, id: id)] = nil }
    }

    static func find(_ id: String, in store: LongLivedStore) -> CKOperation? {
        current.withLock { $0[Key(folder: store.folder, id: id)]?.operation }
    }
}
