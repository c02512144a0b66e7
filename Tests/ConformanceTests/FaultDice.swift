import FaultyNetwork
import SeededChance
import Synchronization

/// Says which requests go wrong, and how; the same for the same seed.
final class FaultDice: Sendable {
    private let faults: [NetworkFault]
    private let generator: Mutex<SplitMix64>
    private let oneIn: Int

    /// - Parameter oneIn: How rare a fault is.
    init(seed: UInt64, faults: [NetworkFault], oneIn: Int) {
        self.faults = faults
        self.oneIn = oneIn
        generator = Mutex(SplitMix64(seed: seed))
    }

    func roll() -> NetworkFault? {
        generator.withLock { generator in
            guard Int.random(in: 0..<oneIn, using: &generator) == 0 else { return nil }
            return faults.randomElement(using: &generator)
        }
    }
}
