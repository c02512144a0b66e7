import OrderedStore
import SeededChance
import Testing

@Suite("Keys", .timeLimit(.minutes(20)))
struct KeyTests {
    /// One element, to be put into keys and taken out again.
    enum Element: Hashable {
        case null
        case bytes(Bytes)
        case string(String)
        case integer(Int64)
        case double(Double)

        static func random(using generator: inout SplitMix64) -> Self {
            switch Int.random(in: 0..<9, using: &generator) {
            case 0: .null
            case 1, 2: .bytes(randomBytes(using: &generator))
            case 3, 4:
                .string(
                    String(decoding: randomBytes(using: &generator).map { $0 % 128 }, as: UTF8.self) + "é\u{10FFFF}")
            case 5, 6: .integer(randomInteger(using: &generator))
            default: .double(randomDouble(using: &generator))
            }
        }

        private static func randomBytes(using generator: inout SplitMix64) -> Bytes {
            let letters: Bytes = [0, 0, 1, 97, 254, 255, 255]
            return (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                letters.randomElement(using: &generator) ?? 0
            }
        }

        private static func randomInteger(using generator: inout SplitMix64) -> Int64 {
            let value = Int64(truncatingIfNeeded: generator.next() >> UInt64.random(in: 0..<64, using: &generator))
            return Bool.random(using: &generator) ? value : 0 &- value
        }

        private static func randomDouble(using generator: inout SplitMix64) -> Double {
            let value = Double(bitPattern: generator.next())
            // Not-a-number equals nothing; a separate test covers it.
            return value.isNaN ? 0 : Bool.random(using: &generator) ? value : value.rounded()
        }

