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
