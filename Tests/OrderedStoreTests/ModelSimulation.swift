import OrderedStore
import SeededChance
import Synchronization
import Testing

/// Random transactions on a store and on dictionaries, which must agree at every read.
struct ModelSimulation {
    private typealias Model = [Partition: [Bytes: Bytes]]

    private enum Action: Sendable {
        case set(Bytes, Bytes, Partition)
        case clear(Bytes, Partition)
        case clearRange(KeyRange, Partition)
        case get([Bytes], Partition)
        case scan(KeyRange, Int, Bool, Partition)
    }

    private let seed: UInt64
    private var generator: SplitMix64
    private var model: Model = [:]
    private let partitions = [home, other, Partition("third")]

    init(seed: UInt64) {
        self.seed = seed
        generator = SplitMix64(seed: seed)
    }

    /// One transaction, which gives up at its end now and then.
    mutating func step(_ store: any OrderedStore) async throws {
        let named = Array(partitions.shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator)))
        let actions = (0..<Int.random(in: 1...20, using: &generator)).map { _ in action(named) }
        // Some that are read, some that are not.
        let expected = ExpectedReads(
            keys: actions.compactMap { if case .get(let keys, named[0]) = $0 { keys[0] } else { nil } } + [key()],
            ranges: actions.compactMap { if case .scan(let range, _, _, named[0]) = $0 { range } else { nil } })
        let givesUp = Int.random(in: 0..<5, using: &generator) == 0
        let before = model
        let seed = seed
        let after = Mutex<Model?>(nil)
        do {
            try await WriteTurn.$expectedReads.withValue(expected) {
                try await store.write(named) { transaction in
                    var model = before
                    for action in actions {
                        try await Self.run(action, on: &transaction, &model, seed: seed)
                    }
                    let result = model
                    after.withLock { $0 = result }
                    if givesUp { throw Refusal() }
                }
            }
            model = after.withLock { $0 } ?? [:]
        } catch is Refusal {}
    }

    /// The whole content.
    func audit(_ store: any OrderedStore) async throws {
        for partition in partitions {
            let expected = Self.scan(everything, .max, false, model[partition] ?? [:])
            let found = try await store.all(in: partition)
            #expect(found == expected, "seed \(seed), \(partition)")
            let keys = expected.map(\.key)
            let values = try await store.read(partition) { try await $0.get(keys) }
            #expect(values == expected.map(\.value), "seed \(seed), \(partition)")
        }
    }

    private static func run(
        _ action: Action, on transaction: inout WriteTransaction, _ model: inout Model, seed: UInt64
    ) async throws {
        switch action {
        case .set(let key, let value, let partition):
            try transaction.set(key, value, in: partition)
            model[partition, default: [:]][key] = value
        case .clear(let key, let partition):
            try transaction.clear(key, in: partition)
            model[partition]?[key] = nil
        case .clearRange(let range, let partition):
            try transaction.clear(range, in: partition)
            model[partition] = model[partition]?.filter { !range.contains($0.key) }
        case .get(let keys, let partition):
            let found = try await transaction.get(keys, in: partition)
            #expect(found == keys.map { model[partition]?[$0] }, "seed \(seed)")
            #expect(try await transaction.get(keys[0], in: partition) == found[0], "seed \(seed)")
        case .scan(let range, let limit, let reverse, let partition):
            let found = try await transaction.scan(range, in: partition, limit: limit, reverse: reverse)
            #expect(found == scan(range, limit, reverse, model[partition] ?? [:]), "seed \(seed)")
        }
    }

    private static func scan(_ range: KeyRange, _ limit: Int, _ reverse: Bool, _ content: [Bytes: Bytes]) -> [Entry] {
        let entries = content.filter { range.contains($0.key) }
            .map { Entry(key: $0.key, value: $0.value) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
        return Array((reverse ? entries.reversed() : entries).prefix(limit))
    }

    private mutating func action(_ named: [Partition]) -> Action {
        // One of `named`, which is not empty.
        let partition = named.randomElement(using: &generator) ?? home
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<9: return .set(key(), value(), partition)
        case 9..<12: return .clear(key(), partition)
        case 12..<14: return .clearRange(range(), partition)
        case 14..<17: return .get((0...Int.random(in: 0..<4, using: &generator)).map { _ in key() }, partition)
        default:
            let limit = Bool.random(using: &generator) ? Int.random(in: 1...6, using: &generator) : .max
            return .scan(range(), limit, Bool.random(using: &generator), partition)
        }
    }

    /// Short, of few different bytes, so that keys meet and are prefixes of one another.
    private mutating func key() -> Bytes {
        let letters: Bytes = [0, 1, 97, 254, 255]
        return (0..<Int.random(in: 0...3, using: &generator)).map { _ in letters.randomElement(using: &generator) ?? 0 }
    }

    private mutating func range() -> KeyRange {
        KeyRange(lower: key(), upper: key())
    }

    /// Of every size that an engine might keep in its own way.
    private mutating func value() -> Bytes {
        let sizes = [0, 1, 30, 199, 200, 201, 1000, 5000, 40_000]
        let size = sizes.randomElement(using: &generator) ?? 0
        return Bytes(repeating: UInt8.random(in: 0...255, using: &generator), count: size)
    }
}
