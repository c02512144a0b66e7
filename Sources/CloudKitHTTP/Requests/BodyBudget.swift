import Synchronization

/// Counts the bytes of bodies that are in memory, and refuses those beyond its limits.
final class BodyBudget: Sendable {
    /// The sender of a body.
    enum Sender: Hashable, Sendable {
        /// No user, or one who is not known before the body has been read.
        case stranger
        /// A user, a server key or an operator.
        case known(String)
    }

    private let limits: BodyLimits
    private let held = Mutex(Held())
    private let onChange: @Sendable (Int) -> Void

    private struct Held {
        var bytes = 0
        var bySender: [Sender: Int] = [:]
    }

    /// - Parameter onChange: Called with the number of bytes that are added, or removed if it is negative.
    init(limits: BodyLimits, onChange: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.limits = limits
        self.onChange = onChange
    }

    /// The bytes in memory.
    var heldBytes: Int { held.withLock { $0.bytes } }

    /// Returns whether another body may begin: newcomers are refused before those under way.
    func admits(_ sender: Sender) -> Bool {
        held.withLock { held in
            held.bytes < limits.heldBytesMax / 4 * 3 && held.bySender[sender, default: 0] < bytesMax(of: sender)
        }
    }

    /// Adds bytes of a sender's body, or returns false if there are too many.
    func reserve(_ bytes: Int, for sender: Sender) -> Bool {
        let isReserved = held.withLock { held in
            let ofSender = held.bySender[sender, default: 0] + bytes
            guard held.bytes + bytes <= limits.heldBytesMax, ofSender <= bytesMax(of: sender) else { return false }
            held.bytes += bytes
            held.bySender[sender] = ofSender
            return true
        }
        if isReserved { onChange(bytes) }
        return isReserved
    }

    /// Removes bytes that were reserved.
    func release(_ bytes: Int, for sender: Sender) {
        guard bytes > 0 else { return }
        held.withLock { held in
            held.bytes -= bytes
            let left = held.bySender[sender, default: 0] - bytes
            held.bySender[sender] = left > 0 ? left : nil
        }
        onChange(-bytes)
    }

    private func bytesMax(of sender: Sender) -> Int {
        switch sender {
        case .stranger: limits.strangerHeldBytesMax
        case .known: max(limits.heldBytesMax / 4, limits.bytesMax)
        }
    }
}
