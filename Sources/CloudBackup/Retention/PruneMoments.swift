/// Removes moments and the chunks that no other moment needs.
package struct PruneMoments {
    private let backup: BackupFolder

    /// The outcome of a removal.
    package struct Outcome: Hashable, Sendable {
        /// The moments that were removed, the oldest first.
        package var moments: [String] = []
        /// The chunks that were removed.
        package var chunks = 0
        /// Their bytes.
        package var bytes: Int64 = 0
    }

    /// Creates the operation on a backup that was opened with `begin`.
    package init(_ backup: BackupFolder) { self.backup = backup }

    /// Keeps the newest moments and removes the others.
    ///
    /// - Parameter count: The moments to keep, at least 1.
    /// - Throws: `damaged` if what a kept moment needs cannot be read: then no chunk is removed; and the errors of the disk.
    package func run(keeping count: Int) throws -> Outcome {
        let names = try backup.momentNames()
        let old = names.dropLast(max(1, count))
        if old.isEmpty, !backup.isUnfinished { return Outcome() }
        // Before anything is removed: a list that cannot be read would leave chunks without protection.
        _ = try usedChunks(of: Array(names.suffix(max(1, count))))
        try backup.beginChange()
        for name in old { try backup.removeManifest(name) }
        var outcome = try removeUnusedChunks()
        outcome.moments = Array(old)
        try backup.endChange()
        return outcome
    }

    /// Removes the chunks that no moment names, as a moment that was cut off leaves them.
    func removeUnusedChunks() throws -> Outcome {
        let (count, bytes) = try backup.removeChunks(except: usedChunks(of: backup.momentNames()))
        return Outcome(chunks: count, bytes: bytes)
    }

    private func usedChunks(of names: [String]) throws -> Set<ChunkID> {
        var used: Set<ChunkID> = []
        var listings: Set<BackupContent> = []
        func use(_ content: BackupContent) throws {
            used.formUnion(content.lists ?? [])
            used.formUnion(try backup.ids(of: content))
        }
        for name in names {
            let manifest = try backup.manifest(name)
            for content in [manifest.store] + manifest.files.map(\.content) { try use(content) }
            for listing in manifest.folders.values where listings.insert(listing).inserted {
                try use(listing)
                for file in try backup.files(listing) { try use(file.content) }
            }
        }
        return used
    }
}
