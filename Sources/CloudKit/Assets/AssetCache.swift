import CloudKitDevice
import Crypto
import Foundation
import Synchronization

/// Fetched files of one profile on this machine: whole and checked, each once, shared by all processes (B-AST-03).
///
/// ```
/// files/<ab>/<name>    whole files; the time of their contents says that nobody wrote into them
/// partial/<name>       on their way; locked by whoever fetches
/// staged/<id>/<n>      hard links handed out as `fileURL`; one folder a process, whose `<id>.lease` it keeps locked
/// lock                 held while folders are made and cleaned
/// ```
/// Everything is readable by its owner only. Several processes may use a folder at once; one that was killed leaves
/// nothing that the next cleaning does not take away.
final class AssetCache: Sendable {
    let settings: AssetCacheSettings
    private let isTemporary: Bool
    private let state = Mutex(State())

    private struct State {
        var staging: StagingFolder?
        var staged = 0
        /// Bytes added since the last cleaning; nil: this process has not cleaned yet.
        var added: Int64?
    }

    /// This process's folder of links.
    private struct StagingFolder {
        var path: String
        var lease: Int32
    }

    init(_ settings: AssetCacheSettings) {
        self.settings = settings
        isTemporary = false
    }

    /// A cache that goes with its last user.
    init() {
        settings = AssetCacheSettings(
            folder: FileManager.default.temporaryDirectory.path + "/welkin-assets-" + UUID().uuidString.lowercased())
        isTemporary = true
    }

    private static let caches = Mutex<[AssetCacheSettings: AssetCache]>([:])

    /// The cache in a folder, the same for every `CKContainer` object in the process.
    static func shared(_ settings: AssetCacheSettings?) -> AssetCache {
        guard let settings else { return AssetCache() }
        return caches.withLock { caches in
            if let cache = caches[settings] { return cache }
            let cache = AssetCache(settings)
            caches[settings] = cache
            return cache
        }
    }

    deinit {
        if let staging = state.withLock({ $0.staging }) {
            try? FileManager.default.removeItem(atPath: staging.path)
            close(staging.lease)
        }
        if isTemporary { try? FileManager.default.removeItem(atPath: settings.folder) }
    }

    // MARK: Whole files

    /// Whether a file is here.
    func holds(_ name: AssetCacheName) -> Bool { FileStamp(path: path(of: name)).map { isWhole($0, name) } ?? false }

    private func isWhole(_ stamp: FileStamp, _ name: AssetCacheName) -> Bool {
        stamp.isRegular && stamp.size == name.size && stamp.seconds == Self.wholeMark && stamp.nanoseconds == 0
    }

    /// A staged copy of a file that is here; nil when it is not.
    ///
    /// - Throws: `CallFailure.assetCacheUnusable`.
    func staged(_ name: AssetCacheName) throws(CallFailure) -> StagedFile? {
        let path = path(of: name)
        guard let stamp = FileStamp(path: path) else { return nil }
        guard isWhole(stamp, name) else {
            // Somebody wrote into the file through a staged copy.
            unlink(path)
            return nil
        }
        Self.markUsed(path)
        return try unusable { () throws(FileFailure) in try stage(path) }
    }

    /// Puts a file that was fetched in its place.
    ///
    /// - Throws: `CallFailure.assetCacheUnusable`.
    func keep(_ partial: PartialFile, as name: AssetCacheName) throws(CallFailure) -> StagedFile {
        let file = try unusable { () throws(FileFailure) in
            try partial.finish(whole: Self.wholeTimes)
            let path = path(of: name)
            try PrivateFile.makeFolder(String(path.prefix(path.count - name.text.count - 1)))
            guard rename(partial.path, path) == 0 else { throw FileFailure("keep a fetched file", errno) }
            return try stage(path)
        }
        cleanIfDue(added: name.size)
        return file
    }

