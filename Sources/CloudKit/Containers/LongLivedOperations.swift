import Synchronization

/// The long-lived operations that this process has in hands, so that each exists once.
enum LongLivedOperations {
    private struct Weak: Sendable { weak var operation: CKOperation? }

    private static let current = Mutex<[String: Weak]>([:])

    static func note(_ operation: CKOperation) {
        current.withLock { current in
            current = current.filter { $0.value.operation != nil }
            current[operation.operationID] = Weak(operation: operation)
        }
    }

    static func forget(_ id: String) { current.withLock { $0[id] = nil } }

    static func find(_ id: String) -> CKOperation? { current.withLock { $0[id]?.operation } }
}
