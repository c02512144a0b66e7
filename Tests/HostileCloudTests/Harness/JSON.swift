import JSONBytes

/// A JSON value whose keys keep their order, since readers of answers rely on it.
indirect enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number as it was written.
    case number(String)
    case string(String)
    case array([JSON])
    case object([Pair])

    struct Pair: Hashable, Sendable {
        var key: String
        var value: JSON
    }

    /// Reads a document; nil if it is none.
    init?(_ bytes: [UInt8]) {
        guard let value = try? withJSON(bytes, { try JSON(&$0) }) else { return nil }
        self = value
    }

    private init(_ reader: inout JSONReader) throws {
        switch try reader.peekKind() {
        case .null:
            try reader.skipValue()
            self = .null
        case .true, .false: self = .bool(try reader.bool())
        case .number: self = .number(String(decoding: try reader.rawValue(), as: UTF8.self))
        case .string: self = .string(try reader.string())
        case .array:
            var items: [JSON] = []
            try reader.array { items.append(try JSON(&$0)) }
            self = .array(items)
        case .object:
            var pairs: [Pair] = []
            try reader.object { reader, key in
                let name = key.string
                pairs.append(Pair(key: name, value: try JSON(&reader)))
            }
            self = .object(pairs)
        }
    }

    /// The document.
    var bytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    private func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .number(let text): writer.raw(Array(text.utf8))
        case .string(let text): writer.string(text)
        case .array(let items): writer.array { writer in for item in items { item.write(to: &writer) } }
        case .object(let pairs):
            writer.object { writer in
                for pair in pairs {
                    writer.key(pair.key)
                    pair.value.write(to: &writer)
                }
            }
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .number(String(value)) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Pair(key: $0, value: $1) })
    }
    init(base64 bytes: [UInt8]) { self = .string(Base64Text.encode(bytes)) }
    init(_ number: Int) { self = .number(String(number)) }
}

extension JSON {
    /// A value of an object; nil: there is none. Assigning nil removes it.
    subscript(key: String) -> JSON? {
        get {
            guard case .object(let pairs) = self else { return nil }
            return pairs.first { $0.key == key }?.value
        }
        set {
            guard case .object(var pairs) = self else { return }
            if let index = pairs.firstIndex(where: { $0.key == key }) {
                if let newValue { pairs[index].value = newValue } else { pairs.remove(at: index) }
            } else if let newValue {
                pairs.append(Pair(key: key, value: newValue))
            }
            self = .object(pairs)
        }
    }

    /// A value further down; nil: there is none.
    subscript(first: String, second: String, rest: String...) -> JSON? {
        get { rest.reduce(self[first]?[second]) { $0?[$1] } }
        set {
            let path = [second] + rest
            var child = self[first] ?? .object([])
            child.set(newValue, at: path[...])
            self[first] = child
        }
    }

    private mutating func set(_ value: JSON?, at path: ArraySlice<String>) {
        guard let key = path.first else { return }
        guard path.count > 1 else {
            self[key] = value
            return
        }
        var child = self[key] ?? .object([])
        child.set(value, at: path.dropFirst())
        self[key] = child
    }

    var text: String? { if case .string(let text) = self { text } else { nil } }
    var int: Int? { if case .number(let text) = self { Int(text) } else { nil } }
    var items: [JSON]? { if case .array(let items) = self { items } else { nil } }
    var pairs: [Pair]? { if case .object(let pairs) = self { pairs } else { nil } }
    /// The bytes of a text in base64; nil if it is none.
    var base64: [UInt8]? { text.flatMap(Base64Text.decode) }

    /// Changes every object, the inner ones first.
    mutating func mutateObjects(_ body: (inout JSON) -> Void) {
        switch self {
        case .array(var items):
            for index in items.indices { items[index].mutateObjects(body) }
            self = .array(items)
        case .object(var pairs):
            for index in pairs.indices { pairs[index].value.mutateObjects(body) }
            self = .object(pairs)
            body(&self)
        default: break
        }
    }

    /// Visits every value, itself first.
    func visit(_ body: (JSON) -> Void) {
        body(self)
        switch self {
        case .array(let items): for item in items { item.visit(body) }
        case .object(let pairs): for pair in pairs { pair.value.visit(body) }
        default: break
        }
    }

    /// Changes the items of a list.
    mutating func mutateItems(of key: String, _ body: (inout [JSON]) -> Void) {
        var items = self[key]?.items ?? []
        body(&items)
        self[key] = .array(items)
    }

    /// Changes every record of an answer or a request, those of shares included.
    mutating func mutateRecords(_ body: (inout JSON) -> Void) {
        mutateObjects { object in if object.isRecord { body(&object) } }
    }

    /// Changes a record by name, wherever it is.
    mutating func mutateRecord(_ name: String, _ body: (inout JSON) -> Void) {
        mutateRecords { if $0.recordName == name { body(&$0) } }
    }

    var isRecord: Bool { self["recordName"]?.text != nil && self["recordType"]?.text != nil && self["fields"] != nil }
    var recordName: String? { self["recordName"]?.text }

    /// Every record in it.
    var records: [JSON] {
        var records: [JSON] = []
        visit { if $0.isRecord { records.append($0) } }
        return records
    }

    /// Every text in it.
    var texts: [String] {
        var texts: [String] = []
        visit { if let text = $0.text { texts.append(text) } }
        return texts
    }
}
