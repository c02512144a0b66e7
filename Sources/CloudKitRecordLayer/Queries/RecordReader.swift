import OrderedStore

/// Reads the records that index entries name, a bounded number of bytes at a time.
struct RecordReader {
    private let view: ReadTransaction
    private let zone: UInt32
    private let damaged: DamagedRecords
    private(set) var bytesRead = 0
    private var recordsRead = 0

    private static let batchBytes = 1 << 20
    /// Few, so that what is read at once stays small even where large records follow many small ones.
    private static let batchMax = 16
    private static let firstBatch = 16

    init(_ view: ReadTransaction, zone: UInt32, damaged: DamagedRecords) {
        self.view = view
        self.zone = zone
        self.damaged = damaged
    }

    /// The number of records to read at once: by the size of those read so far.
    var batchSize: Int {
        if recordsRead == 0 { return Self.firstBatch }
        let average = max(1, bytesRead / recordsRead)
        return min(max(Self.batchBytes / average, 4), Self.batchMax)
    }

    /// The records under `names`, in their order; nil where there is none or it is damaged.
    mutating func read(_ names: [String]) async throws -> [StoredRecord?] {
        let (records, byteCount) = try await view.storedRecords(zone: zone, names: names, damaged: damaged)
        recordsRead += names.count
        bytesRead += byteCount
        return records
    }
}
