/// Removes moments and the chunks that no other moment needs.
package struct PruneMoments {
    private let backup: Backup

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
    package init(_ backup: Backup) { self.backup = backup }

    /// Keeps the newest moments and removes the others.
    ///
    /// - Parameter count: The moments to keep, at least 1.
    /// - Throws: `damaged` if what a kept moment needs cannot be read: then no chunk is removed; and the errors of the disk.
    package func run(keeping count: Int) throws -> Outcome {
        let old = try backup.momentNames(except: max(1, count))
        if try old.isEmpty && !backup.isUnfinished() { return Outcome() }
        // Before anything is removed: a list that cannot be read would leave chunks without protection.
        let kept = try backup.momentNames().filter { !old.contains($0) }
        _ = try usedChunks(of: kept)
        try backup.beginChange()
        try backup.removeManifests(old)
        try backup.removeChanges(before: kept.map { try backup.manifest($0) })
        var outcome = try removeUnusedChunks()
        outcome.moments = old
        try backup.endChange()
        return outcome
    }

    /// Removes the chunks that no moment names, as a moment that was cut off leaves them.
    func removeUnusedChunks() throws -> Outcome {
        let (count, bytes) = try backup.removeChunks(except: usedChunks(of: backup.momentNames()))
        return Outcome(chunks: count, bytes: bytes)
    }

    private func usedChunks(of names: [String]) throws -> Set<ChunkID> {
        let manifests = try names.map { try backup.manifest($0) }
        return try backup.chunks(of: manifests).union(backup.chunksOfChanges(backup.changeObjects()))
    }
}
