import Synchronization

/// Holds requests back on this device while the server's wish for quiet is running (B-THR-03).
package final class RetryGate: Sendable {
    private let opens = Mutex(Duration.zero)

    /// Returns the time for which the gate stays closed; nil when it is open.
    func remaining(at now: Duration) -> Duration? {
        let remaining = opens.withLock { $0 } - now
        return remaining > .zero ? remaining : nil
    }

    /// Closes the gate for a while. It never opens earlier than before.
    func close(for wait: Duration, at now: Duration) {
        opens.withLock { $0 = max($0, now + wait) }
    }

    /// Opens the gate: the server's wish for quiet is over.
    private func open() { opens.withLock { $0 = .zero } }

    private struct Key: Hashable {
        var endpoint: String
        var container: String
        var environment: String
        var profile: String
    }

    private static let gates = Mutex<[Key: RetryGate]>([:])

    /// Opens the gates of devices at one cloud, as after the end of a fault that a test injected.
    ///
    /// - Parameters:
    ///   - endpoint: The cloud's address.
    ///   - profile: The profile of the device; nil for all devices.
    package static func openAll(endpoint: String, profile: String? = nil) {
        for (key, gate) in gates.withLock({ $0 })
        where key.endpoint == endpoint && key.profile == profile ?? key.profile {
            gate.open()
        }
    }

    /// The gate of one profile at one container, the same for every `CKContainer` object in the process.
    static func shared(endpoint: String, container: String, environment: String, profile: String) -> RetryGate {
        let key = Key(endpoint: endpoint, container: container, environment: environment, profile: profile)
        return gates.withLock { gates in
            if let gate = gates[key] { return gate }
            let gate = RetryGate()
            gates[key] = gate
            return gate
        }
    }
}
