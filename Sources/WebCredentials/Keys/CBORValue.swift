/// A value of CBOR (RFC 8949) as authenticators send them: definite lengths, no tags, no floating-point numbers.
package enum CBORValue: Hashable, Sendable {
    case unsigned(UInt64)
    /// −1 − the number.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    case map([CBORValue: CBORValue])
    case boolean(Bool)
    case null

    /// The integer; nil for other kinds, and for one that does not fit.
    package var integer: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    /// The bytes of a byte string; nil for other kinds.
    package var byteString: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// Returns the value under a key of a map; nil for other kinds.
    package subscript(_ key: CBORValue) -> CBORValue? { if case .map(let map) = self { map[key] } else { nil } }
    /// Returns the value under a number of a map; nil for other kinds.
    package subscript(_ key: Int) -> CBORValue? {
        self[key >= 0 ? .unsigned(UInt64(key)) : .negative(UInt64(-1 - key))]
    }

    /// Reads a value with which the bytes end.
    ///
    /// - Throws: `CredentialError.malformed`.
    package init(_ bytes: [UInt8]) throws(CredentialError) {
        var reader = CBORReader(bytes[...])
        self = try reader.value()
        guard reader.rest.isEmpty else { throw .malformed("bytes behind a value") }
    }
}

/// Reads values of CBOR; no value has more items than the input has bytes, and none is nested deeper than `depthMax`.
struct CBORReader {
    /// The bytes that were not read yet.
    private(set) var rest: ArraySlice<UInt8>

    private static let depthMax = 8

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Reads the next value.
    mutating func value(depth: Int = 0) throws(CredentialError) -> CBORValue {
        guard depth <= Self.depthMax else { throw .malformed("nested too deep") }
        let first = try take(1)[0]
        switch first >> 5 {
        case 0: return .unsigned(try argument(first))
        case 1: return .negative(try argument(first))
        case 2: return .bytes(try take(try count(first)))
        case 3:
            guard let text = String(validating: try take(try count(first)), as: UTF8.self) else {
                throw .malformed("text that is no UTF-8")
            }
            return .text(text)
        case 4:
            var items: [CBORValue] = []
            for _ in 0..<(try count(first)) { items.append(try value(depth: depth + 1)) }
            return .array(items)
        case 5:
            var map: [CBORValue: CBORValue] = [:]
            for _ in 0..<(try count(first)) {
                let key = try value(depth: depth + 1)
                guard map.updateValue(try value(depth: depth + 1), forKey: key) == nil else {
                    throw .malformed("a key that occurs twice")
                }
            }
            return .map(map)
        case 7 where first == 0xF4: return .boolean(false)
        case 7 where first == 0xF5: return .boolean(true)
        case 7 where first == 0xF6: return .null
        default: throw .malformed("a value of another kind")
        }
    }

    private mutating func count(_ first: UInt8) throws(CredentialError) -> Int {
        let value = try argument(first)
        guard value <= UInt64(rest.count) else { throw .malformed("cut") }
        return Int(value)
    }

    private mutating func argument(_ first: UInt8) throws(CredentialError) -> UInt64 {
        let low = first & 0x1F
        guard low >= 24 else { return UInt64(low) }
        guard low <= 27 else { throw .malformed("an indefinite length") }
        return try take(1 << (low - 24)).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func take(_ count: Int) throws(CredentialError) -> [UInt8] {
        guard count <= rest.count else { throw .malformed("cut") }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
