/// Decides which requests may proceed to a place now, and which wait until another has ended.
struct ConnectionLimiter<Waiter> {
    /// The number of requests that may be under way to one place at a time.
    let max: Int
    private var underway: [Substring: Int] = [:]
    private var waiting: [Substring: [Waiter]] = [:]

    init(max: Int) { self.max = max }

    /// - Returns: Whether the waiter may go; otherwise it waits, first come, first served.
    mutating func enter(_ waiter: Waiter, to place: Substring) -> Bool {
        guard underway[place, default: 0] >= max else {
            underway[place, default: 0] += 1
            return true
        }
        waiting[place, default: []].append(waiter)
        return false
    }

    /// Notes that a request to a place has ended.
    ///
    /// - Returns: The waiter that proceeds in its stead.
    mutating func leave(_ place: Substring) -> Waiter? {
        if var queue = waiting[place] {
            let next = queue.removeFirst()
            waiting[place] = queue.isEmpty ? nil : queue
            return next
        }
        let count = underway[place, default: 1] - 1
        underway[place] = count > 0 ? count : nil
        return nil
    }

    /// Removes the first waiter that meets a condition.
    mutating func withdraw(where isMeant: (Waiter) -> Bool) -> Waiter? {
        for (place, queue) in waiting {
            guard let index = queue.firstIndex(where: isMeant) else { continue }
            var queue = queue
            let waiter = queue.remove(at: index)
            waiting[place] = queue.isEmpty ? nil : queue
            return waiter
        }
        return nil
    }

    /// Removes all waiters.
    mutating func clear() -> [Waiter] {
        defer { waiting = [:] }
        return waiting.values.flatMap(\.self)
    }
}
