import Testing

@testable import OrderedStore

@Suite("The jobs of the disk's thread", .timeLimit(.minutes(20)))
struct JobQueueTests {
    @Test func `jobs are taken together, in the order in which they came`() {
        var queue = JobQueue<String, Int>()
        #expect(queue.add("a") == .none)
        #expect(queue.add("b") == .none)
        var jobs: [String] = []
        #expect(queue.step(&jobs) == "run")
        #expect(jobs == ["a", "b"])
    }

    @Test func `a sleeping thread is signalled once`() {
        var queue = JobQueue<String, Int>()
        var jobs: [String] = []
        #expect(queue.step(&jobs) == "sleep")
        #expect(queue.add("a") == .signal)
        #expect(queue.add("b") == .none)
    }

    @Test func `a thread that is stopped ends after its jobs`() {
        var queue = JobQueue<String, Int>()
        var jobs: [String] = []
        #expect(queue.step(&jobs) == "sleep")
        _ = queue.add("a")
        #expect(queue.stop() == .none)
        #expect(queue.step(&jobs) == "run")
        jobs = []
        #expect(queue.step(&jobs) == "end")
    }

    @Test func `prioritized jobs are kept apart`() {
        var queue = JobQueue<String, Int>()
        _ = queue.add("waits")
        queue.prioritizes = true
        _ = queue.add("goes first")
        queue.prioritizes = false
        #expect(queue.takeFirstJobs() == ["goes first"])
        #expect(queue.takeFirstJobs().isEmpty)
        var jobs: [String] = []
        #expect(queue.step(&jobs) == "run")
        #expect(jobs == ["waits"])
    }

    @Test func `idle work is done once when no job has come until its time`() {
        var queue = JobQueue<String, Int>()
        queue.whenIdle(until: 7) {}
        var jobs: [String] = []
        #expect(queue.step(&jobs) == "sleep until 7")
        guard case .work = queue.overslept() else {
            Issue.record("no work")
            return
        }
        #expect(queue.step(&jobs) == "sleep")
    }

    @Test func `a job that comes at the last moment is waited for, and the idle work stays`() {
        var queue = JobQueue<String, Int>()
        queue.whenIdle(until: 7) {}
        var jobs: [String] = []
        #expect(queue.step(&jobs) == "sleep until 7")
        #expect(queue.add("a") == .signal)
        guard case .awaitSignal = queue.overslept() else {
            Issue.record("no signal")
            return
        }
        #expect(queue.step(&jobs) == "run")
        jobs = []
        #expect(queue.step(&jobs) == "sleep until 7")
    }

    @Test func `cancelled idle work is not done`() {
        var queue = JobQueue<String, Int>()
        queue.whenIdle(until: 7) {}
        var jobs: [String] = []
        #expect(queue.step(&jobs) == "sleep until 7")
        queue.cancelIdleWork()
        guard case .continue = queue.overslept() else {
            Issue.record("work")
            return
        }
        #expect(queue.step(&jobs) == "sleep")
    }
}

extension JobQueue<String, Int> {
    /// The next step, in words.
    fileprivate mutating func step(_ jobs: inout [String]) -> String {
        switch next(&jobs) {
        case .run: "run"
        case .sleep: "sleep"
        case .sleepUntil(let instant): "sleep until \(instant)"
        case .end: "end"
        }
    }
}
