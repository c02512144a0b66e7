import Crypto
import Foundation

/// A folder with the moments of one cloud: chunks by their digests, and a manifest for each moment.
///
/// Its functions wait for the disk. One process at a time may change it.
package final class BackupFolder {
    /// The path of the folder.
    package let path: String
    private let key: BackupKey?
    /// Holds the lock of the folder until this object ends; nil while it is only read.
    private let lock: Int32?
    /// The paths of chunks that are not yet durable.
    private var written: Set<String> = []

    private static let headerName = BackupHeader.fileName
    private static let lockName = "lock"
    /// There while a moment is taken or removed: chunks may lie in the folder that no moment names.
    private static let openName = "unfinished"
    private static let manifestEnd = ".moment"

    private init(path: String, key: BackupKey?, lock: Int32?) {
        self.path = path
        self.key = key
        self.lock = lock
    }

    deinit {
        if let lock { close(lock) }
    }

    /// A Boolean value that indicates whether the chunks are sealed.
    package var isSealed: Bool { key != nil }

    // MARK: Opening

    /// Opens a backup to change it, and begins one in an empty or new folder.
    ///
    /// - Parameters:
    ///   - passphrase: Seals a new backup, and opens a sealed one.
    ///   - cost: N of scrypt for a new backup; nil for the usual one.
    /// - Throws: `notABackup`, `newerFormat`, `passphraseMissing`, `passphraseWrong`, `notSealed`, `busy`, and the errors of the disk.
    package static func begin(_ path: String, passphrase: String? = nil, cost: Int? = nil) throws -> BackupFolder {
        let names = try BackupDisk.names(in: path)
        if names == nil { try BackupDisk.makeFolder(path) }
        let isNew = !(names ?? []).contains(headerName)
        // A first attempt may have left its lock.
        if isNew, !(names ?? []).allSatisfy({ $0 == lockName || $0.hasPrefix(headerName) }) {
            throw BackupError.notABackup(path)
        }
        let lock = try takeLock(path)
        do {
            if isNew {
                var header = BackupHeader()
                if let passphrase {
                    header.seal = try BackupKey.create(
                        passphrase: passphrase, cost: cost ?? BackupKey.usualCost
                    ).1
                }
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                try BackupDisk.replace(
                    path + "/" + headerName, with: Array(try encoder.encode(header)) + [10], isDurable: true)
                try BackupDisk.synchronizeFolder(of: path)
            }
            let key = try key(path, passphrase: passphrase)
            for folder in ["chunks", "moments"] { try BackupDisk.makeFolder(path + "/" + folder) }
            return BackupFolder(path: path, key: key, lock: lock)
        } catch {
            close(lock)
            throw error
        }
    }

    /// Opens a backup to read it.
    ///
    /// - Throws: `notABackup`, `newerFormat`, `passphraseMissing`, `passphraseWrong`, `notSealed`, and the errors of the disk.
    package static func open(_ path: String, passphrase: String? = nil) throws -> BackupFolder {
        BackupFolder(path: path, key: try key(path, passphrase: passphrase), lock: nil)
    }

    private static func key(_ path: String, passphrase: String?) throws(BackupError) -> BackupKey? {
        guard let bytes = try BackupDisk.read(path + "/" + headerName) else { throw .notABackup(path) }
        guard let format = try? JSONDecoder().decode(FormatNumber.self, from: Data(bytes)) else {
            throw .notABackup(path)
        }
        guard format.format <= BackupHeader.formatMax else { throw .newerFormat(format.format, path: path) }
        guard let header = try? JSONDecoder().decode(BackupHeader.self, from: Data(bytes)) else {
            throw .notABackup(path)
        }
        switch (header.seal, passphrase) {
        case (nil, nil): return nil
        case (nil, _?): throw .notSealed(path)
        case (_?, nil): throw .passphraseMissing(path)
        case (let seal?, let passphrase?):
            guard let key = try BackupKey.open(seal, passphrase: passphrase, path: path) else {
                throw .passphraseWrong(path)
            }
            return key
        }
    }

    private struct FormatNumber: Decodable { var format: Int }

    private static func takeLock(_ path: String) throws(BackupError) -> Int32 {
        let file = path + "/" + lockName
        let descriptor = Foundation.open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BackupError(system: errno, "open the lock", path: file) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw .busy(path)
        }
        return descriptor
    }

    // MARK: Chunks

    private func path(of id: ChunkID) -> String {
        let name = id.name
        return "\(path)/chunks/\(name.prefix(2))/\(name)"
    }

    /// Returns the name of a chunk.
    func id(of bytes: [UInt8]) -> ChunkID {
        let digest = key.map { $0.id(of: bytes) } ?? Array(SHA256.hash(data: bytes))
        // Both digests have 32 bytes.
        return ChunkID(digest)!
    }

    /// Bytes that sealing adds: nonce and tag.
    private var sealBytes: Int { isSealed ? 28 : 0 }

    /// Puts a chunk into the folder, unless it is there.
    ///
    /// - Returns: Its name, and the bytes that were written; 0 if it was there.
    func put(_ bytes: [UInt8]) throws -> (id: ChunkID, written: Int) {
        let id = id(of: bytes)
        let file = path(of: id)
        if BackupDisk.size(file) == Int64(bytes.count + sealBytes) { return (id, 0) }
        try BackupDisk.makeFolder(BackupDisk.parent(of: file))
        let stored = try key?.seal(chunk: bytes, id) ?? bytes
        try BackupDisk.replace(file, with: stored, isDurable: false)
        written.insert(file)
        return (id, stored.count)
    }

    /// Returns a Boolean value that indicates whether all chunks of a content are there, by their names.
    func holds(_ content: BackupContent) -> Bool {
        guard let all = try? ids(of: content) else { return false }
        return (all + (content.lists ?? [])).allSatisfy { BackupDisk.size(path(of: $0)) != nil }
    }

    /// Returns a chunk whose content has its digest.
    ///
    /// - Throws: `damaged`, and the errors of the disk.
    func get(_ id: ChunkID) throws(BackupError) -> [UInt8] {
        let part = "chunk " + id.name
        guard let stored = try BackupDisk.read(path(of: id)) else { throw .damaged(part, "it is missing") }
        let bytes: [UInt8]
        if let key {
            guard let opened = key.open(chunk: stored, id) else { throw .damaged(part, "its seal does not hold") }
            bytes = opened
        } else {
            bytes = stored
        }
        guard self.id(of: bytes) == id else { throw .damaged(part, "its digest does not hold") }
        return bytes
    }

    /// Returns the names of the chunks of a content, in order.
    func ids(of content: BackupContent) throws(BackupError) -> [ChunkID] {
        guard let lists = content.lists else { return content.chunks }
        var ids: [ChunkID] = []
        for list in lists {
            let bytes = try get(list)
            for start in stride(from: 0, to: bytes.count, by: ChunkID.byteCount) {
                guard let id = ChunkID(bytes[start..<min(start + ChunkID.byteCount, bytes.count)]) else {
                    throw .damaged("chunk " + list.name, "it is no list of chunks")
                }
                ids.append(id)
            }
        }
        return ids
    }

    /// Reads a content that is held in memory as a whole.
    func bytes(of content: BackupContent) throws(BackupError) -> [UInt8] {
        var bytes: [UInt8] = []
        for id in try ids(of: content) { bytes += try get(id) }
        guard Int64(bytes.count) == content.bytes else { throw .damaged("a list of files", "it has another length") }
        return bytes
    }

    /// Removes the chunks that are not named.
    ///
    /// - Returns: Their number and bytes.
    func removeChunks(except used: Set<ChunkID>) throws -> (count: Int, bytes: Int64) {
        var count = 0
        var bytes: Int64 = 0
        for folder in try BackupDisk.names(in: path + "/chunks") ?? [] {
            let folderPath = path + "/chunks/" + folder
            for name in try BackupDisk.names(in: folderPath) ?? [] {
                if let id = ChunkID(name: name), used.contains(id) { continue }
                bytes += BackupDisk.size(folderPath + "/" + name) ?? 0
                count += 1
                try BackupDisk.remove(folderPath + "/" + name)
            }
        }
        return (count, bytes)
    }

    // MARK: Moments

    private func manifestPath(_ name: String) -> String { path + "/moments/" + name + Self.manifestEnd }

    /// The names of all moments, the oldest first.
    package func momentNames() throws -> [String] {
        (try BackupDisk.names(in: path + "/moments") ?? []).filter { $0.hasSuffix(Self.manifestEnd) }
            .map { String($0.dropLast(Self.manifestEnd.count)) }.sorted()
    }

    /// Returns the manifest of a moment.
    ///
    /// - Throws: `noSuchMoment`, `damaged`, `newerFormat`, and the errors of the disk.
    package func manifest(_ name: String) throws -> BackupManifest {
        // No name leads out of the folder.
        guard name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") }),
            let bytes = try BackupDisk.read(manifestPath(name))
        else { throw BackupError.noSuchMoment(name, path: path) }
        let damaged = BackupError.damaged("moment " + name, "its digest does not hold")
        // The last line is the digest of all before it.
        guard bytes.count > 65, bytes.last == 10 else { throw damaged }
        let body = Array(bytes.dropLast(65))
        guard String(decoding: bytes.suffix(65).dropLast(), as: UTF8.self) == Self.digest(body) else { throw damaged }
        var text = Array(body.dropLast())
        if let key {
            guard let sealed = Data(base64Encoded: Data(text)),
                let opened = key.open(manifest: Array(sealed), named: name)
            else { throw BackupError.damaged("moment " + name, "its seal does not hold") }
            text = opened
        }
        if let format = try? JSONDecoder().decode(FormatNumber.self, from: Data(text)).format,
            format > BackupHeader.formatMax
        {
            throw BackupError.newerFormat(format, path: path)
        }
        guard let manifest = try? JSONDecoder().decode(BackupManifest.self, from: Data(text)), manifest.name == name
        else { throw BackupError.damaged("moment " + name, "its form is not known") }
        return manifest
    }

    /// Writes the manifest of a moment whose chunks are all in the folder: durable on return, with them.
    func finish(_ manifest: BackupManifest) throws {
        try BackupDisk.synchronize(files: written)
        written = []
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var text = Array(try encoder.encode(manifest))
        if let key { text = Array(Data(try key.seal(manifest: text, named: manifest.name)).base64EncodedData()) }
        let body = text + [10]
        try BackupDisk.replace(
            manifestPath(manifest.name), with: body + Array(Self.digest(body).utf8) + [10], isDurable: true)
    }

    /// Removes the manifest of a moment; its chunks stay.
    func removeManifest(_ name: String) throws {
        try BackupDisk.remove(manifestPath(name))
        try BackupDisk.synchronizeFolder(path + "/moments")
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        // A digest of SHA-256 has 32 bytes.
        ChunkID(SHA256.hash(data: bytes))!.name
    }

    // MARK: Unfinished work

    /// A Boolean value that indicates whether the last change of the folder was cut off.
    var isUnfinished: Bool { BackupDisk.size(path + "/" + Self.openName) != nil }

    func beginChange() throws {
        // Of an attempt that was cut off in this process.
        written = []
        try BackupDisk.replace(path + "/" + Self.openName, with: [10], isDurable: true)
    }

    func endChange() throws {
        try BackupDisk.remove(path + "/" + Self.openName)
    }
}
