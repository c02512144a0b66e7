import Synchronization

/// Sums up how much of each record's files has been sent or fetched.
final class TransferProgressCounter: Sendable {
    private struct Sum {
        var total: Int64 = 0
        var done: [Int: Int64] = [:]
    }

    private let sums = Mutex<[Int: Sum]>([:])

    /// Notes that a file of a record has so many bytes to go.
    func expect(_ bytes: Int64, ofRecord record: Int) {
        sums.withLock { $0[record, default: Sum()].total += bytes }
    }

    /// Records the progress of a file.
    ///
    /// - Returns: From 0 to 1 for the record as a whole; nil at the end, which the caller reports when the record is
    ///   complete.
    func note(_ bytes: Int64, ofFile file: Int, ofRecord record: Int) -> Double? {
        sums.withLock { sums in
            sums[record, default: Sum()].done[file] = bytes
            guard let sum = sums[record], sum.total > 0 else { return nil }
            let fraction = Double(sum.done.values.reduce(0, +)) / Double(sum.total)
            return fraction < 1 ? fraction : nil
        }
    }
}
