import OrderedStore

/// The progress of a compaction.
package struct StoreCompaction: Hashable, Sendable {
    /// Bytes of the file's pages before.
    package var bytesBefore: Int64
    /// Bytes of the file's pages now.
    package var bytesAfter: Int64
    /// Whether the file was written anew: from now on it can be compacted while it is used.
    package var isRewritten: Bool
}

extension SQLiteStore {
    /// Whether the store in a file can be compacted while others use it.
    package static func canCompactLive(path: String) throws(StoreError) -> Bool {
        try open(path).number("PRAGMA auto_vacuum") == incremental
    }

    /// Gives the pages that hold nothing back to the disk, a few at a time; others read and write between.
    ///
    /// Blocks. The file gets smaller when the log is next moved into it as a whole.
    ///
    /// - Parameters:
    ///   - pagesAtOnce: The pages that one transaction moves, which is as long as a writer waits.
    ///   - pause: Called between two transactions.
    /// - Throws: `busy` if others write all the time, and the errors of opening a store.
    package static func compactLive(
        path: String, pagesAtOnce: Int = 128, pause: () -> Void
    ) throws(StoreError) -> StoreCompaction {
        let handle = try open(path)
        let before = try handle.number("PRAGMA page_count")
        var left = try handle.number("PRAGMA freelist_count")
        while left > 0 {
            try handle.execute("PRAGMA incremental_vacuum(\(pagesAtOnce))")
            let now = try handle.number("PRAGMA freelist_count")
            // Others may free pages as fast.
            guard now < left else { break }
            left = now
            pause()
        }
        let after = try handle.number("PRAGMA page_count")
        return StoreCompaction(
            bytesBefore: before * Int64(Format.pageBytes), bytesAfter: after * Int64(Format.pageBytes),
            isRewritten: false)
    }

    /// Writes the file anew without the pages that hold nothing, in a form that can be compacted while it is used.
    ///
    /// Blocks. No process may have the store open. It takes as much space again as the store has, until it is done; a crash leaves the store as it was.
    package static func rewrite(path: String) throws(StoreError) -> StoreCompaction {
        let handle = try open(path)
        let before = try handle.number("PRAGMA page_count")
        try handle.execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
        let after = try handle.number("PRAGMA page_count")
        return StoreCompaction(
            bytesBefore: before * Int64(Format.pageBytes), bytesAfter: after * Int64(Format.pageBytes),
            isRewritten: true)
    }

    private static let incremental: Int64 = 2

    private static func open(_ path: String) throws(StoreError) -> Handle {
        var options = Options()
        options.createsFile = false
        var handle = try Handle(path: path, options: options, role: .writer, partitions: PartitionIDs())
        _ = try handle.prepareFile(createsFile: false)
        return handle
    }
}
