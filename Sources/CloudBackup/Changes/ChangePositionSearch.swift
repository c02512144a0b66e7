import Foundation

/// Finds the place of a moment among the changes that are sent while it is taken. For one thread.
package final class ChangePositionSearch {
    private let stream: ChangeStream
    private let now: () -> Int64
    private let before: ChangeStream.Status
    private var chosen: Int64?
    private var through: Int?

    /// How long to wait for changes that were committed before the state was chosen, in milliseconds.
    private static let waitMax: Int64 = 120_000

    /// Begins before the state is chosen: what the stream has sent by now is in it.
    package init(_ stream: ChangeStream, now: @escaping () -> Int64) {
        self.stream = stream
        self.now = now
        before = stream.status
    }

    /// Called as soon as the state is chosen.
    package func stateChosen() { chosen = now() }

    /// Called now and then: the sooner the stream is seen to have sent all that is in the state, the fewer segments have to be applied.
    package func look() {
        guard through == nil, let chosen else { return }
        let status = stream.status
        if status.time > chosen { through = status.number }
    }

    /// Returns the place, when the stream has sent all that is in the state.
    ///
    /// - Throws: `unavailable` if it does not, `CancellationError`.
    package func found(isCancelled: () -> Bool) throws -> ChangePosition {
        let start = now()
        while through == nil {
            look()
            if isCancelled() { throw CancellationError() }
            if stream.status.isBroken || now() - start > Self.waitMax {
                throw BackupError(
                    .unavailable, reason: "the changes beside the moment could not be sent",
                    remedy: "check the place of the backup; a new series of changes begins by itself")
            }
            if through == nil { usleep(10_000) }
        }
        return ChangePosition(
            series: stream.series, after: before.number, through: through ?? before.number, digest: before.digest)
    }
}
