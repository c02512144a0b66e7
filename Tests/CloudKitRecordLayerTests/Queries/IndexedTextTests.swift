import SeededChance
import Testing

@testable import CloudKitRecordLayer

@Suite(.timeLimit(.minutes(20))) struct IndexedTextTests {
    @Test func `B-QRY-07 folding ignores case and spelling, not accents`() {
        #expect(FoldedText.fold("Blue") == FoldedText.fold("bLUE"))
        #expect(FoldedText.fold("CAF\u{C9}") == FoldedText.fold("cafe\u{301}"))
        #expect(FoldedText.fold("café") != FoldedText.fold("cafe"))
        #expect(FoldedText.decomposed("caf\u{E9}") == FoldedText.decomposed("cafe\u{301}"))
        #expect(FoldedText.decomposed("A") != FoldedText.decomposed("a"))
    }

    @Test func `the folding of a prefix is a prefix of the folding`() {
        for text in ["Straße ΣΑΣ", "İstanbul", "Ǆ ﬁ Å", "กำ", "한국어", "ÉTUDE no. 5"] {
            let whole = FoldedText.fold(text)
            let decomposed = FoldedText.decomposed(text)
            var scalars = String.UnicodeScalarView()
            for scalar in String(decoding: decomposed, as: UTF8.self).unicodeScalars {
                scalars.append(scalar)
                #expect(whole.starts(with: FoldedText.fold(String(scalars))))
            }
        }
    }

    @Test func `an entry holds whole scalars of at most 256 bytes`() {
        for length in 250...260 {
            let (text, isWhole) = FoldedText.indexed(String(repeating: "a", count: length) + "ééé漢字漢字")
            #expect(text.utf8.count <= 256 && text.utf8.count > 252 || isWhole)
            #expect(!text.unicodeScalars.contains("\u{FFFD}"))
        }
    }

    @Test func `B-QRY-08 words have neither case nor accents`() {
        #expect(TextTokens.words(of: "Crème BRÛLÉE, twice: crème-brulee!") == ["creme", "brulee", "twice"])
        #expect(TextTokens.words(of: "iOS18 costs 3,50") == ["ios18", "costs", "3", "50"])
        #expect(TextTokens.words(of: "東京 タワー") == ["東", "京", "タ", "ワ", "ー"])
        #expect(TextTokens.words(of: "") == [])
    }

    @Test func `B-QRY-09 stop words are no words`() {
        #expect(TextTokens.words(of: "The Wind in the Willows") == ["wind", "willows"])
        #expect(TextTokens.stopWords.count == 33)
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `B-QRY-08 words that come again in a long text, in any case, are found once`(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        let letters = Array("abcDEF019z")
        let vocabulary =
            (0..<Int.random(in: 1...400, using: &chance)).map { _ in
                String((0..<Int.random(in: 1...9, using: &chance)).map { _ in letters.randomElement(using: &chance)! })
            } + ["the", "Their", "AND"]
        let text = (0..<Int.random(in: 1...600, using: &chance)).map { _ in
            let word = vocabulary.randomElement(using: &chance)!
            let separator = [" ", ", ", "-", "\n"].randomElement(using: &chance)!
            return (Bool.random(using: &chance) ? word.uppercased() : word) + separator
        }.joined()
        // A text that is not ASCII is looked through scalar by scalar.
        #expect(TextTokens.words(of: text) == TextTokens.words(of: text + "—"))
        var first: Set<String> = []
        TextTokens.add(wordsOf: text, to: &first, wordsMax: 5)
        #expect(first.count <= 5 && first.isSubset(of: TextTokens.words(of: text)))
    }

    @Test func `B-QRY-10 cells cover their circle`() {
        var chance = SplitMix64(seed: 5)
        for _ in 0..<4000 {
            let center = Place(
                latitude: .random(in: -90...90, using: &chance), longitude: .random(in: -180...180, using: &chance))
            let distance =
                Double.random(in: 0...1, using: &chance) * [1, 1000, 100_000, 9_000_000].randomElement(using: &chance)!
            let ranges = GridCode.ranges(around: center, within: distance)
            let degrees = distance / 111_000
            let other = Place(
                latitude: max(-90, min(90, center.latitude + .random(in: -degrees...degrees, using: &chance))),
                longitude: wrapped(center.longitude + .random(in: -4 * degrees...4 * degrees, using: &chance)))
            if other.distance(to: center) < distance {
                let code = GridCode.code(of: other)
                #expect(ranges.contains { $0.contains(code) }, "\(center) \(other) \(distance)")
            }
        }
    }

    private func wrapped(_ longitude: Double) -> Double {
        let rest = (longitude + 180).truncatingRemainder(dividingBy: 360)
        return (rest < 0 ? rest + 360 : rest) - 180
    }
}
