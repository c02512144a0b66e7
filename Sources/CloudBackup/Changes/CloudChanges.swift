import Foundation

/// The names of files that appeared or changed.
struct ChangedNames: Hashable, Sendable {
    /// New files that never change, by their folders.
    var folders: [String: Set<String>] = [:]
    /// Whether any of the further files changed, came or went.
    var others = false

    mutating func merge(_ more: ChangedNames) {
        folders.merge(more.folders) { $0.union($1) }
        others = others || more.others
    }
}

/// Looks at what changed in a data folder since it looked last, for a stream of changes. For one thread.
package final class CloudChanges {
    private let stream: ChangeStream
    private let now: () -> Int64
    private let source: () throws -> BackupSource
    private var folders: [String: Stamp] = [:]
    private var known: [String: Set<String>] = [:]
    private var others: [String: Stamp] = [:]

    /// When something changed last, and how large it is.
    private struct Stamp: Hashable {
        var seconds: Int
        var nanoseconds: Int
        var bytes: Int64
        var file: UInt64

        /// nil: there is nothing.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            seconds = Int(status.st_mtim.tv_sec)
            nanoseconds = Int(status.st_mtim.tv_nsec)
            bytes = Int64(status.st_size)
            file = UInt64(status.st_ino)
        }
    }

    /// The time within which a folder may change again without another time of change, in seconds.
    private static let freshSeconds = 2

    /// Begins with what is there: the moment that begins the stream has it.
    ///
    /// - Parameters:
    ///   - stream: Gets what changes.
    ///   - now: Milliseconds since 1970.
    ///   - source: Returns what belongs to a moment.
    package init(
        _ stream: ChangeStream, now: @escaping () -> Int64, source: @escaping () throws -> BackupSource
    ) throws {
        self.stream = stream
        self.now = now
        self.source = source
        _ = try names()
    }

    /// Adds what changed to the stream. The store is asked first: files that it refers to were there before.
    ///
    /// - Parameter changes: Returns what was committed to the store since the last call.
    package func look(_ changes: () throws -> StoreChanges?) throws {
        let time = now()
        let changes = try changes()
        stream.add(changes, names: try names(), at: time)
    }

    private func names() throws -> ChangedNames {
        let source = try source()
        var changed = ChangedNames()
        let root = source.folder + "/" + source.immutableFiles
        if isChanged("", root) {
            for folder in try BackupDisk.names(in: root) ?? [] where known[folder] == nil { known[folder] = [] }
        }
        for (folder, held) in known where isChanged(folder, root + "/" + folder) {
            let names = Set(try BackupDisk.names(in: root + "/" + folder) ?? [])
            let new = names.subtracting(held)
            if !new.isEmpty { changed.folders[folder] = new }
            known[folder] = names
        }
        var present: [String: Stamp] = [:]
        for name in source.files { present[name] = Stamp(source.folder + "/" + name) }
        changed.others = present != others
        others = present
        return changed
    }

    /// Whether a folder may have changed since this was asked last. The time of the change is read before its names are: what comes later changes it again.
    private func isChanged(_ folder: String, _ path: String) -> Bool {
        guard let stamp = Stamp(path) else { return false }
        defer { folders[folder] = stamp }
        return folders[folder] != stamp || Int(now() / 1000) - stamp.seconds < Self.freshSeconds
    }
}

/// Sends what a stream has. For one thread.
package final class ChangeSender {
    private let stream: ChangeStream
    private let backup: Backup
    private let source: () throws -> BackupSource
    private var unsent: ChangeStream.Sending?

    /// Creates the sender.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - backup: Its backup.
    ///   - source: Returns what belongs to a moment.
    package init(_ stream: ChangeStream, _ backup: Backup, source: @escaping () throws -> BackupSource) {
        self.stream = stream
        self.backup = backup.companion()
        self.source = source
    }

    /// Sends what waits, or what could not be sent the last time.
    ///
    /// - Returns: Whether there was anything to send.
    /// - Throws: The errors of the place and the disk; nothing is lost then, and the next call tries again.
    package func send() throws -> Bool {
        if unsent == nil { unsent = try stream.next { try contents(of: $0) } }
        guard let segment = unsent else { return false }
        try stream.send(segment)
        unsent = nil
        return true
    }

    /// Puts files into the backup, before anything names them.
    private func contents(of names: ChangedNames) throws -> ChangedFiles {
        let source = try source()
        var changed = ChangedFiles()
        var writer = ContentWriter(backup)
        for (folder, new) in names.folders {
            for name in new.sorted() {
                let path = "\(source.folder)/\(source.immutableFiles)/\(folder)/\(name)"
                // One that is gone was not referred to any more.
                guard BackupDisk.size(path) != nil else { continue }
                let content = try writer.add(file: path)
                changed.folders[folder, default: []].append(BackupFile(name: name, content: content))
            }
        }
        if names.others {
            var files: [BackupFile] = []
            for name in source.files {
                guard let bytes = try BackupDisk.read(source.folder + "/" + name) else { continue }
                files.append(BackupFile(name: name, content: try writer.add(bytes)))
            }
            changed.files = files
        }
        try backup.finishPuts()
        return changed
    }
}
