import OrderedStore
import Synchronization

/// A handle that tasks take turns with.
final class Connection: Sendable {
    private let handle: Mutex<Handle>

    init(_ handle: consuming sending Handle) {
        self.handle = Mutex(handle)
    }

    func use<Value: Sendable>(
        _ body: (inout Handle) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try handle.withLock { (handle) throws(StoreError) in try body(&handle) }
    }

    /// Begins a snapshot; it is fixed by the first thing that is read.
    func beginRead() throws(StoreError) -> Int {
        try use { (handle) throws(StoreError) in
            try handle.begin()
            return handle.beginTurn()
        }
    }

    func endRead() {
        handle.withLock { handle in
            handle.endTurn()
            // Nothing was written: how it ends makes no difference.
            handle.rollback()
        }
    }

    func releaseMemory(above bytesMax: Int) -> Bool {
        handle.withLock { $0.releaseMemory(above: bytesMax) }
    }

    func close() {
        handle.withLock { $0.close() }
    }
}

/// One state of the store: of a reader's transaction, or of the writer's with its earlier writes.
struct SQLiteSnapshot: Snapshot {
    let connection: Connection
    /// The turn of the connection that this snapshot lives as long as.
    let turn: Int

    func get(_ key: Bytes, in partition: Partition) throws(StoreError) -> Bytes? {
        try connection.use { (handle) throws(StoreError) in
            try handle.check(turn)
            return try handle.get(key, in: partition)
        }
    }

    func get(_ keys: [Bytes], in partition: Partition) throws(StoreError) -> [Bytes?] {
        try connection.use { (handle) throws(StoreError) in
            try handle.check(turn)
            return try handle.get(keys, in: partition)
        }
    }

    func scan(
        _ range: KeyRange, in partition: Partition, limit: Int, reverse: Bool
    ) throws(StoreError) -> [Entry] {
        try connection.use { (handle) throws(StoreError) in
            try handle.check(turn)
            return try handle.scan(range, in: partition, limit: limit, reverse: reverse)
        }
    }

    func rows(_ range: KeyRange, in partition: Partition, limit: Int) throws(StoreError) -> [RawEntry] {
        try connection.use { (handle) throws(StoreError) in
            try handle.check(turn)
            return try handle.rows(range, in: partition, limit: limit)
        }
    }
}
