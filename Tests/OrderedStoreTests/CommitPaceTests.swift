import Testing

@testable import OrderedStoreSQLite

@Suite("When a batch is committed")
struct CommitPaceTests {
    @Test func `who writes alone never waits`() {
        var pace = CommitPace()
        for round in 0..<5 as Range<UInt64> {
            let start = round * 10 * ms
            pace.open(at: start)
            #expect(pace.next(turns: 1, isLast: true, at: start + ms / 10) == .commit)
            pace.noteCommit(turns: 1, from: start, to: start + ms)
        }
    }

    @Test func `a few are not waited for`() {
        var few = paced(turns: 3, commit: ms)
        few.open(at: 100 * ms)
        #expect(few.next(turns: 1, isLast: true, at: 100 * ms) == .commit)
        var crowd = paced(turns: 4, commit: ms)
        crowd.open(at: 100 * ms)
        #expect(crowd.next(turns: 1, isLast: true, at: 100 * ms) == .rest(nanoseconds: ms))
    }

    @Test func `nothing is known before the first commit: whoever is last commits`() {
        var pace = CommitPace()
        pace.open(at: 7)
        #expect(pace.next(turns: 1, isLast: false, at: 50 * ms) == .goOn)
        #expect(pace.next(turns: 2, isLast: true, at: 50 * ms) == .commit)
    }

    @Test func `a batch rests for those of the last ones, at most as long as a commit takes`() {
        var pace = paced(turns: 10, commit: ms)
        pace.open(at: 100 * ms)
        #expect(pace.next(turns: 1, isLast: true, at: 100 * ms) == .rest(nanoseconds: ms))
        // Company does not make the rest longer.
        #expect(pace.next(turns: 2, isLast: true, at: 100 * ms + ms / 4) == .rest(nanoseconds: ms - ms / 4))
        #expect(pace.next(turns: 3, isLast: true, at: 101 * ms) == .commit)
    }

    @Test func `a batch does not rest once all are back`() {
        var pace = paced(turns: 10, commit: ms)
        pace.open(at: 100 * ms)
        #expect(pace.next(turns: 9, isLast: true, at: 100 * ms) == .rest(nanoseconds: ms))
        #expect(pace.next(turns: 10, isLast: true, at: 100 * ms) == .commit)
    }

    @Test func `a crowd that has gone is waited for in two batches`() {
        var pace = paced(turns: 10, commit: ms)
        for round in 1...2 as ClosedRange<UInt64> {
            pace.open(at: round * 100 * ms)
            #expect(pace.next(turns: 1, isLast: true, at: round * 100 * ms) != .commit)
            pace.noteCommit(turns: 1, from: 0, to: ms)
        }
        pace.open(at: 300 * ms)
        #expect(pace.next(turns: 1, isLast: true, at: 300 * ms) == .commit)
    }

    @Test func `a batch that others keep joining is committed after three times the time of a commit`() {
        var pace = paced(turns: 10, commit: ms)
        pace.open(at: 100 * ms)
        #expect(pace.next(turns: 40, isLast: false, at: 103 * ms) == .goOn)
        #expect(pace.next(turns: 41, isLast: false, at: 103 * ms + 1) == .commit)
    }

    @Test func `a disk that hangs once is not waited for by others`() {
        var pace = paced(turns: 10, commit: 5_000 * ms)
        #expect(pace.commitTime == 20 * ms)
        for _ in 0..<40 { pace.noteCommit(turns: 10, from: 0, to: ms) }
        #expect(pace.commitTime < 2 * ms)
    }

    @Test func `a clock that stands still makes nobody wait`() {
        var pace = paced(turns: 10, commit: 0)
        pace.open(at: 1)
        #expect(pace.next(turns: 1, isLast: false, at: 1) == .goOn)
        #expect(pace.next(turns: 2, isLast: true, at: 1) == .commit)
    }

    // MARK: Circumstances

    private let ms: UInt64 = 1_000_000

    private func paced(turns: Int, commit: UInt64) -> CommitPace {
        var pace = CommitPace()
        pace.open(at: 0)
        pace.noteCommit(turns: turns, from: 0, to: commit)
        return pace
    }
}
