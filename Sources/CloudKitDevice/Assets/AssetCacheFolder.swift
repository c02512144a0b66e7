import Foundation

/// The folder of one profile's fetched files, as far as cleaning it is concerned.
///
/// ```
/// files/<ab>/<name>    whole files; the time of their contents shows that they were not written to
/// partial/<name>       downloads under way; locked by the downloader
/// staged/<id>/<n>      hard links given to the app as `fileURL`; one folder per process, which locks `<id>.lease`
/// lock                 held while folders are made and cleaned
/// ```
/// Everything is readable by its owner only. Several processes may use a folder at once; the next cleaning removes
/// everything that a killed process leaves.
package struct AssetCacheFolder: Sendable {
    private let settings: AssetCacheSettings

    /// Creates the folder's description; nothing is created on the disk.
    package init(_ settings: AssetCacheSettings) { self.settings = settings }

    /// The folder of complete files.
    package var files: String { settings.folder + "/files" }
    /// The folder of downloads under way.
    package var partial: String { settings.folder + "/partial" }
    /// The folder of files that wait to be uploaded.
    package var staged: String { settings.folder + "/staged" }

    /// The suffix of a lease's path, after the path of a process's folder of links.
    package static let leaseSuffix = ".lease"

    /// A day.
    private static let partialAgeMax: Int64 = 86_400

    /// Removes files that are too old or too many, and those that ended processes have left.
    ///
    /// A file that an asset refers to stays readable: the asset has a link of its own.
    ///
    /// - Parameter now: Seconds since 1970.
    package func clean(now: Int64) throws(FileFailure) {
        try locked { () throws(FileFailure) in
            removeAbandonedStaging()
            removePartials(olderThan: now - Self.partialAgeMax)
            for victim in settings.victims(of: cachedFiles(), now: now) { unlink(victim.path) }
        }
    }

    /// Takes everything away but what running processes hold, which they take away themselves.
    ///
    /// - Throws: `FileFailure` where something stays that should not.
    package func empty() throws(FileFailure) {
        guard FileStamp(path: settings.folder) != nil else { return }
        try locked { () throws(FileFailure) in
            removeAbandonedStaging()
            removePartials(olderThan: .max)
            for file in cachedFiles() { try PrivateFile.remove(file.path) }
        }
    }

    /// Keeps others from making and cleaning folders meanwhile.
    package func locked<Value>(_ body: () throws(FileFailure) -> Value) throws(FileFailure) -> Value {
        do {
            return try FileLock.hold(settings.folder + "/lock", body)
        } catch let failure as FileFailure {
            throw failure
        } catch {
            throw FileFailure("use the cache of files", EIO)
        }
    }

    private func cachedFiles() -> [CachedFile] {
        Self.names(in: files).flatMap { folder in
            Self.names(in: files + "/" + folder).compactMap { CachedFile(path: files + "/" + folder + "/" + $0) }
        }
    }

    private func removeAbandonedStaging() {
        for name in Self.names(in: staged) where name.hasSuffix(Self.leaseSuffix) {
            let path = staged + "/" + name
            let lease = open(path, O_RDWR | O_CLOEXEC)
            guard lease >= 0 else { continue }
            defer { close(lease) }
            guard flock(lease, LOCK_EX | LOCK_NB) == 0 else { continue }
            try? FileManager.default.removeItem(atPath: String(path.dropLast(Self.leaseSuffix.count)))
            unlink(path)
        }
    }

    private func removePartials(olderThan time: Int64) {
        for name in Self.names(in: partial) {
            let path = partial + "/" + name
            guard let stamp = FileStamp(path: path), stamp.seconds < time else { continue }
            let descriptor = open(path, O_RDWR | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
            close(descriptor)
        }
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
}

/// A whole file of the cache, as far as cleaning goes.
package struct CachedFile: Hashable, Sendable {
    /// The path of the file.
    package var path: String
    /// The size of the file in bytes.
    package var size: Int64
    /// Seconds since 1970.
    package var used: Int64

    /// Creates a value with the given properties.
    package init(path: String, size: Int64, used: Int64) {
        self.path = path
        self.size = size
        self.used = used
    }

    init?(path: String) {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        self.init(path: path, size: Int64(info.st_size), used: Int64(info.st_atim.tv_sec))
    }
}

extension AssetCacheSettings {
    /// The files that have to go: those not used for too long, then the least recently used ones until the rest fits.
    package func victims(of files: [CachedFile], now: Int64) -> [CachedFile] {
        var sum = files.reduce(0) { $0 + $1.size }
        return files.sorted { ($0.used, $0.path) < ($1.used, $1.path) }.filter { file in
            guard file.used < now - ageMax || sum > bytesMax else { return false }
            sum -= file.size
            return true
        }
    }
}
