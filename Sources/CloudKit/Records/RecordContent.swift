import Synchronization

/// Everything a record holds, behind a lock: whoever has the record may work with it, on any thread.
///
/// Each access is whole by itself; what takes several is for the app to put in order.
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