        func precedes(_ other: Element) -> Bool {
            switch (self, other) {
            case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
            case (.string(let left), .string(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
            case (.integer(let left), .integer(let right)): left < right
            case (.double(let left), .double(let right)): left < right
            default: rank < other.rank
            }
        }

        private var rank: Int {
            switch self {
            case .null: 0
            case .bytes: 1
            case .string: 2
            case .integer: 3
            case .double: 4
            }
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `elements come out as they went in, and keys order as elements do`(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var previous: [Element] = []
        for _ in 0..<5000 {
            var elements = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                Element.random(using: &generator)
            }
            // Often the same beginning, so that later elements decide.
            if Bool.random(using: &generator), let first = previous.first { elements[0] = first }
            let key = Self.key(elements)
            #expect(try Self.elements(of: key) == elements, "seed \(seed)")
            let precedes = previous.lexicographicallyPrecedes(elements) { $0.precedes($1) }
            #expect(Self.key(previous).precedes(key) == precedes, "seed \(seed): \(previous) \(elements)")
            previous = elements
        }
    }

    @Test func `integers at every edge keep their order`() throws {
        var integers: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
        for bits in stride(from: Int64(8), to: 64, by: 8) {
            let power = Int64(1) << bits
            integers += [-power - 1, -power, -power + 1, power - 1, power, power + 1]
        }
        integers.sort()
        let keys = integers.map { Self.key([.integer($0)]) }
        for index in 1..<keys.count { #expect(keys[index - 1].precedes(keys[index])) }
        for (integer, key) in zip(integers, keys) {
            var reader = KeyReader(key)
            #expect(try reader.readInteger() == integer)
            #expect(reader.isAtEnd)
        }
    }

    @Test func `doubles keep their order, minus zero is zero, not-a-number comes last`() throws {
        let doubles: [Double] = [
            -.infinity, -.greatestFiniteMagnitude, -1.5, -1, -.leastNonzeroMagnitude, 0, .leastNonzeroMagnitude, 0.1, 1,
            .greatestFiniteMagnitude, .infinity, .nan,
        ]
        let keys = doubles.map { Self.key([.double($0)]) }
        for index in 1..<keys.count { #expect(keys[index - 1].precedes(keys[index])) }
        #expect(Self.key([.double(-0.0)]) == Self.key([.double(0)]))
        #expect(Self.key([.double(-.nan)]) == Self.key([.double(.nan)]))
        var reader = KeyReader(Self.key([.double(.nan)]))
        #expect(try reader.readDouble().isNaN)
    }

    @Test func `a range spans the keys that begin with its elements`() {
        var builder = KeyBuilder()
        builder.append("zone")
        let range = builder.range
        #expect(range.contains(builder.bytes))
        #expect(range.contains(Self.key([.string("zone"), .integer(5)])))
        #expect(range.contains(Self.key([.string("zone"), .bytes([255, 255])])))
        #expect(!range.contains(Self.key([.string("zone2")])))
        #expect(!range.contains(Self.key([.string("zon")])))
        #expect(!range.contains(Self.key([.string("zone\0")])))
    }

    @Test func `the start of a string spans the strings that begin with it`() {
        var builder = KeyBuilder()
        builder.appendStart(of: "ab")
        for string in ["ab", "abc", "ab\0", "ab\u{10FFFF}"] {
            #expect(builder.range.contains(Self.key([.string(string)])))
        }
        for string in ["a", "ac", "b", ""] { #expect(!builder.range.contains(Self.key([.string(string)]))) }
    }

    @Test func `a key continues a prefix, and is read after it`() throws {
        var builder = KeyBuilder(prefix: [9, 9, 9])
        builder.append(7)
        builder.appendNull()
        builder.append("s")
        var reader = KeyReader(builder.bytes, after: 3)
        #expect(reader.kind == .integer)
        #expect(try reader.readInteger() == 7)
        #expect(reader.kind == .null)
        try reader.skip()
        #expect(Array(reader.rest) == [2, 115, 0])
        try reader.skip()
        #expect(reader.kind == nil)
        #expect(reader.isAtEnd)
    }

    @Test func `keys that no builder makes are refused`() {
        let malformed: [Bytes] = [
            [], [0xFF], [0x03], [0x01], [0x02, 97], [0x02, 0xC3, 0x00], [0x02, 0x00, 0xFF], [0x15], [0x15, 0x00],
            [0x16, 0x00, 0x05], [0x13], [0x13, 0xFF], [0x1C, 0xFF, 0, 0, 0, 0, 0, 0, 0],
            [0x0C, 0, 0, 0, 0, 0, 0, 0, 0],
            [0x21, 1, 2, 3],
        ]
        for key in malformed {
            #expect(throws: StoreError.self, "\(key)") {
                var reader = KeyReader(key)
                try reader.skip()
            }
        }
    }

    @Test(arguments: [5, 6] as [UInt64])
    func `random bytes are read without a trap, and a valid key is one that a builder makes`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for _ in 0..<20_000 {
            let codes: Bytes = [0, 1, 2, 0x0C, 0x13, 0x14, 0x15, 0x1C, 0x21, 0xFF]
            let key = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                Bool.random(using: &generator)
                    ? codes.randomElement(using: &generator) ?? 0 : UInt8.random(in: 0...255, using: &generator)
            }
            guard let elements = try? Self.elements(of: key) else { continue }
            let hasOddDouble = elements.contains { element in
                if case .double(let value) = element { value.isNaN || value == 0 } else { false }
            }
            if !hasOddDouble { #expect(Self.key(elements) == key, "seed \(seed)") }
        }
    }

    static func key(_ elements: [Element]) -> Bytes {
        var builder = KeyBuilder()
        for element in elements {
            switch element {
            case .null: builder.appendNull()
            case .bytes(let value): builder.append(value)
            case .string(let value): builder.append(value)
            case .integer(let value): builder.append(value)
            case .double(let value): builder.append(value)
            }
        }
        return builder.bytes
    }

    static func elements(of key: Bytes) throws -> [Element] {
        var reader = KeyReader(key)
        var elements: [Element] = []
        while !reader.isAtEnd {
            switch reader.kind {
            case .bytes: elements.append(.bytes(try reader.readBytes()))
            case .string: elements.append(.string(try reader.readString()))
            case .integer: elements.append(.integer(try reader.readInteger()))
            case .double: elements.append(.double(try reader.readDouble()))
            case .null, nil:
                try reader.readNull()
                elements.append(.null)
            }
        }
        return elements
    }
}
