import CCurl
import Synchronization

/// A request, and who waits for its answer.
struct Order: Sendable {
    let id: Int
    let request: HTTPClient.Request
    let continuation: CheckedContinuation<HTTPClient.Answer, any Error>
}

/// How tasks speak to the thread that does the work.
final class Mailbox: Sendable {
    struct Mail {
        var orders: [Order] = []
        /// Orders that nobody wants any more; some may be over already.
        var cancelled: [Int] = []

        var isEmpty: Bool { orders.isEmpty && cancelled.isEmpty }
    }

    /// How far an order has come that has no answer yet.
    fileprivate enum Stage {
        case awaited, posted
        /// Cancelled before it was posted.
        case unwanted
    }

    fileprivate struct Content {
        var mail = Mail()
        var lastID = 0
        var stages: [Int: Stage] = [:]
        var isClosed = false
        /// Whom to wake; libcurl allows that from any thread.
        var multi: UnsafeMutableRawPointer?
    }

    private let content = Mutex(Content())

    // MARK: For tasks

    /// Announces an order.
    func nextID() -> Int {
        content.withLock { content in
            content.lastID += 1
            content.stages[content.lastID] = .awaited
            return content.lastID
        }
    }

    func post(_ order: Order) {
        let isWanted = content.withLock { content in
            guard content.stages[order.id] != .unwanted, !content.isClosed else {
                content.stages[order.id] = nil
                return false
            }
            content.stages[order.id] = .posted
            content.post { $0.orders.append(order) }
            return true
        }
        if !isWanted { order.continuation.resume(throwing: CancellationError()) }
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

    /// Nobody wakes the thread any more.
    func retire() { content.withLock { $0.multi = nil } }

    /// What has come since the last time; nil: this is the end.
    func take() -> Mail? {
        content.withLock { content in
            guard !content.isClosed else { return nil }
            defer { content.mail = Mail() }
            return content.mail
        }
    }

    /// What lay in the box when it was closed.
    func rest() -> [Order] {
        content.withLock { content in
            defer { content.mail = Mail() }
            return content.mail.orders
        }
    }

    /// An order has its answer: a cancellation from now on is nothing to anybody.
    func settle(_ id: Int) { content.withLock { $0.stages[id] = nil } }
}

extension Mailbox.Content {
    /// Whoever finds mail in the box knows that the thread was woken for it already.
    fileprivate mutating func post(_ write: (inout Mailbox.Mail) -> Void) {
        let isFirst = mail.isEmpty
        write(&mail)
        if isFirst { wake() }
    }

    fileprivate func wake() {
        if let multi { curl_multi_wakeup(multi) }
    }
}
