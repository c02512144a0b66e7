import CloudKitEncryption
import SeededChance
import Testing

@Suite(.timeLimit(.minutes(20))) struct RecoveryKeyTests {
    @Test func `words give the key back, however they are typed`() throws {
        for seed in 0..<200 as Range<UInt64> {
            let key = RecoveryKey(random: Randomness(SplitMix64(seed: seed)))
            #expect(key.words.count == 12)
            #expect(try RecoveryKey(words: key.words.joined(separator: " ")) == key)
            #expect(try RecoveryKey(words: "1. " + key.words.joined(separator: ",\n-").uppercased()) == key)
        }
    }

    @Test func `a known phrase of BIP-39 is accepted, and its neighbours are not`() throws {
        let zeroes = Array(repeating: "abandon", count: 11)
        #expect(try RecoveryKey(words: (zeroes + ["about"]).joined(separator: " ")).words == zeroes + ["about"])
        #expect(throws: RecoveryKeyError.checksum) {
            try RecoveryKey(words: (zeroes + ["abandon"]).joined(separator: " "))
        }
    }

    @Test func `typing errors are reported word by word`() throws {
        let words = "abandn abandon abandon abandon abandon abandon abandon abandon abandon abandon zzzzzz aobut"
        let error = #expect(throws: RecoveryKeyError.self) { try RecoveryKey(words: words) }
        guard case .unknownWords(let unknown) = error else {
            Issue.record("the error does not list unknown words")
            return
        }
        #expect(unknown.map(\.position) == [1, 11, 12])
        #expect(unknown[0].suggestions.first == "abandon")
        #expect(unknown[1].suggestions.isEmpty)
        #expect(unknown[2].suggestions.first == "about")
        #expect(throws: RecoveryKeyError.wordCount(2)) { try RecoveryKey(words: "abandon about") }
    }

    @Test func `the proof says nothing of the key, and the words do not show when printed`() {
        let key = RecoveryKey(random: Randomness(SplitMix64(seed: 1)))
        #expect(key.proof.count == 32)
        #expect("\(key)" == "(recovery key)")
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains("0"))
    }
}
