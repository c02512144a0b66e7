import OrderedStore

/// One state of a store as the bytes of a file, for a copy.
package struct StoreState {
    /// The state's number, epoch and mark.
    package let inspection: StoreInspection
    private let image: StateImage

    fileprivate init(_ inspection: StoreInspection, _ image: StateImage) {
        self.inspection = inspection
        self.image = image
    }

    /// The bytes of the file.
    package var byteCount: Int64 { Int64(image.pageCount) * Int64(Format.pageBytes) }

    /// Returns the bytes from an offset on.
    ///
    /// - Parameters:
    ///   - offset: A multiple of the size of a page, 8 KiB.
    ///   - count: A multiple of the size of a page, within the file.
    package func bytes(at offset: Int64, count: Int) throws(StoreError) -> Bytes {
        try image.pages(from: Int(offset) / Format.pageBytes, count: count / Format.pageBytes)
    }
}

extension SQLiteStore {
    /// Reads one state of the store in a file, as the file would be if nothing had been written since; other connections and processes go on reading and writing.
    ///
    /// Blocks. Until `body` returns, the log of the store cannot start over, and grows with each commit.
    ///
    /// - Parameter body: Gets the state, which is good until it returns.
    package static func withState<Value>(path: String, _ body: (StoreState) throws -> Value) throws -> Value {
        let partitions = PartitionIDs()
        var handle = try Handle(path: path, options: Options(), role: .backup, partitions: partitions)
        guard try handle.isOurs() else { throw StoreError.notAStore(path: path) }
        try handle.begin()
        defer { handle.rollback() }
        // The first read takes the lock of readers.
        let identity = try handle.identity()
        partitions.salt = identity.salt
        let mark = try handle.get(ServedMark.key, in: ServedMark.partition).map(ServedMark.mark) ?? 0
        let inspection = StoreInspection(storeID: identity.salt, epoch: identity.epoch, servedMark: mark)
        return try body(StoreState(inspection, StateImage(handle)))
    }
}
