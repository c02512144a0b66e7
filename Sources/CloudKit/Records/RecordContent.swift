import Synchronization

/// The content of a record, behind a lock: any thread may use the record.
///
/// Each access is atomic; the app has to synchronize sequences of accesses.
final class RecordContent: Sendable {
    private let content: Mutex<RecordState>

    init(_ state: RecordState) {
        content = Mutex(state)
    }

    var state: RecordState { content.withLock { $0 } }
    var system: RecordSystemFields { content.withLock { $0.system } }
    var fields: RecordFields { content.withLock { $0.fields } }
    var encrypted: RecordFields { content.withLock { $0.encrypted } }

    func revise(_ change: (inout RecordState) -> Void) {
        content.withLock { change(&$0) }
    }
}
