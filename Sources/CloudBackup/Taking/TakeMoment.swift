import Foundation

/// Adds a moment to a backup: the state of a store, and the files that belong to it.
///
/// The store's state is chosen first. Files that it refers to were there before it, never change, and are not removed meanwhile, so that reading
/// them afterwards finds them all. The manifest is written last: a moment that was cut off does not exist, and the next one removes
/// what it left.
package struct TakeMoment {
    private let backup: Backup
    private let now: () -> Int64
    private let isCancelled: () -> Bool

    /// Creates the operation on a backup that was opened with `begin`.
    ///
    /// - Parameters:
    ///   - now: Returns milliseconds since 1970.
    ///   - isCancelled: Asked between files and chunks; the moment is left unfinished once it returns true.
    package init(
        _ backup: Backup, now: @escaping () -> Int64, isCancelled: @escaping () -> Bool = { false }
    ) {
        self.backup = backup
        self.now = now
        self.isCancelled = isCancelled
    }

    /// Takes a moment.
    ///
    /// - Parameters:
    ///   - image: The state of the store.
    ///   - source: The files that belong to it.
    ///   - start: A time before the state was chosen, in milliseconds since 1970: what was saved later may be missing.
    ///   - program: The version of the program.
    ///   - position: Called when all else was put; returns the place of the state among changes that are sent all the time.
    /// - Throws: `BackupError`, `CancellationError`, and the errors of the store.
    package func run(
        _ image: some StoreImage, _ source: BackupSource, at start: Int64, program: String,
        position: () throws -> ChangePosition? = { nil }
    ) throws -> BackupManifest {
        let names = try backup.momentNames()
        let earlier = names.last.flatMap { try? backup.manifest($0) }
        try check(image.facts, continue: earlier)
        if try backup.isUnfinished() { _ = try PruneMoments(backup).removeUnusedChunks() }
        var time = start
        while names.contains(BackupManifest.name(of: time)) { time += 1 }
        try backup.beginChange()
        try backup.learnChunks(of: earlier)
        var writer = ContentWriter(backup)
        let store = try writer.add(length: image.byteCount, chunkBytes: ContentWriter.storeChunkBytes) {
            try checkCancellation()
            return try image.bytes(at: $0, count: $1)
        }
        writer.note(store: image.byteCount)
        let folders = try addImmutableFiles(source, since: earlier, to: &writer)
        var files: [BackupFile] = []
        for name in source.files {
            guard let bytes = try BackupDisk.read(source.folder + "/" + name) else { continue }
            files.append(BackupFile(name: name, content: try writer.add(bytes)))
        }
        var counts = writer.counts
        counts.duration = max(0, now() - start)
        let manifest = BackupManifest(
            name: BackupManifest.name(of: time), time: start, program: program, facts: image.facts, store: store,
            folders: folders, files: files, counts: counts, changes: try position())
        try backup.finish(manifest)
        try backup.endChange()
        backup.forgetContentKey()
        return manifest
    }

    /// Refuses the moments of a new cloud beside those of the one whose place this is: they would be restored in its place, and take the place of
    /// its kept moments one after the other.
    private func check(_ facts: StoreFacts, continue earlier: BackupManifest?) throws(BackupError) {
        guard let earlier, earlier.facts.storeID != facts.storeID else { return }
        throw BackupError(
            .otherCloud, reason: "the place has the backup of another cloud",
            remedy: "if this one is to go on from there, restore it with welkin restore; otherwise name another place",
            details: ["moment": earlier.name, "place": backup.place.address])
    }

    private func checkCancellation() throws {
        if isCancelled() { throw CancellationError() }
    }

    /// Adds the files of each folder; those that the newest moment has are not read again.
    private func addImmutableFiles(
        _ source: BackupSource, since earlier: BackupManifest?, to writer: inout ContentWriter
    ) throws -> [String: BackupContent] {
        let root = source.folder + "/" + source.immutableFiles
        var folders: [String: BackupContent] = [:]
        for folder in try BackupDisk.names(in: root) ?? [] {
            try checkCancellation()
            guard let names = try BackupDisk.names(in: root + "/" + folder), !names.isEmpty else { continue }
            var known: [String: BackupContent] = [:]
            if let listing = earlier?.folders[folder], let files = try? backup.files(listing) {
                known = Dictionary(files.map { ($0.name, $0.content) }, uniquingKeysWith: { first, _ in first })
            }
            var files: [BackupFile] = []
            for name in names {
                let path = "\(root)/\(folder)/\(name)"
                guard let length = BackupDisk.size(path) else { continue }
                if let content = known[name], content.bytes == length, backup.holds(content) {
                    files.append(BackupFile(name: name, content: content))
                } else {
                    let content = try writer.add(file: path, checkCancellation)
                    files.append(BackupFile(name: name, content: content))
                }
                writer.note(asset: length)
            }
            folders[folder] = try writer.add(try Backup.listing(files), kind: .list)
        }
        return folders
    }
}
