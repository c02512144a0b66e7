import OrderedStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension SQLiteStore {
    /// Writes one state of the store into a new file, which is a store with another epoch: after a restore, devices that
    /// saw later states notice it. Reads and writes continue meanwhile.
    ///
    /// - Throws: `unavailable` when there is a file at `target` already, `diskFull`, and the errors of opening a store.
    package func backUp(to target: String) async throws {
        let thread = try BlockingThread.start()
        defer { thread.stop() }
        try await withTaskExecutorPreference(thread) { try Self.backUp(path, to: target) }
    }

    /// Gives the store in a file another epoch, as is right after it was restored from a plain copy.
    ///
    /// Blocks. No process may have the store open.
    package static func renewEpoch(path: String) throws(StoreError) {
        var options = Options()
        options.createsFile = false
        var handle = try Handle(path: path, options: options, role: .writer, partitions: PartitionIDs())
        _ = try handle.prepareFile(createsFile: false)
        try handle.renewEpoch()
    }

    private static func backUp(_ path: String, to target: String) throws(StoreError) {
        if access(target, F_OK) == 0 { throw .fileExists(path: target) }
        let source = try Handle(path: path, options: Options(), role: .backup, partitions: PartitionIDs())
        do throws(StoreError) {
            try source.execute("VACUUM INTO '\(quoted(target))'")
            let copy = try Handle(path: target, options: Options(), role: .backup, partitions: PartitionIDs())
            // This commit syncs the whole file, which copying it did not.
            try copy.renewEpoch()
        } catch {
            for suffix in ["", "-journal", "-wal", "-shm"] { unlink(target + suffix) }
            throw error
        }
    }

    private static func quoted(_ text: String) -> String {
        text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    }
}
