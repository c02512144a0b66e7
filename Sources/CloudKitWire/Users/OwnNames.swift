/// Replaces the name of the user who asks in an answer of documented web services by `__defaultOwner__`, as our own surface prints it
/// (B-ZN-03, B-USR-04): that of a zone's owner, and that of a record's creator and last modifier.
///
/// Works on the bytes of the answer: a key is a text before a colon, so no value of a field is mistaken for one.
package struct OwnNames: Sendable {
    private let names: [[UInt8]]

    /// - Parameter caller: The record name of the user who asks; nil for none.
    package init(caller: String?) {
        // The public database's default zone has this owner (docs/web-services.md §3.1).
        names = ([caller, "_defaultOwner"] as [String?]).compactMap { $0.map { Array($0.utf8) } }
    }

    private static let own = Array("__defaultOwner__".utf8)
    private static let owner = Array("ownerRecordName".utf8)
    private static let user = Array("userRecordName".utf8)
    private static let stamps = [Array("created".utf8), Array("modified".utf8)]
    private static let quote = UInt8(ascii: "\"")

    /// Returns the answer with the names replaced.
    package func replaced(in body: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var copied = 0
        var index = 0
        var isInStamp = false
        while index < body.count {
            if body[index] == UInt8(ascii: "}") { isInStamp = false }
            guard body[index] == Self.quote else {
                index += 1
                continue
            }
            let end = Self.end(ofTextAt: index, in: body)
            let key = body[(index + 1)..<max(index + 1, end - 1)]
            index = end
            guard let value = Self.value(after: end, in: body) else { continue }
            if body[value] == UInt8(ascii: "{") {
                isInStamp = Self.stamps.contains { key.elementsEqual($0) }
                continue
            }
            guard body[value] == Self.quote, key.elementsEqual(Self.owner) || isInStamp && key.elementsEqual(Self.user)
            else { continue }
            index = Self.end(ofTextAt: value, in: body)
            let name = body[(value + 1)..<max(value + 1, index - 1)]
            guard names.contains(where: { name.elementsEqual($0) }) else { continue }
            output += body[copied...value]
            output += Self.own
            copied = index - 1
        }
        if copied == 0 { return body }
        output += body[copied...]
        return output
    }

    /// Returns the index behind the text that begins at an index.
    private static func end(ofTextAt start: Int, in body: [UInt8]) -> Int {
        var index = start + 1
        while index < body.count, body[index] != quote { index += body[index] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(index + 1, body.count)
    }

    /// Returns the index of the value behind the colon after a key; nil where no colon follows.
    private static func value(after end: Int, in body: [UInt8]) -> Int? {
        guard let colon = next(end, in: body), body[colon] == UInt8(ascii: ":") else { return nil }
        return next(colon + 1, in: body)
    }

    private static func next(_ start: Int, in body: [UInt8]) -> Int? {
        body[min(start, body.count)...].firstIndex { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    }
}
