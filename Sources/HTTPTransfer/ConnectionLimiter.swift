/// Who may go on the way now, and who waits until another has come back.
struct ConnectionLimiter<Waiter> {
    /// How many may be on the way to one place at a time.
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

    /// One has come back.
    ///
    /// - Returns: Who goes in its stead.
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

    /// Takes out somebody who has waited long enough.
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

    /// Takes out everybody who waits.
    mutating func clear() -> [Waiter] {
        defer { waiting = [:] }
        return waiting.values.flatMap(\.self)
    }
}
