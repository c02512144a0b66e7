import OrderedStore
import Testing

@testable import OrderedStoreSQLite

@Suite("The states of group commit", .timeLimit(.minutes(20)))
struct GroupCommitStateMachineTests {
    private let ms: UInt64 = 1_000_000
    private let partition = Partition("a")

    @Test func `a single writer opens a batch and commits it`() {
        var machine = GroupCommitStateMachine()
        #expect(machine.announce() == .takeTurn)
        #expect(machine.announcedCount == 1)
        #expect(machine.turnBegan() == .openBatch)
        machine.batchOpened(at: 0)
        machine.writesApplied(to: [partition], byteCount: 10)
        #expect(machine.turnEnded(at: 1) == .commit)
        #expect(machine.announcedCount == 0)
        #expect(machine.batchCommitted(from: 1, to: ms) == [partition])
        #expect(machine.commitCount == 1)
        #expect(machine.turnBegan() == .openBatch)
    }

    @Test func `writers that announced themselves share a batch; the last one commits`() {
        var machine = GroupCommitStateMachine()
        for _ in 0..<3 { #expect(machine.announce() == .takeTurn) }
        machine.batchOpened(at: 0)
        #expect(machine.turnEnded(at: 1) == .continue)
        #expect(machine.turnBegan() == .joinBatch)
        #expect(machine.turnEnded(at: 2) == .continue)
        #expect(machine.turnEnded(at: 3) == .commit)
    }

    @Test func `a batch without writes is no commit`() {
        var machine = GroupCommitStateMachine()
        _ = machine.announce()
        machine.batchOpened(at: 0)
        machine.writesApplied(to: [], byteCount: 0)
        #expect(machine.turnEnded(at: 1) == .commit)
        #expect(machine.batchCommitted(from: 1, to: ms).isEmpty)
        #expect(machine.commitCount == 0)
    }

    @Test func `a batch of 256 turns is full`() {
        var machine = GroupCommitStateMachine()
        for _ in 0..<300 { _ = machine.announce() }
        machine.batchOpened(at: 0)
        for _ in 1..<256 { #expect(machine.turnEnded(at: 1) == .continue) }
        #expect(machine.turnEnded(at: 1) == .commit)
    }

    @Test func `a batch of 4 MB is full`() {
        var machine = GroupCommitStateMachine()
        for _ in 0..<3 { _ = machine.announce() }
        machine.batchOpened(at: 0)
        machine.writesApplied(to: [partition], byteCount: 4 << 20 - 1)
        #expect(machine.turnEnded(at: 1) == .continue)
        machine.writesApplied(to: [partition], byteCount: 1)
        #expect(machine.turnEnded(at: 1) == .commit)
    }

    @Test func `a batch waits for the writers of the last one; when they do not come, the end of the wait commits`() {
        var machine = machineAfterCrowd()
        _ = machine.announce()
        machine.batchOpened(at: 10 * ms)
        #expect(machine.turnEnded(at: 10 * ms) == .wait(nanoseconds: ms))
        #expect(machine.waitEnded() == .commit)
    }

    @Test func `the end of a wait is ignored when a writer has come or nothing is open`() {
        var machine = machineAfterCrowd()
        #expect(machine.waitEnded() == .ignore)
        _ = machine.announce()
        machine.batchOpened(at: 10 * ms)
        #expect(machine.turnEnded(at: 10 * ms) == .wait(nanoseconds: ms))
        _ = machine.announce()
        #expect(machine.waitEnded() == .ignore)
    }

    @Test func `after a batch was abandoned the next turn opens another`() {
        var machine = GroupCommitStateMachine()
        for _ in 0..<2 { _ = machine.announce() }
        machine.batchOpened(at: 0)
        machine.writesApplied(to: [partition], byteCount: 1)
        machine.batchAbandoned()
        #expect(machine.turnEnded(at: 1) == .continue)
        #expect(machine.turnBegan() == .openBatch)
        machine.batchOpened(at: 2)
        #expect(machine.turnEnded(at: 3) == .commit)
        // Of the abandoned batch nothing is left.
        #expect(machine.batchCommitted(from: 3, to: 4).isEmpty)
    }

    @Test func `a writer that never joined a batch leaves the open one to others`() {
        var machine = GroupCommitStateMachine()
        _ = machine.announce()
        // Cancelled before its body ran.
        #expect(machine.turnEnded(at: 0) == .continue)
        #expect(machine.announcedCount == 0)
    }

    @Test func `closing refuses later writers and waits for those that announced themselves`() {
        var machine = GroupCommitStateMachine()
        _ = machine.announce()
        #expect(machine.close() == .waitForWriters)
        #expect(machine.announce() == .refuse)
        #expect(!machine.isDrained)
        machine.batchOpened(at: 0)
        #expect(machine.turnEnded(at: 1) == .commit)
        #expect(machine.isDrained)
        #expect(machine.close() == .proceed)
    }

    /// A machine whose last batch was shared by ten writers and took a millisecond to commit.
    private func machineAfterCrowd() -> GroupCommitStateMachine {
        var machine = GroupCommitStateMachine()
        for _ in 0..<10 { _ = machine.announce() }
        machine.batchOpened(at: 0)
        machine.writesApplied(to: [partition], byteCount: 10)
        for _ in 0..<10 { _ = machine.turnEnded(at: 0) }
        _ = machine.batchCommitted(from: 0, to: ms)
        return machine
    }
}
