@_spi(_Unicode) import Swift

/// The words of a text for full-text search: without case, accents and stop words (B-QRY-08, B-QRY-09).
///
/// A word is a run of letters and digits. Scripts written without spaces have no such runs: each Han or Kana character
/// is a word.
enum TextTokens {
    /// Bytes of UTF-8 that an index entry holds of a word; the record is checked for the rest.
    static let indexedBytesMax = 64

    /// The different words of a field that have index entries, the first ones: a text of a megabyte must not take the writer as long as a
    /// hundred records do.
    static let indexedWordsMax = 10_000

    static let stopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
        "with",
    ]

    /// The distinct words of a text.
    static func words(of text: String) -> Set<String> {
        var words: Set<String> = []
        add(wordsOf: text, to: &words)
        return words
    }

    /// Adds the words of a text until there are `wordsMax`.
    static func add(wordsOf text: String, to words: inout Set<String>, wordsMax: Int = .max) {
        var text = text
        let isDone = text.withUTF8 { addASCII(wordsOf: $0, to: &words, wordsMax: wordsMax) }
        if isDone { return }
        var word = String.UnicodeScalarView()
        func finish(_ word: inout String.UnicodeScalarView) {
            defer { word.removeAll(keepingCapacity: true) }
            let whole = String(word)
            if !whole.isEmpty, !stopWords.contains(whole) { words.insert(whole) }
        }
        for scalar in text._nfd {
            if words.count >= wordsMax { return }
            switch place(of: scalar) {
            case .inside: fold(scalar, into: &word)
            case .mark: continue
            case .alone:
                finish(&word)
                word.append(scalar)
                finish(&word)
            case .between: finish(&word)
            }
        }
        if words.count < wordsMax { finish(&word) }
    }

    /// Most texts are plain ASCII, where a byte is a character and nothing is to be decomposed; false for any other.
    private static func addASCII(
        wordsOf text: UnsafeBufferPointer<UInt8>, to words: inout Set<String>, wordsMax: Int
    ) -> Bool {
        guard text.allSatisfy({ $0 < 0x80 }) else { return false }
        func folded(_ byte: UInt8) -> UInt8 { 0x41...0x5A ~= byte ? byte | 0x20 : byte }
        // Where the text has had words, by their hashes: a word that comes again needs no string.
        var places = [Range<Int>](repeating: 0..<0, count: text.count > shortTextBytesMax ? 256 : 0)
        var start = 0
        var hash: UInt64 = 0
        func finish(at end: Int) {
            let place = start..<end
            let slot = Int(hash >> 56)
            (start, hash) = (end + 1, 0)
            if place.isEmpty { return }
            if !places.isEmpty {
                let last = places[slot]
                if last.count == place.count,
                    zip(last, place).allSatisfy({ folded(text[$0]) == folded(text[$1]) })
                {
                    return
                }
                places[slot] = place
            }
            let word = String(unsafeUninitializedCapacity: place.count) { bytes in
                for (offset, position) in place.enumerated() { bytes[offset] = folded(text[position]) }
                return place.count
            }
            if place.count > stopWordBytesMax || !stopWords.contains(word) { words.insert(word) }
        }
        for position in text.indices {
            let byte = folded(text[position])
            switch byte {
            case 0x30...0x39, 0x61...0x7A: hash = (hash ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15
            default:
                finish(at: position)
                if words.count >= wordsMax { return true }
            }
        }
        finish(at: text.count)
        return true
    }

    private static let stopWordBytesMax = stopWords.map(\.utf8.count).max() ?? 0
    /// Few words of texts up to this size come again.
    private static let shortTextBytesMax = 256

    /// Returns the part of a word that an index entry holds.
    static func indexed(_ word: String) -> String {
        guard word.utf8.count > indexedBytesMax else { return word }
        var end = word.utf8.index(word.startIndex, offsetBy: indexedBytesMax)
        while String.Index(end, within: word.unicodeScalars) == nil { end = word.utf8.index(before: end) }
        return String(word.unicodeScalars[..<end])
    }

    private enum Place {
        case inside, mark, alone, between
    }

    private static func place(of scalar: Unicode.Scalar) -> Place {
        if scalar.isASCII {
            return switch scalar.value {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: .inside
            default: .between
            }
        }
        switch scalar.value {
        case 0x3040...0x30FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF, 0x20000...0x3FFFF: return .alone
        default: break
        }
        let properties = scalar.properties
        if properties.generalCategory == .nonspacingMark { return .mark }
        return properties.isAlphabetic || properties.numericType != nil ? .inside : .between
    }

    private static func fold(_ scalar: Unicode.Scalar, into word: inout String.UnicodeScalarView) {
        if scalar.isASCII {
            word.append(0x41...0x5A ~= scalar.value ? Unicode.Scalar(UInt8(scalar.value) | 0x20) : scalar)
        } else {
            word.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
        }
    }
}
