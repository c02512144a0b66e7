/// When the writer commits the open batch, judged by how long commits take and how many shared the last ones.
///
/// A commit waits for the disk once, however many share it, and those who were answered together come back together. Left alone,
/// the first to come back would be committed by itself, then all others in one batch: half of the syncs for one write each.
/// So a batch that nobody else has announced themselves for rests for those who were in the last ones, at most as long as
/// one commit takes: it never costs more than what it may save. And a batch that others keep joining is committed once it
/// has been open for `commitsOpenMax` times that long: those in it get their answers while the next batch is filled.
/// Who writes alone never waits, nor do a few: beside one client something of the cloud's own may write now and then.
struct CommitPace {
    enum Step: Equatable {
        /// Others have announced themselves: one of them will commit.
        case goOn
        /// Commit unless somebody comes within so many nanoseconds.
        case rest(nanoseconds: UInt64)
        case commit
    }

    /// Nanoseconds, over the last commits; 0 before the first. Those of a disk that hangs count as 20 ms: nobody rests longer.
    private(set) var commitTime: UInt64 = 0
    /// The writes of the last commit and of the one before it.
    private var (last, beforeLast) = (0, 0)
    private var opened: UInt64 = 0
    private var restEnd: UInt64?

    private static let commitsOpenMax: UInt64 = 3
    /// Fewer that shared a commit are not waited for.
    private static let crowdMin = 4
    private static let commitTimeMax: UInt64 = 20_000_000

    /// A batch was opened.
    ///
    /// - Parameter now: Nanoseconds of a clock that is never set back.
    mutating func open(at now: UInt64) {
        opened = now
        restEnd = nil
    }

    /// Somebody had their turn in the open batch.
    ///
    /// - Parameters:
    ///   - turns: How many had theirs in this batch.
    ///   - isLast: Whether nobody else has announced themselves.
    mutating func next(turns: Int, isLast: Bool, at now: UInt64) -> Step {
        if commitTime > 0, now > opened, now - opened > Self.commitsOpenMax * commitTime { return .commit }
        guard isLast else { return .goOn }
        let expected = max(last, beforeLast)
        guard commitTime > 0, turns < expected, expected >= Self.crowdMin else { return .commit }
        let end = restEnd ?? now + commitTime
        restEnd = end
        return end > now ? .rest(nanoseconds: end - now) : .commit
    }

    /// The batch was committed.
    mutating func noteCommit(turns: Int, from start: UInt64, to end: UInt64) {
        (last, beforeLast) = (turns, last)
        let time = min(end > start ? end - start : 0, Self.commitTimeMax)
        commitTime = commitTime == 0 ? time : (commitTime * 7 + time) / 8
    }
}
