import OrderedStore

/// Reads the records that index entries name, a bounded number of bytes at a time.
struct RecordReader {
    private let view: ReadTransaction
    private let zone: UInt32
    private(set) var bytesRead = 0
    private var recordsRead = 0

    private static let batchBytes = 1 << 20
    /// Few, so that what is read at once stays small even where large records follow many small ones.
    private static let batchMax = 16
    private static let firstBatch = 16

    init(_ view: ReadTransaction, zone: UInt32) {
        self.view = view
        self.zone = zone
    }

    /// The number of records to read at once: by the size of those read so far.
    var batchSize: Int {
        if recordsRead == 0 { return Self.firstBatch }
        let average = max(1, bytesRead / recordsRead)
        return min(max(Self.batchBytes / average, 4), Self.batchMax)
    }

    /// The records under `names`, in their order; nil where there is none.
    mutating func read(_ names: [String]) async throws -> [StoredRecord?] {
        let values = try await view.get(names.map { StoredRecord.key(zone: zone, name: $0) })
        var records: [StoredRecord?] = []
        records.reserveCapacity(names.count)
        for (name, value) in zip(names, values) {
            recordsRead += 1
            bytesRead += value?.count ?? 0
            records.append(try value.map { try StoredRecord(name: name, decoding: $0) })
        }
        return records
    }
}
