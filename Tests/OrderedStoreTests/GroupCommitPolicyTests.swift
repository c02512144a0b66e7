import Testing

@testable import OrderedStore

@Suite("When a batch is committed", .timeLimit(.minutes(20)))
struct GroupCommitPolicyTests {
    @Test func `a single writer never waits`() {
        var policy = GroupCommitPolicy()
        for round in 0..<5 as Range<UInt64> {
            let start = round * 10 * ms
            policy.open(at: start)
            #expect(policy.next(turns: 1, isLast: true, at: start + ms / 10) == .commit)
            policy.noteCommit(turns: 1, from: start, to: start + ms)
        }
    }

    @Test func `a few are not waited for`() {
        var few = policyAfter(turns: 3, commit: ms)
        few.open(at: 100 * ms)
        #expect(few.next(turns: 1, isLast: true, at: 100 * ms) == .commit)
        var crowd = policyAfter(turns: 4, commit: ms)
        crowd.open(at: 100 * ms)
        #expect(crowd.next(turns: 1, isLast: true, at: 100 * ms) == .wait(nanoseconds: ms))
    }

    @Test func `nothing is known before the first commit: the last writer commits`() {
        var policy = GroupCommitPolicy()
        policy.open(at: 7)
        #expect(policy.next(turns: 1, isLast: false, at: 50 * ms) == .continue)
        #expect(policy.next(turns: 2, isLast: true, at: 50 * ms) == .commit)
    }

    @Test func `a batch waits for the writers of the last ones, at most as long as a commit takes`() {
        var policy = policyAfter(turns: 10, commit: ms)
        policy.open(at: 100 * ms)
        #expect(policy.next(turns: 1, isLast: true, at: 100 * ms) == .wait(nanoseconds: ms))
        // Further writers do not make the wait longer.
        #expect(policy.next(turns: 2, isLast: true, at: 100 * ms + ms / 4) == .wait(nanoseconds: ms - ms / 4))
        #expect(policy.next(turns: 3, isLast: true, at: 101 * ms) == .commit)
    }

    @Test func `a batch does not wait once all are back`() {
        var policy = policyAfter(turns: 10, commit: ms)
        policy.open(at: 100 * ms)
        #expect(policy.next(turns: 9, isLast: true, at: 100 * ms) == .wait(nanoseconds: ms))
        #expect(policy.next(turns: 10, isLast: true, at: 100 * ms) == .commit)
    }

    @Test func `a crowd that has gone is waited for in two batches`() {
        var policy = policyAfter(turns: 10, commit: ms)
        for round in 1...2 as ClosedRange<UInt64> {
            policy.open(at: round * 100 * ms)
            #expect(policy.next(turns: 1, isLast: true, at: round * 100 * ms) != .commit)
            policy.noteCommit(turns: 1, from: 0, to: ms)
        }
        policy.open(at: 300 * ms)
        #expect(policy.next(turns: 1, isLast: true, at: 300 * ms) == .commit)
    }

    @Test func `a crowd that was away for more than a second is not waited for`() {
        var policy = policyAfter(turns: 10, commit: ms)
        policy.open(at: 1_001 * ms)
        #expect(policy.next(turns: 1, isLast: true, at: 1_001 * ms) != .commit)
        #expect(policy.expectsCrowd)
        policy.open(at: 1_001 * ms + 1)
        #expect(policy.next(turns: 1, isLast: true, at: 1_001 * ms + 1) == .commit)
        #expect(!policy.expectsCrowd)
    }

    @Test func `a batch that writers keep joining is committed after three times the time of a commit`() {
        var policy = policyAfter(turns: 10, commit: ms)
        policy.open(at: 100 * ms)
        #expect(policy.next(turns: 40, isLast: false, at: 103 * ms) == .continue)
        #expect(policy.next(turns: 41, isLast: false, at: 103 * ms + 1) == .commit)
    }

    @Test func `a disk that hangs once does not make others wait`() {
        var policy = policyAfter(turns: 10, commit: 5_000 * ms)
        #expect(policy.commitTime == 20 * ms)
        for _ in 0..<40 { policy.noteCommit(turns: 10, from: 0, to: ms) }
        #expect(policy.commitTime < 2 * ms)
    }

    @Test func `a clock that does not advance makes no writer wait`() {
        var policy = policyAfter(turns: 10, commit: 0)
        policy.open(at: 1)
        #expect(policy.next(turns: 1, isLast: false, at: 1) == .continue)
        #expect(policy.next(turns: 2, isLast: true, at: 1) == .commit)
    }

    // MARK: Circumstances

    private let ms: UInt64 = 1_000_000

    private func policyAfter(turns: Int, commit: UInt64) -> GroupCommitPolicy {
        var policy = GroupCommitPolicy()
        policy.open(at: 0)
        policy.noteCommit(turns: turns, from: 0, to: commit)
        return policy
    }
}
