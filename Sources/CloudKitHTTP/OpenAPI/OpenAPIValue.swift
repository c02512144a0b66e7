import Foundation

/// A JSON value of the document.
indirect enum OpenAPIValue: Sendable {
    case text(String)
    case flag(Bool)
    case list([OpenAPIValue])
    case object([(key: String, value: OpenAPIValue)])

    /// Creates an object of the keys that have a value.
    init(_ members: (String, OpenAPIValue?)...) {
        self = .object(members.compactMap { key, value in value.map { (key, $0) } })
    }

    /// Bytes of the value as a document, keys in alphabetical order.
    var bytes: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(self))
        }
    }
}

extension OpenAPIValue: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    init(stringLiteral text: String) { self = .text(text) }

    init(dictionaryLiteral members: (String, OpenAPIValue)...) {
        self = .object(members.map { (key: $0.0, value: $0.1) })
    }

    init(arrayLiteral items: OpenAPIValue...) { self = .list(items) }
}

extension OpenAPIValue: Encodable {
    private struct MemberKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .text(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .flag(let flag):
            var container = encoder.singleValueContainer()
            try container.encode(flag)
        case .list(let items):
            var container = encoder.unkeyedContainer()
            for item in items { try container.encode(item) }
        case .object(let members):
            var container = encoder.container(keyedBy: MemberKey.self)
            for (key, value) in members { try container.encode(value, forKey: MemberKey(key)) }
        }
    }
}
