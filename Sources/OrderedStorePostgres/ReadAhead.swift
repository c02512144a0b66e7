import OrderedStore
import Synchronization

/// The values of a few keys in one state of a partition, and nothing else of it.
final class ReadAhead: Snapshot {
    private let partition: Partition
    private let values: [Bytes: Bytes?]
    private let misses = Atomic<Int>(0)

    /// More keys are read in a transaction.
    static let keysMax = 16

    /// - Parameter found: The rows under the keys. A damaged one is left to the reader, whom a transaction tells so.
    init(_ keys: [Bytes], of partition: Partition, found: [RawEntry]) {
        self.partition = partition
        var values: [Bytes: Bytes?] = [:]
        for key in keys { values[key] = .some(nil) }
        for entry in found { values[entry.key] = entry.value.map { .some($0) } }
        self.values = values
    }

    /// Whether something was read that is not here.
    var isIncomplete: Bool { misses.load(ordering: .relaxed) > 0 }

    func get(_ key: Bytes, in partition: Partition) throws(StoreError) -> Bytes? {
        guard partition == self.partition, let value = values[key] else { throw miss() }
        return value
    }

    func get(_ keys: [Bytes], in partition: Partition) throws(StoreError) -> [Bytes?] {
        var found: [Bytes?] = []
        for key in keys { found.append(try get(key, in: partition)) }
        return found
    }

    func scan(_ range: KeyRange, in partition: Partition, limit: Int, reverse: Bool) throws(StoreError) -> [Entry] {
        throw miss()
    }

    func rows(_ range: KeyRange, in partition: Partition, limit: Int) throws(StoreError) -> [RawEntry] {
        throw miss()
    }

    /// Ends the body, which is run again.
    private func miss() -> StoreError {
        misses.add(1, ordering: .relaxed)
        return .transactionEnded
    }
}
