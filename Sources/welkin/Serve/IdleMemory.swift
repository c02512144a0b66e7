import CProgramPages
import OrderedStore
import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Gives memory back to the system when the cloud has had little to do for a while: pages of the store, what the allocator keeps of freed
/// memory, and pages of the program.
struct IdleMemory: Service {
    var store: any PersistentStore

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var rest = IdleRest()
            while (try? await Task.sleep(for: IdleRest.interval)) != nil {
                guard rest.isDue(processorTime: Self.processorTime) else { continue }
                await store.releaseMemory()
                FreedMemory.release()
                welkin_release_program_pages()
            }
        }
    }

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

    private var last = Duration.zero
    private var hasWorked = true

    /// Returns whether memory should be given back now: once after each time of work.
    ///
    /// - Parameter time: The processor time of the process so far.
    mutating func isDue(processorTime time: Duration) -> Bool {
        let used = time - last
        last = time
        guard used <= Self.restMax else {
            hasWorked = true
            return false
        }
        defer { hasWorked = false }
        return hasWorked
    }
}
