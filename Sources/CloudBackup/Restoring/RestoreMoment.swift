import Foundation

/// Writes a moment into an empty folder.
///
/// Everything is written beside the folder first, verified and durable, and then takes the folder's place as a whole: a restoration that was cut
/// off leaves the folder empty.
package struct RestoreMoment {
    private let backup: Backup

    /// Creates the operation on a backup.
    package init(_ backup: Backup) { self.backup = backup }

    /// Restores a moment.
    ///
    /// - Parameters:
    ///   - manifest: The moment.
    ///   - path: An empty folder, or one that does not exist in a folder that does.
    ///   - storeName: The name of the store's file.
    ///   - immutableFiles: The path below the folder for the files that never change.
    ///   - plan: Changes to apply to the moment; nil: none.
    ///   - finish: Called with the path of the whole draft of the folder, before it takes its place.
    /// - Throws: `notEmpty`, `damaged`, and the errors of the disk.
    package func run(
        _ manifest: BackupManifest, to path: String, storeName: String, immutableFiles: String,
        applying plan: ChangePlan? = nil, finish: (String) async throws -> Void
    ) async throws {
        try backup.requireContents("restored")
        if let names = try BackupDisk.names(in: path), !names.isEmpty { throw BackupError.notEmpty(path) }
        let draft = path + ".restoring"
        // What an attempt left that was cut off.
        try? FileManager.default.removeItem(atPath: draft)
        try BackupDisk.makeFolder(draft)
        var written: [String] = []
        func write(_ content: BackupContent, to path: String, _ part: String) throws {
            try self.write(content, to: path, part)
            written.append(path)
        }
        do {
            let store = draft + "/" + storeName
            try write(manifest.store, to: store, storeName)
            let changes = try plan.map { try ApplyChanges(backup: backup, storePath: store).run($0) }
            for file in changes?.files ?? manifest.files {
                try write(file.content, to: draft + "/" + (try Self.checked(file.name)), file.name)
            }
            var root = draft
            for name in immutableFiles.split(separator: "/") {
                root += "/" + name
                try BackupDisk.makeFolder(root)
            }
            let appeared = changes?.folders ?? [:]
            for folder in Set(manifest.folders.keys).union(appeared.keys).sorted() {
                let place = root + "/" + (try Self.checked(folder))
                try BackupDisk.makeFolder(place)
                var names: Set<String> = []
                let files = try manifest.folders[folder].map { try backup.files($0) } ?? []
                // A file may have appeared while the moment was taken, and is in both.
                for file in files + (appeared[folder] ?? []) where names.insert(file.name).inserted {
                    let part = "\(immutableFiles)/\(folder)/\(file.name)"
                    try write(file.content, to: place + "/" + (try Self.checked(file.name)), part)
                }
            }
            try await finish(draft)
            try BackupDisk.synchronize(files: written)
            guard rename(draft, path) == 0 else { throw BackupError(system: errno, "name the folder", path: path) }
            try BackupDisk.synchronizeFolder(of: path)
        } catch {
            try? FileManager.default.removeItem(atPath: draft)
            throw error
        }
    }

    /// No name leads out of the folder.
    private static func checked(_ name: String) throws(BackupError) -> String {
        guard !name.isEmpty, !name.contains("/"), name != ".", name != "..", !name.utf8.contains(0) else {
            throw .damaged("a list of files", "it has a name that is none")
        }
        return name
    }

    private func write(_ content: BackupContent, to path: String, _ part: String) throws {
        let descriptor = try BackupDisk.create(path)
        defer { close(descriptor) }
        var length: Int64 = 0
        do {
            try backup.forEach(try backup.ids(of: content)) { (bytes) throws(BackupError) in
                try BackupDisk.write(bytes, to: descriptor, path: path)
                length += Int64(bytes.count)
            }
        } catch {
            guard error.code == .damaged else { throw error }
            let problem = [error.details["part"], error.details["problem"]].compactMap { $0 }
            throw BackupError.damaged(part, problem.joined(separator: ": "))
        }
        guard length == content.bytes else { throw BackupError.damaged(part, "it has another length") }
    }
}
