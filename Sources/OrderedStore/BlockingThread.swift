import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A thread of its own for work that waits for a disk or a network, so that the few threads that all tasks share never do.
package final class BlockingThread: TaskExecutor {
    private let queue = Mutex(JobQueue<UnownedJob, DispatchTime>())
    private let wake = DispatchSemaphore(value: 0)

    /// Starts a thread that runs until it is stopped.
    ///
    /// - Throws: `unavailable` when the system gives no thread.
    package static func start() throws(StoreError) -> BlockingThread {
        let executor = BlockingThread()
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        // The thread keeps its executor until it has been stopped and has nothing left to do.
        let context = Unmanaged.passRetained(executor)
        let result = pthread_create(&thread, nil, { runBlockingThread($0) }, context.toOpaque())
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

    /// Adds a job of a task that prefers this thread.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if queue.withLock({ $0.add(job) }) == .signal { wake.signal() }
    }

    /// Runs `work`; the jobs that it gives to this thread go before all that wait, as do those that others happen to give it
    /// meanwhile. Called on this thread only, in a job or in idle work.
    package func prioritizing(_ work: () -> Void) {
        queue.withLock { $0.prioritizes = true }
        work()
        queue.withLock { $0.prioritizes = false }
    }

    /// Ends the thread after the jobs that it was given.
    package func stop() {
        if queue.withLock({ $0.stop() }) == .signal { wake.signal() }
    }

    /// Runs `work` on this thread once it has had no jobs until a time has passed, unless `cancelIdleWork` comes first.
    /// It replaces earlier idle work.
    package func whenIdle(for nanoseconds: UInt64, _ work: @escaping @Sendable () -> Void) {
        let start = DispatchTime.now() + .nanoseconds(Int(clamping: nanoseconds))
        queue.withLock { $0.whenIdle(until: start, work) }
    }

    /// Forgets the idle work.
    package func cancelIdleWork() {
        queue.withLock { $0.cancelIdleWork() }
    }

    fileprivate func run() {
        var jobs: [UnownedJob] = []
        while true {
            switch queue.withLock({ $0.next(&jobs) }) {
            case .run:
                run(jobs)
                jobs.removeAll(keepingCapacity: true)
            case .sleep: wake.wait()
            case .sleepUntil(let instant):
                if wake.wait(timeout: instant) == .timedOut { overslept() }
            case .end: return
            }
        }
    }

    private func run(_ jobs: [UnownedJob]) {
        for job in jobs {
            job.runSynchronously(on: asUnownedTaskExecutor())
            runFirstJobs()
        }
    }

    private func runFirstJobs() {
        while true {
            let jobs = queue.withLock { $0.takeFirstJobs() }
            if jobs.isEmpty { return }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    private func overslept() {
        switch queue.withLock({ $0.overslept() }) {
        case .work(let work):
            work()
            runFirstJobs()
        case .continue: break
        case .awaitSignal: wake.wait()
        }
    }
}

#if canImport(Darwin)
    private func runBlockingThread(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<BlockingThread>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#else
    private func runBlockingThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let context else { return nil }
        Unmanaged<BlockingThread>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#endif
