import NIOCore
import Synchronization

/// How slow a client may be while a file goes over the wire: who stops reading or sending must not hold a connection for
/// ever.
package struct TransferPace: Hashable, Sendable {
    /// Bytes that have to go over the wire in each interval.
    package var bytesMin: Int
    package var interval: Duration

    package init(bytesMin: Int = 16_384, interval: Duration = .seconds(30)) {
        self.bytesMin = bytesMin
        self.interval = interval
    }

    /// Closes the connection once a transfer is too slow; to be cancelled when the transfer ends.
    func watch(_ progress: TransferProgress, _ channel: any Channel) async {
        var last = progress.count
        while (try? await Task.sleep(for: interval)) != nil {
            let count = progress.count
            guard count - last >= bytesMin else {
                channel.close(promise: nil)
                return
            }
            last = count
        }
    }
}

/// Bytes of one transfer that went over the wire so far.
final class TransferProgress: Sendable {
    private let bytes = Atomic(0)

    var count: Int { bytes.load(ordering: .relaxed) }

    func add(_ count: Int) { bytes.add(count, ordering: .relaxed) }
}
