import Foundation

/// One case of `vectors.json`: its inputs, what comes out, and whether it must open.
///
/// The file is for clients in other languages too: docs/encryption.md says what each section holds, script/check-vectors
/// recomputes it without this code.
struct Vector: Codable, Equatable {
    var name: String
    /// False: a client has to refuse it.
    var opens = true
    var texts: [String: String] = [:]
    var numbers: [String: UInt64] = [:]
    /// Hexadecimal.
    var bytes: [String: String] = [:]

    init(
        _ name: String, texts: [String: String] = [:], numbers: [String: UInt64] = [:], bytes: [String: [UInt8]] = [:]
    ) {
        self.name = name
        self.texts = texts
        self.numbers = numbers
        self.bytes = bytes.mapValues(\.hex)
    }

    /// The same with something changed, so that it must not open.
    func refused(_ name: String, _ change: (inout Vector) throws -> Void) rethrows -> Vector {
        var vector = self
        vector.name = name
        vector.opens = false
        try change(&vector)
        return vector
    }

    mutating func flip(_ key: String, at index: Int) throws {
        var changed = try bytes(key)
        changed[index] ^= 1
        bytes[key] = changed.hex
    }

    func text(_ key: String) throws -> String { try found(texts[key]) }
    func number(_ key: String) throws -> UInt32 { try found(numbers[key].map(UInt32.init)) }
    func bytes(_ key: String) throws -> [UInt8] { try found(bytes[key].flatMap([UInt8].init(hex:))) }

    private func found<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw CocoaError(.keyValueValidation) }
        return value
    }
}

extension [UInt8] {
    var hex: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }

    init?(hex: String) {
        let digits = [Character](hex)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(digits[index...index + 1]), radix: 16) else { return nil }
            bytes.append(byte)
        }
        self = bytes
    }
}

/// Sections of vectors, in the file next to this one.
typealias VectorCollection = [String: [Vector]]

enum VectorFile {
    private static var url: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("vectors.json")
    }

    static func read() throws -> VectorCollection {
        try JSONDecoder().decode(VectorCollection.self, from: Data(contentsOf: url))
    }

    static func write(_ book: VectorCollection) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(book) + Data("\n".utf8)).write(to: url)
    }
}
