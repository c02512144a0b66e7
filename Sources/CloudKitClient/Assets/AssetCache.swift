import CloudKitDevice
import Crypto
import Foundation
import Synchronization

/// Fetched files of one profile on this machine: complete and verified, stored once and shared by all processes
/// (B-AST-03).
/// `AssetCacheFolder` describes the layout of the folder.
package final class AssetCache: Sendable {
    /// The location and the limits of the cache.
    package let settings: AssetCacheSettings
    private let isTemporary: Bool
    private var folder: AssetCacheFolder { AssetCacheFolder(settings) }
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

    /// Creates a cache; its folder is made when the first file is fetched.
    package init(_ settings: AssetCacheSettings) {
        self.settings = settings
        isTemporary = false
    }

    /// Creates a cache that is removed with its last user.
    package init() {
        settings = AssetCacheSettings(
            folder: FileManager.default.temporaryDirectory.path + "/welkin-assets-" + UUID().uuidString.lowercased())
        isTemporary = true
    }

    private static let caches = Mutex<[AssetCacheSettings: AssetCache]>([:])

    /// The cache in a folder, the same for every `CKContainer` object in the process.
    package static func shared(_ settings: AssetCacheSettings?) -> AssetCache {
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

    /// Returns a Boolean value that indicates whether a file is in the cache.
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
            // The file was written to through a staged copy.
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
            try PrivateFile.makeFolder(folder.partial)
            // Someone else who fetches the same file has it locked; then this is a file of one's own.
            let path = folder.partial + "/" + name.text
            if let partial = try PartialFile(path, isPassing: false) { return partial }
            let ownPath = path + "." + UUID().uuidString.lowercased()
            if let partial = try PartialFile(ownPath, isPassing: true) { return partial }
            throw FileFailure("lock a new file", EBUSY)
        }
    }

    private func path(of name: AssetCacheName) -> String {
        folder.files + "/" + name.text.prefix(2) + "/" + name.text
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
        let root = folder.staged
        try PrivateFile.makeFolder(root)
        return try folder.locked { () throws(FileFailure) in
            let path = root + "/" + UUID().uuidString.lowercased()
            let lease = open(path + AssetCacheFolder.leaseSuffix, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard lease >= 0 else { throw FileFailure("make a lease", errno) }
            guard flock(lease, LOCK_EX | LOCK_NB) == 0, mkdir(path, 0o700) == 0 else {
                let failure = FileFailure("make a folder for staged files", errno)
                close(lease)
                throw failure
            }
            return StagingFolder(path: path, lease: lease)
        }
    }

    // MARK: Cleaning

    private func cleanIfDue(added: Int64) {
        let isDue = state.withLock { state in
            let sum = (state.added ?? settings.bytesMax) + added
            state.added = sum > settings.bytesMax / 16 ? 0 : sum
            return state.added == 0
        }
        // A cache that could not be cleaned is still good; the next fetch tries again.
        if isDue { try? folder.clean(now: Int64(Date().timeIntervalSince1970)) }
    }

    // MARK: -

    /// The modification time that marks a complete file, in seconds since 1970: any later write changes it.
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

    private func unusable<Value>(_ body: () throws(FileFailure) -> Value) throws(CallFailure) -> Value {
        do throws(FileFailure) {
            return try body()
        } catch {
            throw .assetCacheUnusable(error)
        }
    }
}

/// The name of a file in the cache: identifies its contents for one user on one machine.
struct AssetCacheName: Hashable, Sendable {
    /// 64 hexadecimal digits.
    let text: String
    /// Bytes.
    let size: Int64

    /// - Parameter container: Distinguishes plain files by container: their checksum comes from the server.
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

/// A staged copy of a fetched file; exists as long as this object.
package final class StagedFile: Sendable, Hashable {
    /// The absolute path of the copy.
    package let path: String
    private let cache: AssetCache

    fileprivate init(_ path: String, in cache: AssetCache) {
        self.path = path
        self.cache = cache
    }

    // The app may have moved it away.
    deinit { unlink(path) }

    /// Compares identities: each staged copy equals only itself.
    package static func == (left: StagedFile, right: StagedFile) -> Bool { left === right }
    /// Hashes the identity of the copy.
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
