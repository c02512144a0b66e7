import HummingbirdCore
import NIOCore

/// The body of a request that has not arrived as a whole: parts wait for the request's task, and the connection is not read on
/// while many do.
struct BodyStream {
    private typealias Producer = NIOThrowingAsyncSequenceProducer<
        ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Delegate
    >

    /// Tells the connection when the task has taken enough parts.
    private struct Delegate: NIOAsyncSequenceProducerDelegate {
        var onDemand: @Sendable () -> Void

        func produceMore() { onDemand() }
        func didTerminate() { onDemand() }
    }

    /// The body as the request's task reads it.
    let body: RequestBody
    private let source: Producer.Source

    /// - Parameter onDemand: Called, on any thread, when further parts are wanted after `add` has returned false.
    init(onDemand: @escaping @Sendable () -> Void) {
        let made = Producer.makeSequence(
            elementType: ByteBuffer.self, failureType: (any Error).self,
            backPressureStrategy: NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark(
                lowWatermark: 2, highWatermark: 10),
            finishOnDeinit: false, delegate: Delegate(onDemand: onDemand))
        body = RequestBody(asyncSequence: made.sequence)
        source = made.source
    }

    /// Adds a part.
    ///
    /// - Returns: Whether further parts are wanted now. Those of a body that nobody reads are, to be dropped.
    func add(_ part: ByteBuffer) -> Bool {
        if case .stopProducing = source.yield(part) { return false }
        return true
    }

    /// Ends the body.
    func finish() { source.finish() }

    /// Ends the body before its end.
    func fail(_ error: any Error) { source.finish(error) }
}
