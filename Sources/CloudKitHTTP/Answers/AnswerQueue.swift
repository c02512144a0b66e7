/// The kinds of answers that the budget treats differently.
enum AnswerKind {
    case fetch, save
}

/// The bytes that answers hold, and the requests that wait until there is space for theirs.
///
/// Pure: the budget reports what happened and resumes those who are granted space. Requests are granted space in the order in which they
/// came; one whose sender holds its share already lets others pass.
struct AnswerQueue<Waiter> {
    private struct Waiting {
        var id: UInt64
        var bytes: Int
        var sender: String
        var kind: AnswerKind
        var waiter: Waiter
    }

    /// Bytes of all answers together.
    let bytesMax: Int
    /// Bytes of the answers to one sender.
    let senderBytesMax: Int
    /// Requests that wait, of all senders and of one.
    let waitersMax: Int
    let senderWaitersMax: Int

    private(set) var heldBytes = 0
    private var heldBySender: [String: Int] = [:]
    private var waiting: [Waiting] = []
    private var lastID: UInt64 = 0

    init(bytesMax: Int, waitersMax: Int = 1024, senderWaitersMax: Int = 128) {
        self.bytesMax = bytesMax
        senderBytesMax = max(1, bytesMax / 2)
        self.waitersMax = waitersMax
        self.senderWaitersMax = senderWaitersMax
    }

    var waiterCount: Int { waiting.count }

    /// Returns bytes that can be granted at all.
    func grantable(_ bytes: Int) -> Int { min(max(0, bytes), senderBytesMax) }

    /// Takes bytes at once; false where there is no space or others wait.
    mutating func tryTake(_ bytes: Int, for sender: String, _ kind: AnswerKind) -> Bool {
        guard waiting.isEmpty || kind == .save, hasSpace(bytes, kind), hasShare(bytes, sender) else { return false }
        add(bytes, to: sender)
        return true
    }

    /// Adds a request to those that wait.
    ///
    /// - Returns: Its id; nil when too many wait already.
    mutating func wait(_ bytes: Int, for sender: String, _ kind: AnswerKind, _ waiter: Waiter) -> UInt64? {
        guard waiting.count < waitersMax, waiting.count(where: { $0.sender == sender }) < senderWaitersMax else {
            return nil
        }
        lastID += 1
        waiting.append(Waiting(id: lastID, bytes: bytes, sender: sender, kind: kind, waiter: waiter))
        return lastID
    }

    /// Removes a request that has waited too long; nil if it is no longer among those that wait.
    mutating func giveUp(_ id: UInt64) -> Waiter? {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return nil }
        return waiting.remove(at: index).waiter
    }

    /// Changes the bytes of an answer under way by a difference; growth is counted and never refused.
    mutating func change(by bytes: Int, of sender: String) { add(bytes, to: sender) }

    /// Takes the bytes of those who can be granted theirs now, and returns these, who no longer wait.
    mutating func grant() -> [Waiter] {
        var granted: [Waiter] = []
        var rest: [Waiting] = []
        var blocked: Set<AnswerKind> = []
        for waiter in waiting {
            let hasShare = hasShare(waiter.bytes, waiter.sender)
            if hasShare, !hasSpace(waiter.bytes, waiter.kind) { blocked.insert(waiter.kind) }
            guard !blocked.contains(waiter.kind), hasShare else {
                rest.append(waiter)
                continue
            }
            add(waiter.bytes, to: waiter.sender)
            granted.append(waiter.waiter)
        }
        waiting = rest
        return granted
    }

    private func hasSpace(_ bytes: Int, _ kind: AnswerKind) -> Bool {
        // A part that fetches cannot take is left for the answers to saves.
        heldBytes + bytes <= (kind == .save ? bytesMax : bytesMax - bytesMax / 4)
    }

    private func hasShare(_ bytes: Int, _ sender: String) -> Bool {
        heldBySender[sender, default: 0] + bytes <= senderBytesMax
    }

    private mutating func add(_ bytes: Int, to sender: String) {
        heldBytes += bytes
        let held = heldBySender[sender, default: 0] + bytes
        heldBySender[sender] = held > 0 ? held : nil
    }
}
