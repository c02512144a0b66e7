/// The jobs of a thread, the work that it does when it has been idle for a time, and whether it sleeps.
///
/// Pure: the thread and its callers report what happened, each function returns what is to be done next.
struct JobQueue<Job: Sendable, Instant: Sendable>: Sendable {
    /// Work for a thread that has had no jobs until an instant.
    struct IdleWork: Sendable {
        var start: Instant
        var work: @Sendable () -> Void
    }

    private var jobs: [Job] = []
    /// Jobs that go before all others.
    private var firstJobs: [Job] = []
    private var idleWork: IdleWork?
    private var isAsleep = false
    private var isStopped = false
    /// Whether jobs that come now go before all others.
    var prioritizes = false

    // MARK: Callers

    enum Wake: Equatable {
        /// The thread sleeps: signal it, once.
        case signal
        case none
    }

    /// Adds a job.
    mutating func add(_ job: Job) -> Wake {
        if prioritizes { firstJobs.append(job) } else { jobs.append(job) }
        return wake()
    }

    /// Ends the thread after the jobs that it was given.
    mutating func stop() -> Wake {
        isStopped = true
        return wake()
    }

    /// Sets the work that is done when the thread has no jobs until an instant; it replaces earlier idle work.
    mutating func whenIdle(until start: Instant, _ work: @escaping @Sendable () -> Void) {
        idleWork = IdleWork(start: start, work: work)
    }

    mutating func cancelIdleWork() { idleWork = nil }

    private mutating func wake() -> Wake {
        defer { isAsleep = false }
        return isAsleep ? .signal : .none
    }

    // MARK: The thread

    enum Step {
        /// Run the jobs that were taken.
        case run
        /// Wait for a signal.
        case sleep
        /// Wait for a signal until an instant; when none comes, call `overslept`.
        case sleepUntil(Instant)
        case end
    }

    /// Returns what the thread does next, once it has run the jobs that it took before.
    ///
    /// - Parameter taken: Empty; receives the jobs to run.
    mutating func next(_ taken: inout [Job]) -> Step {
        if !jobs.isEmpty {
            swap(&jobs, &taken)
            return .run
        }
        if isStopped { return .end }
        isAsleep = true
        return idleWork.map { .sleepUntil($0.start) } ?? .sleep
    }

    /// Takes the jobs that go before all others.
    mutating func takeFirstJobs() -> [Job] {
        if firstJobs.isEmpty { return [] }
        let taken = firstJobs
        firstJobs.removeAll(keepingCapacity: true)
        return taken
    }

    enum Awakening {
        /// Do the idle work.
        case work(@Sendable () -> Void)
        /// The idle work was cancelled meanwhile: ask for what is next.
        case `continue`
        /// A job came at the last moment, and its signal is on its way: wait for it.
        case awaitSignal
    }

    /// The instant of `sleepUntil` came without a signal.
    mutating func overslept() -> Awakening {
        guard isAsleep else { return .awaitSignal }
        isAsleep = false
        return idleWork.take().map { .work($0.work) } ?? .continue
    }
}
