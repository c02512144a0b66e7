import CloudKitAccounts
import CloudKitDevice
import CloudKitServer
import FileStore
import Foundation
import OrderedStore
import Synchronization

/// What a test's cloud has that outlives its server: data, secret, what devices keep, and where it is reached.
package struct CloudHoldings: Sendable {
    package let store: MemoryStore
    let files: any FileStore
    package let serverEnvironment: ServerEnvironment
    /// Holds everything that devices keep.
    let dataHome: String
    package let address = ServerAddress()

    /// - Parameters:
    ///   - now: The cloud's clock, milliseconds since 1970.
    ///   - files: Holds the bytes of assets; nil: in memory.
    package init(now: @escaping @Sendable () -> Int64, files: (any FileStore)? = nil) throws {
        store = MemoryStore(epoch: .random(in: 1 ... .max))
        self.files = files ?? MemoryFileStore(now: now)
        serverEnvironment = ServerEnvironment(secret: ServerEnvironment.systemRandom(32), now: now)
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-testing-\(UUID().uuidString)")
        dataHome = folder.path(percentEncoded: false)
        try PrivateFile.makeFolder(dataHome)
    }

    init(_ clock: TestClock) throws { try self.init(now: { clock.milliseconds }) }

    func discard() { try? FileManager.default.removeItem(atPath: dataHome) }
}

/// Where the server of a cloud listens. After a restart that may be another port; the cloud's devices find it here, so that the
/// address with which they were set up stays good.
package final class ServerAddress: Sendable {
    private struct State {
        var first: Int?
        var current: Int?
    }

    private let state = Mutex(State())

    /// The port of the first start.
    package var firstPort: Int? { state.withLock { $0.first } }

    /// - Parameter port: nil: the server does not run.
    func set(_ port: Int?) {
        state.withLock { state in
            state.first = state.first ?? port
            state.current = port
        }
    }

    /// A URL of this cloud as it is good now; nil: nobody is there.
    ///
    /// Without this a port that is no longer ours could be that of another test.
    func current(_ url: URL) -> URL? {
        guard let port = state.withLock({ $0.current }),
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        else { return nil }
        parts.port = port
        return parts.url
    }
}
