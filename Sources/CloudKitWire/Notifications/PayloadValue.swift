import CloudKitModel
import JSONBytes

/// A payload taken apart: JSON of any shape.
package indirect enum PayloadValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case text(String)
    case list([PayloadValue])
    case object([String: PayloadValue])

    /// - Throws: `internalError` if the bytes are no JSON.
    package init(payload bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answer(bytes) { try PayloadValue(try $0.value()) }
    }

    private init(_ value: JSONValue) throws {
        switch value.kind {
        case .null: self = .null
        case .false: self = .bool(false)
        case .true: self = .bool(true)
        case .string: self = .text(value.text?.string ?? "")
        case .number:
            guard let number = value.number else { throw RequestFailure.unexpectedInput }
            self = number.int64.map(PayloadValue.int) ?? .double(number.double ?? 0)
        case .array:
            var elements: [PayloadValue] = []
            var reader = value.reader
            try reader.array { elements.append(try PayloadValue(try $0.value())) }
            self = .list(elements)
        case .object:
            var members: [String: PayloadValue] = [:]
            var reader = value.reader
            try reader.object { reader, key in
                let name = key.string
                members[name] = try PayloadValue(try reader.value())
            }
            self = .object(members)
        }
    }
}
