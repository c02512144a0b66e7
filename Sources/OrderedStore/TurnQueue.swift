/// The writers that wait for their turn: users in rotation, the writers of one user in the order in which they came.
package struct TurnQueue<Waiter> {
    /// Waiters, first in, first out; removing the first costs the same however many wait.
    private struct Line<Element> {
        private var elements: [Element?] = []
        private var next = 0

        var isEmpty: Bool { next == elements.count }

        mutating func append(_ element: Element) { elements.append(element) }

        mutating func popFirst() -> Element? {
            guard next < elements.count else { return nil }
            let first = elements[next].take()
            next += 1
            if next == elements.count {
                elements.removeAll(keepingCapacity: true)
                next = 0
            } else if next > 64, next > elements.count / 2 {
                elements.removeSubrange(..<next)
                next = 0
            }
            return first
        }
    }

    private var lines: [String: Line<Waiter>] = [:]
    /// The users with waiters, each once, the next one first.
    private var users = Line<String>()
    private var isTaken = false

    /// Creates a queue without waiters.
    package init() {}

    /// Adds a writer.
    ///
    /// - Returns: Whether the turn was free; the caller then arranges for `next` to be called.
    package mutating func add(_ waiter: Waiter, of user: String) -> Bool {
        if lines[user] == nil { users.append(user) }
        lines[user, default: Line()].append(waiter)
        defer { isTaken = true }
        return !isTaken
    }

    /// Ends a turn and returns the writer that has the next one; nil: the turn is free.
    package mutating func next() -> Waiter? {
        guard let user = users.popFirst(), let waiter = lines[user]?.popFirst() else {
            isTaken = false
            return nil
        }
        if lines[user]?.isEmpty == true { lines[user] = nil } else { users.append(user) }
        return waiter
    }
}
