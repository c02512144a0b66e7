/// The fetches that run, and those that wait because many run beside saves.
///
/// Pure: the limiter tells what happens and what time it is, and resumes those who may go on. Without saves, and for a few fetches, there
/// is no limit. Otherwise a number of them runs at a time, with a lower priority, and whoever has used the least time is next, so that
/// those who fetch little hardly wait. Where fetches run and none ends, they wait for something else than processors, such as a database
/// that is away, and nothing is limited.
struct FetchQueue<Waiter> {
    typealias Instant = ContinuousClock.Instant

    /// How a fetch begins.
    enum Beginning: Hashable {
        case unlimited
        /// With a lower priority.
        case besideSaves
        case wait
    }

    /// Those who may go on, those who have waited too long, and when to look again; nil when nobody waits.
    struct Turn {
        var granted: [Waiter] = []
        var refused: [Waiter] = []
        var next: Instant?
    }

    private struct Waiting {
        var sender: String
        var waiter: Waiter
        var deadline: Instant
    }

    /// The fetches that run beside saves like any other request.
    private let unlimitedMax: Int
    /// The fetches that run beside saves.
    private let runningMax: Int
    private let waitersMax: Int
    private let waitMax: Duration

    private(set) var runningCount = 0
    private var savesUnderWay = 0
    private var lastSave: Instant?
    /// The time at which a fetch ended, or began after none was running.
    private var lastProgress: Instant?
    /// The time of a fetch beside saves, on average, in seconds.
    private var meanTime = 0.002
    /// The seconds that senders have used beside saves; those that come later begin with what the last one granted had.
    private var used: [String: Double] = [:]
    private var usedByLast = 0.0
    /// Those that wait, in the order in which they came.
    private var waiting: [Waiting] = []

    /// The time after a save in which another one is expected.
    private static var saveInterval: Duration { .milliseconds(100) }
    /// The time without an end of a fetch after which those that run are not working.
    private static var stallTime: Duration { .milliseconds(500) }
    /// Senders that are remembered; beyond that all are forgotten.
    private static var sendersMax: Int { 4096 }

    /// - Parameters:
    ///   - threadCount: The threads of lower priority. As many fetches run like any other request, and four for each thread together: some
    ///     wait for a database.
    ///   - waitMax: The time after which a fetch that waits is refused.
    init(threadCount: Int, waitersMax: Int = 1024, waitMax: Duration = .seconds(2)) {
        unlimitedMax = threadCount
        runningMax = 4 * threadCount
        self.waitersMax = waitersMax
        self.waitMax = waitMax
    }

    var waiterCount: Int { waiting.count }

    /// The seconds after which a fetch that is refused now would have its turn, if all who wait stayed.
    var delay: Double { Double(waiting.count + 1) * meanTime / Double(runningMax) }

    // MARK: Saves

    mutating func saveBegan() { savesUnderWay += 1 }

    mutating func saveEnded(at now: Instant) {
        savesUnderWay -= 1
        lastSave = now
    }

    private func isLimited(at now: Instant) -> Bool {
        let isBesideSaves = savesUnderWay > 0 || lastSave.map { now - $0 < Self.saveInterval } ?? false
        return isBesideSaves && !(lastProgress.map { now - $0 >= Self.stallTime } ?? false)
    }

    // MARK: Fetches

    /// Begins a fetch, if it need not wait.
    mutating func begin(for sender: String, at now: Instant) -> Beginning {
        if runningCount == 0 { lastProgress = now }
        if waiting.isEmpty, runningCount < unlimitedMax || !isLimited(at: now) {
            runningCount += 1
            return .unlimited
        }
        guard waiting.isEmpty, runningCount < runningMax else { return .wait }
        start(sender)
        return .besideSaves
    }

    /// Adds a fetch to those that wait; false when too many do.
    mutating func wait(_ waiter: Waiter, for sender: String, at now: Instant) -> Bool {
        guard waiting.count < waitersMax else { return false }
        waiting.append(Waiting(sender: sender, waiter: waiter, deadline: now + waitMax))
        return true
    }

    /// Ends a fetch.
    ///
    /// - Parameter seconds: The time that it took, where it ran beside saves.
    mutating func end(for sender: String, seconds: Double?, at now: Instant) {
        runningCount -= 1
        lastProgress = now
        if let seconds {
            meanTime += (seconds - meanTime) / 16
            if used.count >= Self.sendersMax, used[sender] == nil { used.removeAll(keepingCapacity: true) }
            used[sender, default: usedByLast] += seconds
        }
        if waiting.isEmpty, runningCount == 0 {
            used.removeAll(keepingCapacity: true)
            usedByLast = 0
        }
    }

    /// Lets those go on who can, and refuses those who have waited too long.
    mutating func turn(at now: Instant) -> Turn {
        var turn = Turn()
        let placesMax = isLimited(at: now) ? runningMax : .max
        while runningCount < placesMax, let index = nextIndex {
            let next = waiting.remove(at: index)
            start(next.sender)
            turn.granted.append(next.waiter)
        }
        while let first = waiting.first, first.deadline <= now { turn.refused.append(waiting.removeFirst().waiter) }
        // A fetch that ends looks as well.
        turn.next = waiting.first.map { min($0.deadline, now + Self.saveInterval) }
        return turn
    }

    private var nextIndex: Int? {
        waiting.indices.min { time(of: waiting[$0].sender) < time(of: waiting[$1].sender) }
    }

    private func time(of sender: String) -> Double { max(used[sender] ?? 0, usedByLast) }

    private mutating func start(_ sender: String) {
        runningCount += 1
        usedByLast = time(of: sender)
    }
}
