import Synchronization

/// Bytes of the answer budget, given back when the reservation is gone: once the answer was sent, or the connection broke before.
final class AnswerReservation: Sendable {
    private let bytes: Mutex<Int>
    private let change: @Sendable (Int) -> Void

    init(bytes: Int, change: @escaping @Sendable (_ difference: Int) -> Void) {
        self.bytes = Mutex(bytes)
        self.change = change
    }

    deinit { resize(to: 0) }

    /// Sets the bytes to those that the answer really holds.
    func resize(to count: Int) {
        let difference = bytes.withLock { bytes in
            defer { bytes = count }
            return count - bytes
        }
        if difference != 0 { change(difference) }
    }
}
