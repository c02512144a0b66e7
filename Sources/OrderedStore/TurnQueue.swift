/// The writers that wait for their turn: users in rotation, the writers of one user in the order in which they came.
///
/// Inlinable, since it is generic: every write of an engine in another module passes it.
package struct TurnQueue<Waiter> {
    /// Waiters, first in, first out; removing the first costs the same however many wait.
    @usableFromInline struct Line<Element> {
        @usableFromInline var elements: [Element?] = []
        @usableFromInline var next = 0

        @inlinable init() {}

        @inlinable var isEmpty: Bool { next == elements.count }

        @inlinable mutating func append(_ element: Element) { elements.append(element) }

        @inlinable mutating func popFirst() -> Element? {
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

    @usableFromInline var lines: [String: Line<Waiter>] = [:]
    /// The users with waiters, each once, the next one first.
    @usableFromInline var users = Line<String>()
    @usableFromInline var isTaken = false

    /// Creates a queue without waiters.
    @inlinable package init() {}

    /// Adds a writer.
    ///
    /// - Returns: Whether the turn was free; the caller then arranges for `next` to be called.
    @inlinable package mutating func add(_ waiter: Waiter, of user: String) -> Bool {
        if lines[user] == nil { users.append(user) }
        lines[user, default: Line()].append(waiter)
        defer { isTaken = true }
        return !isTaken
    }

    /// Ends a turn and returns the writer that has the next one; nil: the turn is free.
    @inlinable package mutating func next() -> Waiter? {
        guard let user = users.popFirst(), var line = lines.removeValue(forKey: user), let waiter = line.popFirst()
        else {
            isTaken = false
            return nil
        }
        if !line.isEmpty {
            lines[user] = line
            users.append(user)
        }
        return waiter
    }
}
