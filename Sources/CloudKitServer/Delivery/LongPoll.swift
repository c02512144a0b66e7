/// The request of a device for its notifications, from its beginning to its answer.
package struct LongPoll: Sendable {
    let address: LongPollAddress
    /// The position that the device confirms; nil: a web client, which confirms the last answer by asking again.
    let confirmed: String?
    /// The most payloads of the answer.
    let max: Int
    /// The end of the waiting time, by the clock that only runs forward.
    let ends: Duration
    /// The change of the queue that the request has seen.
    var stamp: UInt64
    /// Where the queue has been read to.
    var position: UInt64 = 0
    /// Whether the waiting time is over.
    var isOver = false
}
