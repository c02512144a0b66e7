import CloudKit
import CloudKitClient
import CloudKitTesting
import FaultyNetwork
import SeededChance
import Synchronization

/// The current quality of one device's network.
final class Weather: Sendable {
    private let state: Mutex<(badness: Double, dice: SplitMix64)>

    init(seed: UInt64) { state = Mutex((0, SplitMix64(seed: seed))) }

    /// - Parameter badness: From 0 to 1: how many requests go wrong.
    func become(_ badness: Double) { state.withLock { $0.badness = badness } }

    /// A network on which requests go wrong in all ways there are.
    func network(_ clock: TestClock) -> FaultyTransport {
        FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock.clientEnvironment) { _ in
            self.state.withLock { state in
                guard Double.random(in: 0..<1, using: &state.dice) < state.badness else { return nil }
                return Self.faults.randomElement(using: &state.dice)
            }
        }
    }

    private static let faults: [NetworkFault] = [
        .unreachable, .requestLost, .answerLost, .answerLost, .doubled, .doubled, .cut(after: 0), .cut(after: 40),
        .cut(after: 400), .refused(status: 429, retryAfter: nil), .refused(status: 503, retryAfter: nil),
        .refused(status: 503, retryAfter: 3), .refused(status: 502, retryAfter: nil),
    ]
}
