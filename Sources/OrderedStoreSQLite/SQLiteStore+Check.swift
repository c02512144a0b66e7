import OrderedStore

extension SQLiteStore {
    /// Returns the names of all partitions in the file.
    package func partitionNames() async throws -> [String] {
        try await reading { (handle) throws(StoreError) in
            try handle.texts("SELECT name FROM partitions ORDER BY name", max: .max)
        }
    }

    /// Lets SQLite check the structure of its file.
    ///
    /// - Returns: The problems that it found, at most 100.
    package func integrityProblems() async throws -> [String] {
        try await reading { (handle) throws(StoreError) in
            try handle.texts("PRAGMA integrity_check(100)", max: 100)
        }.filter { $0 != "ok" }
    }

    private func reading<Value: Sendable>(
        _ body: @Sendable (inout Handle) throws(StoreError) -> Value
    ) async throws -> Value {
        let thread = try BlockingThread.start()
        defer { thread.stop() }
        let connection = Connection(
            try Handle(path: path, options: Options(), role: .backup, partitions: partitions))
        return try await withTaskExecutorPreference(thread) {
            defer { connection.close() }
            return try connection.use(body)
        }
    }
}
