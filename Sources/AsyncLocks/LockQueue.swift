/// The tasks that hold or wait for one lock, first in, first out.
///
/// Taking and releasing cost the same however many wait.
struct LockQueue {
    typealias Waiter = CheckedContinuation<Void, Never>

    private(set) var isLocked = false
    private var waiters: [Waiter] = []
    /// The index of the waiter that is next; those before it have been resumed.
    private var next = 0

    /// Takes the lock if it is free.
    mutating func tryLock() -> Bool {
        if isLocked { return false }
        isLocked = true
        return true
    }

    /// Takes the lock if it is free, else adds the waiter to the end of the queue.
    ///
    /// - Returns: Whether the lock was taken; the waiter is then to be resumed by the caller.
    mutating func lock(_ waiter: Waiter) -> Bool {
        if tryLock() { return true }
        waiters.append(waiter)
        return false
    }

    /// Passes the lock on to the first waiter, or frees it if there is none.
    ///
    /// - Returns: The waiter that now holds the lock and is to be resumed.
    mutating func unlock() -> Waiter? {
        guard next < waiters.count else {
            waiters.removeAll(keepingCapacity: true)
            next = 0
            isLocked = false
            return nil
        }
        let first = waiters[next]
        next += 1
        if next > 64, next > waiters.count / 2 {
            waiters.removeSubrange(..<next)
            next = 0
        }
        return first
    }
}
