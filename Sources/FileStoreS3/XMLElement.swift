/// An element of a service's answer: its name, and its text or the elements in it. Attributes are not kept.
struct XMLElement: Hashable {
    let name: String
    private(set) var text = ""
    private(set) var children: [XMLElement] = []

    private static let depthMax = 16
    private static let elementsMax = 100_000

    /// Returns the text of the first element of a name in this one; nil if there is none.
    func text(_ name: String) -> String? { children.first { $0.name == name }?.text }

    /// Returns the elements of a name in this one.
    func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

    /// Reads a document; nil if it is none, has a document type, or is larger than an answer can be.
    static func read(_ bytes: [UInt8]) -> XMLElement? {
        var open: [XMLElement] = []
        var count = 0
        var rest = bytes[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            guard let text = decoded(rest[..<start]) else { return nil }
            if !open.isEmpty { open[open.count - 1].text += text }
            guard let end = rest[start...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
            var tag = rest[(start + 1)..<end]
            rest = rest[(end + 1)...]
            guard let first = tag.first else { return nil }
            if first == UInt8(ascii: "?") { continue }
            // Comments, document types, character data: no service sends them.
            if first == UInt8(ascii: "!") { return nil }
            if first == UInt8(ascii: "/") {
                guard var closed = open.popLast(), closed.name.utf8.elementsEqual(tag.dropFirst().filter { $0 > 32 })
                else { return nil }
                if !closed.children.isEmpty { closed.text = "" }
                if open.isEmpty { return closed }
                open[open.count - 1].children.append(closed)
                continue
            }
            let isEmpty = tag.last == UInt8(ascii: "/")
            if isEmpty { tag = tag.dropLast() }
            count += 1
            guard count <= elementsMax, open.count < depthMax else { return nil }
            let element = XMLElement(name: String(decoding: tag.prefix { $0 > 32 }, as: UTF8.self))
            if !isEmpty {
                open.append(element)
            } else if open.isEmpty {
                return element
            } else {
                open[open.count - 1].children.append(element)
            }
        }
        return nil
    }

    private init(name: String) { self.name = name }

    /// Replaces the five references that XML has by itself, and numbers of characters.
    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains("&") else { return text }
        var found = ""
        var rest = text[...]
        while let start = rest.firstIndex(of: "&") {
            found += rest[..<start]
            guard let end = rest[start...].firstIndex(of: ";") else { return nil }
            let name = rest[rest.index(after: start)..<end]
            switch name {
            case "amp": found += "&"
            case "lt": found += "<"
            case "gt": found += ">"
            case "quot": found += "\""
            case "apos": found += "'"
            default:
                let isHexadecimal = name.hasPrefix("#x")
                guard name.hasPrefix("#"),
                    let number = UInt32(name.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10),
                    let scalar = Unicode.Scalar(number)
                else { return nil }
                found.unicodeScalars.append(scalar)
            }
            rest = rest[rest.index(after: end)...]
        }
        return found + rest
    }
}
