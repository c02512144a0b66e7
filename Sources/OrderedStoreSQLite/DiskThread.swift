import Dispatch
import OrderedStore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A thread of its own for work that waits for the disk, so that the few threads that all tasks share never do.
final class DiskThread: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Jobs that go before all others.
        var firstJobs: [UnownedJob] = []
        var enqueuesFirst = false
        var isAsleep = false
        var isStopped = false
        var rest: Rest?
    }

    private struct Rest {
        var end: DispatchTime
        var work: @Sendable () -> Void
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// - Throws: `unavailable` when the system gives no thread.
    static func start() throws(StoreError) -> DiskThread {
        let executor = DiskThread()
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        // The thread keeps its executor until it has been stopped and has nothing left to do.
        let context = Unmanaged.passRetained(executor)
        let result = pthread_create(&thread, nil, { runDiskThread($0) }, context.toOpaque())
        if result != 0 {
            context.release()
            throw StoreError(
                code: .unavailable, reason: "the system gives no thread", remedy: "raise the limit of threads",
                details: ["errno": String(result)])
        }
        #if canImport(Darwin)
            if let thread { pthread_detach(thread) }
        #else
            pthread_detach(thread)
        #endif
        return executor
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let wasAsleep = state.withLock { state in
            if state.enqueuesFirst { state.firstJobs.append(job) } else { state.jobs.append(job) }
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wasAsleep { wake.signal() }
    }

    /// Does something whose jobs go before all that wait for this thread, as do those that others happen to give it meanwhile.
    /// On this thread only, in a job or a rest's work.
    func first(_ work: () -> Void) {
        state.withLock { $0.enqueuesFirst = true }
        work()
        state.withLock { $0.enqueuesFirst = false }
    }

    /// Ends the thread after what was already given to it.
    func stop() {
        let wasAsleep = state.withLock { state in
            state.isStopped = true
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wasAsleep { wake.signal() }
    }

    /// Does something on this thread once it has had nothing else to do until a time has passed, unless `endRest` comes first.
    /// It stands in place of what was to be done before.
    func rest(_ nanoseconds: UInt64, _ work: @escaping @Sendable () -> Void) {
        let end = DispatchTime.now() + .nanoseconds(Int(clamping: nanoseconds))
        state.withLock { $0.rest = Rest(end: end, work: work) }
    }

    func endRest() {
        state.withLock { $0.rest = nil }
    }

    fileprivate func run() {
        var jobs: [UnownedJob] = []
        while takeJobs(&jobs) {
            for job in jobs {
                job.runSynchronously(on: asUnownedTaskExecutor())
                runFirstJobs()
            }
            jobs.removeAll(keepingCapacity: true)
        }
    }

    private func runFirstJobs() {
        while true {
            let jobs = state.withLock { state in
                let jobs = state.firstJobs
                if !jobs.isEmpty { state.firstJobs.removeAll(keepingCapacity: true) }
                return jobs
            }
            if jobs.isEmpty { return }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// Waits for jobs; false when there will be none.
    private func takeJobs(_ jobs: inout [UnownedJob]) -> Bool {
        while true {
            let (taken, isStopped, rest) = state.withLock { state in
                let taken = state.jobs
                state.jobs.removeAll(keepingCapacity: true)
                state.isAsleep = taken.isEmpty && !state.isStopped
                return (taken, state.isStopped, state.rest)
            }
            jobs = taken
            if !jobs.isEmpty { return true }
            if isStopped { return false }
            guard let rest else {
                wake.wait()
                continue
            }
            if wake.wait(timeout: rest.end) == .success { continue }
            let isUndisturbed = state.withLock { state in
                defer { state.isAsleep = false }
                return state.isAsleep
            }
            if isUndisturbed {
                endRest()
                rest.work()
                runFirstJobs()
            } else {
                // Somebody came at the last moment; their signal is on its way.
                wake.wait()
            }
        }
    }
}

#if canImport(Darwin)
    private func runDiskThread(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<DiskThread>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#else
    private func runDiskThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let context else { return nil }
        Unmanaged<DiskThread>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#endif
