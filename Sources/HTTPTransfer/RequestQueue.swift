import CCurl
import Synchronization

/// A request, and who waits for its answer.
struct PendingRequest: Sendable {
    let id: Int
    let request: HTTPClient.Request
    let continuation: CheckedContinuation<HTTPClient.Answer, any Error>
}

/// The queue through which tasks submit requests to the thread that does the work.
final class RequestQueue: Sendable {
    struct Submissions {
        var requests: [PendingRequest] = []
        /// Requests that are cancelled; some may be over already.
        var cancelled: [Int] = []

        var isEmpty: Bool { requests.isEmpty && cancelled.isEmpty }
    }

    /// The progress of a request that has no answer yet.
    fileprivate enum Stage {
        case awaited, posted
        /// Cancelled before it was posted.
        case unwanted
    }

    fileprivate struct Content {
        var submissions = Submissions()
        var lastID = 0
        var stages: [Int: Stage] = [:]
        var isClosed = false
        /// The handle to wake; libcurl allows that from any thread.
        var multi: UnsafeMutableRawPointer?
    }

    private let content = Mutex(Content())

    // MARK: For tasks

    /// Announces a request and returns its id.
    func nextID() -> Int {
        content.withLock { content in
            content.lastID += 1
            content.stages[content.lastID] = .awaited
            return content.lastID
        }
    }

    func post(_ pending: PendingRequest) {
        let isWanted = content.withLock { content in
            guard content.stages[pending.id] != .unwanted, !content.isClosed else {
                content.stages[pending.id] = nil
                return false
            }
            content.stages[pending.id] = .posted
            content.post { $0.requests.append(pending) }
            return true
        }
        if !isWanted { pending.continuation.resume(throwing: CancellationError()) }
    }

    func cancel(_ id: Int) {
        content.withLock { content in
            switch content.stages[id] {
            case .awaited: content.stages[id] = .unwanted
            case .posted: content.post { $0.cancelled.append(id) }
            case .unwanted, nil: break
            }
        }
    }

    /// Ends the thread.
    func close() {
        content.withLock { content in
            content.isClosed = true
            content.wake()
        }
    }

    // MARK: For the thread

    /// - Parameter multi: Stays valid until `retire`.
    func open(_ multi: UnsafeMutableRawPointer) {
        // As a number, since a pointer may not pass between owners. The loop is the only one to use what it points to, but for
        // the one call that libcurl allows to all.
        let address = UInt(bitPattern: multi)
        content.withLock { $0.multi = UnsafeMutableRawPointer(bitPattern: address) }
    }

    /// Ends waking of the thread.
    func retire() { content.withLock { $0.multi = nil } }

    /// Returns the submissions since the last call; nil once the queue is closed.
    func take() -> Submissions? {
        content.withLock { content in
            guard !content.isClosed else { return nil }
            defer { content.submissions = Submissions() }
            return content.submissions
        }
    }

    /// Returns the requests that were in the queue when it was closed.
    func rest() -> [PendingRequest] {
        content.withLock { content in
            defer { content.submissions = Submissions() }
            return content.submissions.requests
        }
    }

    /// Forgets a request that has its answer: a later cancellation has no effect.
    func settle(_ id: Int) { content.withLock { $0.stages[id] = nil } }
}

extension RequestQueue.Content {
    /// A queue that is not empty has woken the thread already.
    fileprivate mutating func post(_ write: (inout RequestQueue.Submissions) -> Void) {
        let isFirst = submissions.isEmpty
        write(&submissions)
        if isFirst { wake() }
    }

    fileprivate func wake() {
        if let multi { curl_multi_wakeup(multi) }
    }
}