    /// A file to write into.
    ///
    /// - Throws: `CallFailure.assetCacheUnusable`.
    func partial(_ name: AssetCacheName) throws(CallFailure) -> PartialFile {
        try unusable { () throws(FileFailure) in
            let folder = settings.folder + "/partial"
            try PrivateFile.makeFolder(folder)
            // Someone else who fetches the same file has it locked; then this is a file of one's own.
            let path = folder + "/" + name.text
            if let partial = try PartialFile(path, isPassing: false) { return partial }
            let ownPath = path + "." + UUID().uuidString.lowercased()
            if let partial = try PartialFile(ownPath, isPassing: true) { return partial }
            throw FileFailure("lock a new file", EBUSY)
        }
    }

    private func path(of name: AssetCacheName) -> String {
        settings.folder + "/files/" + name.text.prefix(2) + "/" + name.text
    }

    // MARK: Staging

    private func stage(_ path: String) throws(FileFailure) -> StagedFile {
        let target = try newStagedPath()
        if link(path, target) != 0 {
            guard [EPERM, EMLINK, ENOTSUP, EXDEV].contains(errno) else { throw FileFailure("stage a file", errno) }
            // A file system without hard links.
            do {
                try FileManager.default.copyItem(atPath: path, toPath: target)
            } catch {
                throw FileFailure("stage a file", ENOSPC)
            }
        }
        return StagedFile(target, in: self)
    }

    private func newStagedPath() throws(FileFailure) -> String {
        // The lock inside is held for a moment once in a process.
        try state.withLock { state throws(FileFailure) in
            let staging: StagingFolder
            if let known = state.staging { staging = known } else { staging = try makeStaging() }
            state.staging = staging
            state.staged += 1
            return staging.path + "/" + String(state.staged)
        }
    }

