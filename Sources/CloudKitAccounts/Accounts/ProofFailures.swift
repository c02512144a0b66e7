import CloudKitRecordLayer

/// The times of the wrong proofs of one counter, as they are stored: milliseconds since 1970, 8 bytes each, big-endian.
///
/// They lie under the counter's kind and keyed hashes of the e-mail address and the network address, so that the store names neither.
struct ProofFailures: RowValue {
    var times: [Int64]

    init(times: [Int64]) { self.times = times }

    init(rowBytes bytes: [UInt8]) {
        times = stride(from: 0, to: bytes.count - bytes.count % 8, by: 8).map { start in
            Int64(bitPattern: bytes[start..<(start + 8)].reduce(0) { $0 << 8 | UInt64($1) })
        }
    }

    func rowBytes() -> [UInt8] {
        times.flatMap { time in (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) } }
    }

    static let table = RowTable<OwnedRowKey, ProofFailures>("proof-failures")
}

extension SignInThrottle.Key {
    /// The key of the counter's row.
    var rowKey: OwnedRowKey { OwnedRowKey(owner: kind.rawValue, name: id) }
}
