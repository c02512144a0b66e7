import CloudKitModel
import OrderedStore

/// The words of texts that are about to be saved or replaced, found before the transaction: finding them inside would hold up the
/// writers behind it.
///
/// A text that the transaction finds different from the prepared one is looked through there.
package struct PreparedWords: Sendable {
    private struct Text: Hashable {
        var recordName: String
        var field: String
    }

    private struct Words {
        var json: Bytes
        var words: Set<String>
        /// The beginning of a text as the entry of its value holds it; nil for a list.
        var beginning: String?
    }

    private var texts: [Text: [Words]] = [:]

    /// Texts up to so many bytes are looked through inside the transaction.
    private static let shortBytesMax = 128

    /// Creates a value without words.
    package init() {}

    /// Whether no text was prepared.
    package var isEmpty: Bool { texts.isEmpty }

    /// Finds the words of a field of a record, unless it is short.
    ///
    /// - Returns: The number of its words; 0 for a short field or one without text.
    /// - Throws: `internalError` if the field cannot be read.
    @discardableResult
    package mutating func add(_ field: Field, of recordName: String) throws -> Int {
        guard field.type.base == .string, !field.type.isEncrypted, field.json.count > Self.shortBytesMax else {
            return 0
        }
        let value = try field.value()
        let words = value.indexedWords
        var beginning: String?
        if case .string(let text) = value { beginning = FoldedText.indexed(text).text }
        texts[Text(recordName: recordName, field: field.name), default: []].append(
            Words(json: field.json, words: words, beginning: beginning))
        return words.count
    }

    /// Returns how many words two prepared texts share; 0 where one of them was not prepared.
    package func commonCount(_ one: Field, _ other: Field, of recordName: String) -> Int {
        guard let one = words(of: one, recordName: recordName), let other = words(of: other, recordName: recordName)
        else { return 0 }
        return one.intersection(other).count
    }

    /// Returns the words of a field; nil where this very text was not prepared.
    func words(of field: Field, recordName: String) -> Set<String>? { prepared(field, recordName)?.words }

    /// Returns the beginning of a text as the entry of its value holds it; nil where this very text was not prepared.
    func beginning(of field: Field, recordName: String) -> String? { prepared(field, recordName)?.beginning }

    private func prepared(_ field: Field, _ recordName: String) -> Words? {
        if texts.isEmpty { return nil }
        return texts[Text(recordName: recordName, field: field.name)]?.first { $0.json == field.json }
    }
}

extension FieldValue {
    /// The parts of the value's words that index entries hold.
    var indexedWords: Set<String> {
        Set(words(max: TextTokens.indexedWordsMax).map { TextTokens.indexed($0) })
    }
}
