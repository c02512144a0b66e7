import CloudKitAccounts
import CloudKitDevice
import CloudKitServer
import FileStore
import Foundation
import OrderedStore
import Synchronization

/// The state of a test cloud that outlives its server: the store, the secret, the devices' files and the address.
package struct CloudStorage: Sendable {
    package let store: MemoryStore
    let files: any FileStore
    package let serverEnvironment: ServerEnvironment
    /// The folder of the devices' files.
    let dataHome: String
    package let address = ServerAddress()

    /// Creates empty storage.
    ///
    /// - Parameters:
    ///   - now: The cloud's clock, milliseconds since 1970.
    ///   - files: The store for the bytes of assets; nil for memory.
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

/// The address on which a cloud's server listens. The port may change at a restart; the cloud's devices look it up here, so that
/// the address in their configuration stays valid.
package final class ServerAddress: Sendable {
    private struct State {
        var first: Int?
        var current: Int?
    }

    private let state = Mutex(State())

    /// The port of the first start.
    package var firstPort: Int? { state.withLock { $0.first } }

    /// Sets the current port.
    ///
    /// - Parameter port: nil if the server does not run.
    func set(_ port: Int?) {
        state.withLock { state in
            state.first = state.first ?? port
            state.current = port
        }
    }

    /// Returns a URL of this cloud with the current port; nil while the server does not run.
    ///
    /// An outdated port could belong to the cloud of another test.
    func current(_ url: URL) -> URL? {
        guard let port = state.withLock({ $0.current }),
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        else { return nil }
        parts.port = port
        return parts.url
    }
}
