import Foundation

/// Keeps chunks that one thread puts from being removed by another that prunes the same backup.
final class ChunkProtection: @unchecked Sendable {
    // Unchecked: `condition` guards both sets; a `Mutex` cannot be waited on.
    private let condition = NSCondition()
    private var protected: Set<ChunkID> = []
    private var removing: Set<ChunkID> = []

    /// Protects a chunk from now on, after a removal under way.
    func protect(_ id: ChunkID) {
        condition.lock()
        defer { condition.unlock() }
        protected.insert(id)
        while removing.contains(id) { condition.wait() }
    }

    /// Runs a removal with those of the names that are not protected.
    func remove(_ names: [String], _ removal: ([String]) throws -> Void) rethrows {
        condition.lock()
        let ids = names.map { ChunkID(name: BackupDisk.name(of: $0)) }
        let free = zip(names, ids).filter { $0.1.map { !protected.contains($0) } ?? true }
        removing = Set(free.compactMap(\.1))
        condition.unlock()
        defer {
            condition.lock()
            removing = []
            condition.broadcast()
            condition.unlock()
        }
        try removal(free.map(\.0))
    }
}
