import TextEncodings

/// The address of a page of the Console: its path and query, with every text from outside percent-encoded.
struct Address: Hashable, Sendable {
    /// Begins with the path of the Console.
    let text: String

    /// The path of the Console.
    static let root = "/console"

    /// Creates an address below the Console.
    ///
    /// - Parameters:
    ///   - segments: The path's parts.
    ///   - query: Names and values; those without a value are left out.
    init(_ segments: String..., query: KeyValuePairs<String, String?> = [:]) {
        self.init(segments: segments, query: query.map { ($0.key, $0.value) })
    }

    /// Creates an address below the Console.
    init(segments: [String], query: [(name: String, value: String?)] = []) {
        var text = Self.root
        for segment in segments { text += "/" + segment.percentEncoded }
        let pairs = query.compactMap { name, value in value.map { "\(name.percentEncoded)=\($0.percentEncoded)" } }
        if !pairs.isEmpty { text += "?" + pairs.joined(separator: "&") }
        self.text = text
    }

    /// Creates the address that a request asked for, to come back to it later.
    ///
    /// - Returns: nil for an address outside of the Console.
    init?(requested target: String) {
        let path = target.prefix { $0 != "?" }
        guard target.utf8.count <= 2000, path == Self.root || path.hasPrefix(Self.root + "/"),
            !path.contains("//"), !path.contains("\\"), !path.split(separator: "/").contains(".."),
            target.utf8.allSatisfy({ (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "<") }
            )
        else { return nil }
        text = target
    }
}
