import Synchronization
import Testing

@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct BoundedTasksTests {
    @Test(arguments: [1, 2, 3])
    func `at most as many elements as allowed are in progress, and values keep their order`(width: Int) async throws {
        let running = Mutex((now: 0, most: 0))
        let values = try await concurrentMap(Array(1...8), atMost: width) { element in
            running.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            // Gives others the time to begin, should they be allowed to.
            for _ in 0..<100 { await Task.yield() }
            running.withLock { $0.now -= 1 }
            return element * 10
        }
        #expect(values == (1...8).map { $0 * 10 })
        #expect(running.withLock { $0.most } <= width)
    }
}
