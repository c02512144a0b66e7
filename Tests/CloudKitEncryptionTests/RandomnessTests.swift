import CloudKitEncryption
import SeededChance
import Testing

@Suite(.timeLimit(.minutes(20))) struct RandomnessTests {
    @Test func `bytes that are drawn at once are given out once each, and others follow`() {
        let all = Randomness(SplitMix64(seed: 3)).bytes(36)
        let source = Randomness(SplitMix64(seed: 3)).drawing(ahead: 36)
        let given = [source.bytes(12), source.bytes(12), source.bytes(12)]
        #expect(given.flatMap(\.self) == all)
        let more = source.bytes(12)
        #expect(more.count == 12)
        #expect(!given.contains(more))
    }

    @Test func `the system's bytes differ, also beyond what one call of it gives`() {
        let source = Randomness.system.drawing(ahead: 12 * 1_000)
        let nonces = (0..<1_000).map { _ in source.bytes(12) }
        #expect(nonces.allSatisfy { $0.count == 12 })
        #expect(Set(nonces).count == nonces.count)
    }
}
