import Dispatch
import Foundation
import NIOCore
import Synchronization

/// Threads that run while the others of the machine leave the processors free, and a little besides.
///
/// They begin with their first job.
final class LowPriorityThreads: TaskExecutor {
    private struct State {
        var jobs = CircularBuffer<UnownedJob>()
        var threadCount = 0
        var isStopped = false
    }

    /// The number of threads.
    let count: Int
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// Of 19. A thread of this kind gets a tenth of a processor for which others compete.
    private static let niceness: Int32 = 10

    init(count: Int) { self.count = count }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isTaken, isNewThreadNeeded) = state.withLock { state in
            if state.isStopped { return (false, false) }
            state.jobs.append(job)
            guard state.threadCount < count else { return (true, false) }
            state.threadCount += 1
            return (true, true)
        }
        guard isTaken else { return job.runSynchronously(on: asUnownedTaskExecutor()) }
        if isNewThreadNeeded { startThread() }
        wake.signal()
    }

    /// Ends the threads, once they have run what they were given.
    func stop() {
        let count = state.withLock { state in
            state.isStopped = true
            return state.threadCount
        }
        for _ in 0..<count { wake.signal() }
    }

    private func startThread() {
        // A thread of the shared pool would keep its priority for other work.
        let thread = Thread { [self] in run() }
        thread.start()
    }

    private func run() {
        #if canImport(Glibc)
            // Of this thread alone.
            setpriority(.init(PRIO_PROCESS.rawValue), 0, Self.niceness)
        #endif
        while true {
            wake.wait()
            let (job, isStopped) = state.withLock { ($0.jobs.popFirst(), $0.isStopped) }
            guard let job else {
                if isStopped { return }
                continue
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
