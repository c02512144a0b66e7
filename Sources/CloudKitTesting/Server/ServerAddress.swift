import Foundation
import Synchronization

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
    package func current(_ url: URL) -> URL? {
        guard let port = state.withLock({ $0.current }),
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        else { return nil }
        parts.port = port
        return parts.url
    }
}
