import OrderedStore
import Testing

@testable import OrderedStorePostgres

@Suite("The writers of one partition", .timeLimit(.minutes(20)))
struct WriteLaneStateTests {
    @Test func `a single writer opens a batch and commits it`() {
        var state = WriteLaneState()
        state.announce()
        #expect(state.turnBegan() == .openBatch)
        state.batchOpened(at: 0)
        state.writesAdded(byteCount: 10)
        #expect(state.turnEnded(at: 1) == .commit)
        state.batchEnded(from: 1, to: 2)
        #expect(state.turnBegan() == .openBatch)
    }

    @Test func `writers that wait share a batch; the last one commits`() {
        var state = WriteLaneState()
        for _ in 0..<3 { state.announce() }
        state.batchOpened(at: 0)
        #expect(state.turnEnded(at: 1) == .continue)
        #expect(state.turnBegan() == .joinBatch)
        #expect(state.turnEnded(at: 2) == .continue)
        #expect(state.turnEnded(at: 3) == .commit)
    }

    @Test func `a batch is full after 256 turns, 4 MB or 50 ms`() {
        var turns = WriteLaneState()
        for _ in 0..<300 { turns.announce() }
        turns.batchOpened(at: 0)
        for _ in 1..<256 { #expect(turns.turnEnded(at: 1) == .continue) }
        #expect(turns.turnEnded(at: 1) == .commit)

        var bytes = WriteLaneState()
        for _ in 0..<3 { bytes.announce() }
        bytes.batchOpened(at: 0)
        bytes.writesAdded(byteCount: 4 << 20)
        #expect(bytes.turnEnded(at: 1) == .commit)

        var time = WriteLaneState()
        for _ in 0..<3 { time.announce() }
        time.batchOpened(at: 0)
        #expect(time.turnEnded(at: 50_000_000) == .continue)
        #expect(time.turnEnded(at: 50_000_001) == .commit)
    }

    @Test func `writers that were answered together are waited for, at most as long as a commit takes`() {
        var state = WriteLaneState()
        for _ in 0..<8 { state.announce() }
        state.batchOpened(at: 0)
        state.writesAdded(byteCount: 1)
        for _ in 0..<7 { #expect(state.turnEnded(at: 1) == .continue) }
        #expect(state.turnEnded(at: 1) == .commit)
        state.batchEnded(from: 1, to: 5_001)
        // The first one comes back.
        state.announce()
        state.batchOpened(at: 6_000)
        state.writesAdded(byteCount: 1)
        #expect(state.turnEnded(at: 6_100) == .wait(nanoseconds: 5_000))
        #expect(state.waitEnded())
        // Another one comes: it is waited for no longer than for the first.
        state.announce()
        #expect(!state.waitEnded())
        #expect(state.turnEnded(at: 7_100) == .wait(nanoseconds: 4_000))
        for _ in 0..<6 { state.announce() }
        for _ in 0..<5 { #expect(state.turnEnded(at: 7_200) == .continue) }
        #expect(state.turnEnded(at: 7_300) == .commit)
        state.batchEnded(from: 7_300, to: 8_300)
        #expect(!state.waitEnded())
    }

    @Test func `a writer that opened no batch leaves none to commit`() {
        var state = WriteLaneState()
        state.announce()
        #expect(state.turnEnded(at: 0) == .continue)
        #expect(state.announcedCount == 0)
    }

    @Test func `writers are expected back after a commit that many shared`() {
        for (count, isExpected) in [(3, false), (4, true)] {
            var state = WriteLaneState()
            for _ in 0..<count { state.announce() }
            state.batchOpened(at: 0)
            state.writesAdded(byteCount: 1)
            for _ in 0..<count { _ = state.turnEnded(at: 1) }
            state.batchEnded(from: 1, to: 2)
            #expect(state.expectsCrowd == isExpected)
        }
    }

    @Test func `the lane of writers that are expected back stays theirs; others are forgotten`() {
        let lanes = WriteLanes()
        let (crowd, few) = (Partition("crowd"), Partition("few"))
        let made = [crowd, few].map { lanes.enter($0) }
        #expect(lanes.enter(crowd) === made[0])
        #expect(lanes.count == 2)
        lanes.leave(crowd, isRemembered: true)
        #expect(lanes.count == 2)
        lanes.leave(crowd, isRemembered: true)
        lanes.leave(few, isRemembered: false)
        #expect(lanes.count == 0)
        #expect(lanes.enter(crowd) === made[0])
        #expect(lanes.enter(few) !== made[1])
        #expect(lanes.count == 2)
    }

    @Test func `no more than 64 lanes without writers are remembered, those that were left last`() {
        let lanes = WriteLanes()
        let partitions = (0...WriteLanes.idleMax).map { Partition("\($0)") }
        let made = partitions.map { lanes.enter($0) }
        for partition in partitions { lanes.leave(partition, isRemembered: true) }
        #expect(lanes.count == 0)
        #expect(lanes.enter(partitions[0]) !== made[0])
        for (partition, lane) in zip(partitions, made).dropFirst() { #expect(lanes.enter(partition) === lane) }
    }
}