    private func makeStaging() throws(FileFailure) -> StagingFolder {
        let root = settings.folder + "/staged"
        try PrivateFile.makeFolder(root)
        return try locked { () throws(FileFailure) in
            let path = root + "/" + UUID().uuidString.lowercased()
            let lease = open(path + Self.leaseSuffix, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard lease >= 0 else { throw FileFailure("make a lease", errno) }
            guard flock(lease, LOCK_EX | LOCK_NB) == 0, mkdir(path, 0o700) == 0 else {
                let failure = FileFailure("make a folder for staged files", errno)
                close(lease)
                throw failure
            }
            return StagingFolder(path: path, lease: lease)
        }
    }

    private static let leaseSuffix = ".lease"

    // MARK: Cleaning

    private func cleanIfDue(added: Int64) {
        let isDue = state.withLock { state in
            let sum = (state.added ?? settings.bytesMax) + added
            state.added = sum > settings.bytesMax / 16 ? 0 : sum
            return state.added == 0
        }
        // A cache that could not be cleaned is still good; the next fetch tries again.
        if isDue { try? clean(now: Int64(Date().timeIntervalSince1970)) }
    }

    /// Takes away what is too old or too much, and what processes that are gone have left.
    ///
    /// A file that an asset stands for stays readable: the asset has a link of its own.
    ///
    /// - Parameter now: Seconds since 1970.
    func clean(now: Int64) throws(FileFailure) {
        try locked { () throws(FileFailure) in
            removeAbandonedStaging()
            removeAbandonedPartials(now: now)
            for victim in settings.victims(of: files(), now: now) { unlink(victim.path) }
        }
    }

    private func files() -> [CachedFile] {
        let root = settings.folder + "/files"
        return Self.names(in: root).flatMap { folder in
            Self.names(in: root + "/" + folder).compactMap { CachedFile(path: root + "/" + folder + "/" + $0) }
        }
    }

    private func removeAbandonedStaging() {
        let root = settings.folder + "/staged"
        for name in Self.names(in: root) where name.hasSuffix(Self.leaseSuffix) {
            let path = root + "/" + name
            let lease = open(path, O_RDWR | O_CLOEXEC)
            guard lease >= 0 else { continue }
            defer { close(lease) }
            guard flock(lease, LOCK_EX | LOCK_NB) == 0 else { continue }
            try? FileManager.default.removeItem(atPath: String(path.dropLast(Self.leaseSuffix.count)))
            unlink(path)
        }
    }

    private func removeAbandonedPartials(now: Int64) {
        let root = settings.folder + "/partial"
        for name in Self.names(in: root) {
            let path = root + "/" + name
            guard let stamp = FileStamp(path: path), stamp.seconds < now - Self.partialAgeMax else { continue }
            let descriptor = open(path, O_RDWR | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
            close(descriptor)
        }
    }

    /// A day.
    private static let partialAgeMax: Int64 = 86_400

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    // MARK: -

    /// What the time of a whole file's contents is set to, seconds since 1970: any write after that shows.
    private static let wholeMark: Int64 = 978_307_200

    /// Used now, and whole.
    private static var wholeTimes: [timespec] {
        [timespec(tv_sec: 0, tv_nsec: now), timespec(tv_sec: Int(wholeMark), tv_nsec: 0)]
    }

    /// The values of `UTIME_NOW` and `UTIME_OMIT`, which are macros that Swift does not see.
    private static let now = (1 << 30) - 1
    private static let unchanged = (1 << 30) - 2

    /// Notes that a file was used now, by which the cleaning goes.
    private static func markUsed(_ path: String) {
        let times = [timespec(tv_sec: 0, tv_nsec: now), timespec(tv_sec: 0, tv_nsec: unchanged)]
        _ = utimensat(AT_FDCWD, path, times, 0)
    }

    private func locked<Value>(_ body: () throws(FileFailure) -> Value) throws(FileFailure) -> Value {
        do {
            return try FileLock.hold(settings.folder + "/lock", body)
        } catch let failure as FileFailure {
            throw failure
        } catch {
            throw FileFailure("use the cache of files", EIO)
        }
    }

    private func unusable<Value>(_ body: () throws(FileFailure) -> Value) throws(CallFailure) -> Value {
        do throws(FileFailure) {
            return try body()
        } catch {
            throw .assetCacheUnusable(error)
        }
    }
}

/// A file's name in the cache: tells its contents, for one user on one machine.
struct AssetCacheName: Hashable, Sendable {
    /// 64 hexadecimal digits.
    let text: String
    /// Bytes.
    let size: Int64

    /// - Parameter container: Plain files are told apart by container: their checksum is the server's word.
    init(_ digest: AssetDigest, container: String) {
        size = digest.size
        let name: [UInt8]
        switch digest.checksum {
        case .content(let bytes): name = bytes
        case .file(let text): name = Array(SHA256.hash(data: Data("\(container)\n\(text)\n\(digest.size)".utf8)))
        }
        self.text = name.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}

/// A staged copy of a fetched file: there as long as anyone holds this.
final class StagedFile: Sendable, Hashable {
    let path: String
    private let cache: AssetCache

    fileprivate init(_ path: String, in cache: AssetCache) {
        self.path = path
        self.cache = cache
    }

    // The app may have moved it away.
    deinit { unlink(path) }

    static func == (left: StagedFile, right: StagedFile) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A whole file of the cache, as far as cleaning goes.
struct CachedFile: Hashable, Sendable {
    var path: String
    var size: Int64
    /// Seconds since 1970.
    var used: Int64

    init(path: String, size: Int64, used: Int64) {
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
    func victims(of files: [CachedFile], now: Int64) -> [CachedFile] {
        var sum = files.reduce(0) { $0 + $1.size }
        return files.sorted { ($0.used, $0.path) < ($1.used, $1.path) }.filter { file in
            guard file.used < now - ageMax || sum > bytesMax else { return false }
            sum -= file.size
            return true
        }
    }
}
