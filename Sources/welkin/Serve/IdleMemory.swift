import CProgramPages
import CloudKitLogsSQLite
import OrderedStore
import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Gives memory back to the system when the cloud has had little to do for a while: pages of the store and the log, what the allocator keeps
/// of freed memory, and pages of the program.
struct IdleMemory: Service {
    var store: any PersistentStore
    var log: SQLiteLogStore?

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var rest = IdleRest()
            while (try? await Task.sleep(for: IdleRest.interval)) != nil {
                switch rest.state(processorTime: Self.processorTime) {
                case .working: break
                case .beginning:
                    await store.releaseMemory(above: 0)
                    await log?.releaseMemory()
                    FreedMemory.release()
                    welkin_release_program_pages()
                case .resting:
                    // The cloud's own rounds read the store now and then.
                    if await store.releaseMemory(above: Self.restingPageBytes) { FreedMemory.release() }
                }
            }
        }
    }

    /// The bytes of the store's pages that each connection keeps while the process rests.
    private static let restingPageBytes = 1 << 20

    /// The processor time of this process so far.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}

/// Decides when a process that has worked has become idle.
struct IdleRest {
    /// The time between two looks.
    static let interval = Duration.seconds(5)
    /// The processor time of an interval in which the process rests.
    private static let restMax = Duration.milliseconds(100)

    /// What a process has done in an interval.
    enum State {
        case working
        /// It rests for the first time since it has worked.
        case beginning
        case resting
    }

    private var last = Duration.zero
    private var hasWorked = true

    /// Returns what the process has done since the last look.
    ///
    /// - Parameter time: The processor time of the process so far.
    mutating func state(processorTime time: Duration) -> State {
        let used = time - last
        last = time
        guard used <= Self.restMax else {
            hasWorked = true
            return .working
        }
        defer { hasWorked = false }
        return hasWorked ? .beginning : .resting
    }
}
