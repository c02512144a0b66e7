import OrderedStore
import SeededChance
import Testing

@Suite("Sorted map", .timeLimit(.minutes(20)))
struct SortedMapTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `random operations agree with a dictionary`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var map = SortedMap<Int>()
        var model: [Bytes: Int] = [:]
        for step in 0..<6000 {
            let key = Self.key(&generator)
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<70:
                map[key] = step
                model[key] = step
            case 70..<98:
                map[key] = nil
                model[key] = nil
            default:
                let range = KeyRange(lower: key, upper: Self.key(&generator))
                map.removeAll(in: range)
                model = model.filter { !range.contains($0.key) }
            }
            #expect(map.count == model.count)
            if step % 50 == 0 { Self.compare(map, model, &generator) }
        }
    }

    @Test func `many entries, in order and at random, agree with a sorted list`() {
        var generator = SplitMix64(seed: 4)
        var map = SortedMap<Int>()
        // In order, so that runs are full; then between them, so that they are divided.
        let numbers = Array(0..<40_000) + (0..<20_000).map { _ in Int.random(in: 0..<40_000, using: &generator) }
        func key(_ number: Int, _ suffix: [UInt8] = []) -> Bytes { [UInt8(number >> 8), UInt8(number & 255)] + suffix }
        var keys: Set<Bytes> = []
        for (index, number) in numbers.enumerated() {
            let key = key(number, index < 40_000 ? [] : [UInt8(index & 3)])
            map[key] = index
            keys.insert(key)
        }
        let sorted = keys.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(map.count == sorted.count)
        #expect(map.entries(in: KeyRange(lower: [0], upper: [255])).map(\.key) == sorted)
        #expect(
            map.entries(in: KeyRange(lower: [0], upper: [255]), limit: 9, reverse: true).map(\.key)
                == Array(sorted.reversed().prefix(9)))
        for _ in 0..<200 {
            let lower = Int.random(in: 0..<sorted.count, using: &generator)
            let upper = min(lower + Int.random(in: 0..<20_000, using: &generator), sorted.count - 1)
            let range = KeyRange(lower: sorted[lower], upper: sorted[upper])
            #expect(map.holdsKey(in: range) == (lower < upper))
            #expect(map.entries(in: range, limit: 5).map(\.key) == Array(sorted[lower..<upper].prefix(5)))
            #expect(
                map.entries(in: range, limit: 5, reverse: true).map(\.key)
                    == Array(sorted[lower..<upper].reversed().prefix(5)))
        }
        let copy = map
        map.removeAll(in: KeyRange(lower: sorted[100], upper: sorted[sorted.count - 100]))
        #expect(map.count == 200 && copy.count == sorted.count)
        #expect(
            map.entries(in: KeyRange(lower: [0], upper: [255])).map(\.key)
                == Array(sorted.prefix(100) + sorted.suffix(100)))
        for key in sorted { map[key] = nil }
        #expect(map.isEmpty && map.entries(in: KeyRange(lower: [0], upper: [255])).isEmpty)
    }

    @Test func `keys from the last to the first with long beginnings in common agree with a sorted list`() {
        var map = SortedMap<Int>()
        let beginnings: [Bytes] = [
            [], [0], Bytes(repeating: 7, count: 20), Bytes(repeating: 7, count: 27), [7, 7], [255],
        ]
        let keys = beginnings.flatMap { beginning in
            (0..<12_000).map { beginning + [UInt8($0 >> 8), UInt8($0 & 255)] + Bytes(repeating: 0, count: $0 % 9) }
        }
        let sorted = Set(keys).sorted { $0.lexicographicallyPrecedes($1) }
        for (index, key) in sorted.enumerated().reversed() { map[key] = index }
        #expect(map.count == sorted.count)
        #expect(map.entries(in: KeyRange(lower: [], upper: [255, 255])).map(\.key) == sorted)
        for (index, key) in sorted.enumerated() { #expect(map[key] == index) }
        // Neighbours that are not there.
        for key in sorted where map[key + [1]] != nil { #expect(sorted.contains(key + [1])) }
        for index in stride(from: 0, to: sorted.count, by: 997) {
            let range = KeyRange(lower: sorted[index] + [0], upper: [255, 255])
            #expect(map.entries(in: range, limit: 1).first?.key == (index + 1 < sorted.count ? sorted[index + 1] : nil))
        }
    }

    @Test func `a copy keeps its content`() {
        var map = SortedMap<Int>()
        for index in 0..<1000 { map[[UInt8(index / 256), UInt8(index % 256)]] = index }
        let copy = map
        map.removeAll(in: KeyRange(lower: [0], upper: [9]))
        #expect(map.isEmpty)
        #expect(copy.count == 1000)
        #expect(copy[[3, 231]] == 999)
    }

    private static func compare(_ map: SortedMap<Int>, _ model: [Bytes: Int], _ generator: inout SplitMix64) {
        let range = KeyRange(lower: key(&generator), upper: key(&generator))
        let expected = model.filter { range.contains($0.key) }.map(\.key).sorted { $0.lexicographicallyPrecedes($1) }
        #expect(map.entries(in: range).map(\.key) == expected)
        #expect(map.entries(in: range, reverse: true).map(\.key) == expected.reversed())
        #expect(map.entries(in: range, limit: 3).map(\.key) == Array(expected.prefix(3)))
        #expect(map.entries(in: range, limit: 3, reverse: true).map(\.key) == Array(expected.reversed().prefix(3)))
        #expect(map.holdsKey(in: range) == !expected.isEmpty)
        for (key, value) in model.prefix(20) { #expect(map[key] == value) }
        var previous: Bytes?
        map.visit { key, value in
            #expect(previous?.precedes(key) ?? true)
            #expect(model[key] == value)
            previous = key
        }
    }

    private static func key(_ generator: inout SplitMix64) -> Bytes {
        (0..<Int.random(in: 1...2, using: &generator)).map { _ in UInt8.random(in: 0...60, using: &generator) }
    }
}
