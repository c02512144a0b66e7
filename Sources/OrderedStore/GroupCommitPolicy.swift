/// Decides when the open batch is committed, by how long commits take and how many writes shared the last ones.
///
/// A commit waits for the disk once, however many writes share it, and writers that were answered together come back together.
/// Left alone, the first to come back would be committed by itself, then all others in one batch: half of the syncs for one write
/// each. So a batch for which no other writer has announced itself waits for those of the last batches, at most as long as one
/// commit takes: it never costs more than it may save. And a batch that writers keep joining is committed once it has been open
/// for some times that long: its writers get their answers while the next batch is filled.
/// A single writer never waits, nor do a few: beside one client the cloud itself may write now and then. Who was away for a second is no
/// longer expected.
package struct GroupCommitPolicy {
    package enum Step: Equatable {
        /// Leave the batch open: other writers have announced themselves, one of them will commit.
        case `continue`
        /// Commit unless another writer comes within so many nanoseconds.
        case wait(nanoseconds: UInt64)
        case commit
    }

    /// Nanoseconds, over the last commits; 0 before the first. Those of a disk that hangs count as 20 ms: no wait is longer.
    package private(set) var commitTime: UInt64 = 0
    /// The writes of the last commit and of the one before it.
    private var (last, beforeLast) = (0, 0)
    private var opened: UInt64 = 0
    private var lastEnd: UInt64 = 0
    private var waitEnd: UInt64?

    private let commitsOpenMax: UInt64?
    /// The fewest writes of a commit whose writers are waited for.
    private static let crowdMin = 4
    private static let commitTimeMax: UInt64 = 20_000_000
    /// Writers of a commit that is longer ago are not waited for.
    private static let crowdAge: UInt64 = 1_000_000_000

    /// - Parameter commitsOpenMax: How many times as long as a commit takes a batch stays open that writers keep joining; nil: the caller
    ///   bounds it.
    package init(commitsOpenMax: UInt64? = 3) { self.commitsOpenMax = commitsOpenMax }

    /// Whether the last batches had writers enough to be waited for.
    package var expectsCrowd: Bool { max(last, beforeLast) >= Self.crowdMin }

    /// Notes that a batch was opened.
    ///
    /// - Parameter now: Nanoseconds of a clock that is never set back.
    package mutating func open(at now: UInt64) {
        opened = now
        waitEnd = nil
        if now > lastEnd, now - lastEnd > Self.crowdAge { (last, beforeLast) = (0, 0) }
    }

    /// Decides what follows a turn in the open batch.
    ///
    /// - Parameters:
    ///   - turns: The turns taken in this batch.
    ///   - isLast: Whether no other writer has announced itself.
    package mutating func next(turns: Int, isLast: Bool, at now: UInt64) -> Step {
        if let commitsOpenMax, commitTime > 0, now > opened, now - opened > commitsOpenMax * commitTime {
            return .commit
        }
        guard isLast else { return .continue }
        guard commitTime > 0, expectsCrowd, turns < max(last, beforeLast) else { return .commit }
        let end = waitEnd ?? now + commitTime
        waitEnd = end
        return end > now ? .wait(nanoseconds: end - now) : .commit
    }

    /// Notes that the batch was committed.
    package mutating func noteCommit(turns: Int, from start: UInt64, to end: UInt64) {
        (last, beforeLast) = (turns, last)
        lastEnd = end
        let time = min(end > start ? end - start : 0, Self.commitTimeMax)
        commitTime = commitTime == 0 ? time : (commitTime * 7 + time) / 8
    }
}
