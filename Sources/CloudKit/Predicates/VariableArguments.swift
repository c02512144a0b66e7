import Foundation

/// Takes the arguments of a format out of a C argument list.
///
/// Swift cannot read such a list itself, so C prints it: addresses for objects, whole numbers, and doubles in
/// hexadecimal, which loses nothing. As in C, a list that does not fit its format is the caller's bug.
enum VariableArguments {
    static func values(for format: String, in list: CVaListPointer) -> [Any?] {
        var tokens = PredicateTokens(format)
        // A format that cannot be read is reported by the parser.
        guard let all = try? tokens.all() else { return [] }
        let letters = all.compactMap { if case .placeholder(let letter) = $0.kind { letter } else { nil } }
        guard !letters.isEmpty else { return [] }
        let words = print(letters.map(conversion).joined(separator: " "), list).split(separator: " ")
        return zip(letters, words).map { value(String($1), $0) }
    }

    private static func conversion(_ letter: Character) -> String {
        switch letter {
        case "d": "%ld"
        case "i", "c": "%d"
        case "f": "%a"
        default: "%p"
        }
    }

    private static func print(_ format: String, _ list: CVaListPointer) -> String {
        // A word takes 24 characters at most, so one call is enough: the list can be walked only once.
        var buffer = [CChar](repeating: 0, count: 32 * format.utf8.count)
        let length = vsnprintf(&buffer, buffer.count, format, list)
        guard length > 0 else { return "" }
        return String(decoding: buffer.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func value(_ word: String, _ letter: Character) -> Any? {
        switch letter {
        case "d", "i", "c": return Int(word)
        case "f": return Double(word)
        default:
            guard let address = UInt(word.dropFirst(2), radix: 16), let pointer = UnsafeRawPointer(bitPattern: address)
            else { return nil }
            if letter == "s" { return String(cString: pointer.assumingMemoryBound(to: CChar.self)) }
            // The list holds the address of an object that its maker keeps alive.
            return Unmanaged<NSObject>.fromOpaque(pointer).takeUnretainedValue()
        }
    }
}
