import SeededChance

/// Random choices of one subject of a history, which those of others do not change.
final class Chance: Sendable {
    private let generator: Shared<SplitMix64>

    /// - Parameter subject: The number of the subject; each has its own sequence.
    init(seed: UInt64, subject: UInt64) {
        generator = Shared(SplitMix64(seed: seed &* 0x9E37_79B9 &+ subject &* 0x1_0000_0001))
        for _ in 0..<3 { _ = generator.value.next() }
    }

    func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator.value) }

    /// Returns true with a probability in percent.
    func percent(_ probability: Int) -> Bool { number(0..<100) < probability }

    /// Returns one of the elements; nil of none.
    func one<Element>(of elements: [Element]) -> Element? { elements.randomElement(using: &generator.value) }

    /// Returns some elements in random order.
    func some<Element>(_ count: Int, of elements: [Element]) -> [Element] {
        Array(elements.shuffled(using: &generator.value).prefix(count))
    }
}
