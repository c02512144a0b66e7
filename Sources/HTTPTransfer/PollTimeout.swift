/// The time for which the loop may sleep when nothing wakes it.
///
/// Network and submissions do wake it. But libcurl has slept, in more than one version, over an answer that it had read
/// already with another one of the same HTTP/2 connection; an occasional check turns a minute of delay into a moment.
struct PollTimeout {
    /// Until a transfer may be overdue, if there is one.
    var look: Duration?
    /// Whether submissions ends the sleep.
    var canBeWoken: Bool
    /// Whether a request is under way that is to be answered soon; a long poll is not.
    var awaitsAnswer: Bool

    /// Never less than 0; part of a millisecond counts as a whole one, so that the loop does not wake too early.
    var milliseconds: Int32 {
        let longest: Int64 = canBeWoken ? (awaitsAnswer ? 500 : 10_000) : 20
        guard let look else { return Int32(longest) }
        let (seconds, attoseconds) = look.components
        let rounded = min(seconds, 60) * 1000 + attoseconds / 1_000_000_000_000_000 + 1
        return Int32(min(max(rounded, 0), longest))
    }
}
