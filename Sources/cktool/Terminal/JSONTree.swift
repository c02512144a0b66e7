import Foundation

/// A JSON value, whole numbers apart from others.
enum JSONTree: Hashable, Sendable {
    case null
    case flag(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([JSONTree])
    case object([String: JSONTree])

    /// Reads a document.
    init(decoding bytes: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(JSONTree.self, from: Data(bytes))
    }

    /// The bytes of the value as a document.
    var bytes: [UInt8] {
        get throws { Array(try JSONEncoder().encode(self)) }
    }

    /// The value of a key; nil for a missing or null one, and for what is no object.
    subscript(key: String) -> JSONTree? {
        guard case .object(let members) = self, let value = members[key], value != .null else { return nil }
        return value
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var list: [JSONTree]? { if case .list(let items) = self { items } else { nil } }
    var object: [String: JSONTree]? { if case .object(let members) = self { members } else { nil } }
    var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    var flag: Bool? { if case .flag(let value) = self { value } else { nil } }
}

extension JSONTree: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([JSONTree].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let flag): try container.encode(flag)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        case .object(let members): try container.encode(members)
        }
    }
}

extension JSONTree: ExpressibleByStringLiteral {
    init(stringLiteral text: String) { self = .text(text) }
}
