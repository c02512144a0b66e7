import SeededChance

/// The files of a folder as a disk holds them: synced content, and changes that may or may not have reached it.
struct UnsyncedDisk {
    private enum PendingChange {
        case written(offset: Int, bytes: [UInt8])
        case truncated(Int)
    }

    private struct File {
        var bytes: [UInt8] = []
        var pending: [PendingChange] = []
        /// The changes under way when the last sync began.
        var syncedCount = 0
        /// Whether the folder was synced since the file was created.
        var hasName = false
    }

    /// The fate of the changes that were not synced.
    private enum Fate: CaseIterable {
        case kept, dropped, eitherWay, torn
    }

    private static let sectorBytes = 512

    private var files: [String: File] = [:]
    /// Files that were deleted, and whose folder was not synced since.
    private var ghosts: [String: File] = [:]

    mutating func apply(_ change: DiskRecording.Change) {
        switch change {
        case .created(let name): files[name] = File()
        case .written(let name, let offset, let bytes):
            files[name, default: File(hasName: true)].pending.append(.written(offset: offset, bytes: bytes))
        case .truncated(let name, let count): files[name]?.pending.append(.truncated(count))
        case .syncBegan(let name):
            let count = files[name]?.pending.count ?? 0
            files[name]?.syncedCount = count
        case .syncEnded(let name): sync(name)
        case .deleted(let name, let isSynced):
            let file = files.removeValue(forKey: name)
            if isSynced { syncFolder() } else if let file, file.hasName { ghosts[name] = file }
        }
    }

    private mutating func sync(_ name: String) {
        guard var file = files[name] else { return }
        for change in file.pending.prefix(file.syncedCount) { Self.apply(change, to: &file.bytes) }
        file.pending.removeFirst(file.syncedCount)
        file.syncedCount = 0
        let isNew = !file.hasName
        files[name] = file
        // SQLite syncs the folder with the first sync of a journal or a log.
        if isNew, name.hasSuffix("-wal") || name.hasSuffix("-journal") { syncFolder() }
    }

    private mutating func syncFolder() {
        ghosts = [:]
        for name in files.keys { files[name]?.hasName = true }
    }

    /// The files after the power has gone: each change that was not synced is there, missing, or there in part.
    func afterPowerCut(_ generator: inout SplitMix64) -> [String: [UInt8]] {
        let fate = Fate.allCases.randomElement(using: &generator) ?? .torn
        var left: [String: [UInt8]] = [:]
        for (name, file) in ghosts.sorted(by: { $0.key < $1.key }) where Bool.random(using: &generator) {
            left[name] = Self.content(file, fate, &generator)
        }
        for (name, file) in files.sorted(by: { $0.key < $1.key }) {
            if !file.hasName, fate != .kept, fate == .dropped || Bool.random(using: &generator) { continue }
            left[name] = Self.content(file, fate, &generator)
        }
        return left
    }

    private static func content(_ file: File, _ fate: Fate, _ generator: inout SplitMix64) -> [UInt8] {
        var bytes = file.bytes
        for change in file.pending {
            switch (fate, change) {
            case (.dropped, _): break
            case (.kept, _): apply(change, to: &bytes)
            case (.torn, .written(let offset, let written)): tear(written, offset, &bytes, &generator)
            case (.eitherWay, _), (.torn, .truncated): if Bool.random(using: &generator) { apply(change, to: &bytes) }
            }
        }
        return bytes
    }

    /// Writes some of the sectors.
    private static func tear(
        _ written: [UInt8], _ offset: Int, _ bytes: inout [UInt8], _ generator: inout SplitMix64
    ) {
        var start = 0
        while start < written.count {
            let end = min(written.count, start + sectorBytes - (offset + start) % sectorBytes)
            if Bool.random(using: &generator) {
                apply(.written(offset: offset + start, bytes: Array(written[start..<end])), to: &bytes)
            }
            start = end
        }
    }

    private static func apply(_ change: PendingChange, to bytes: inout [UInt8]) {
        switch change {
        case .truncated(let count):
            if count < bytes.count { bytes.removeLast(bytes.count - count) }
        case .written(let offset, let written):
            let end = offset + written.count
            if end > bytes.count { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
            bytes.replaceSubrange(offset..<end, with: written)
        }
    }
}
