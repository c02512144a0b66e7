import Crypto
import Foundation

/// The moments of one cloud at a place: chunks by their digests, and a manifest for each moment.
///
/// Its functions wait for the place. One process at a time may change a backup.
package final class Backup {
    /// The place.
    package let place: any BackupPlace
    /// Whether chunks are put that are there, for a backup that has lost some.
    package var putsEverything = false
    let key: BackupKey?
    private let isLocked: Bool
    /// The series of changes that is being sent; its segments stay also before it has a moment.
    package var activeSeries: String?
    private let protection: ChunkProtection
    /// Whether what is put is protected from being removed by another object for the same backup.
    private let protects: Bool
    /// The chunks that are there, where asking for each would take long; nil: ask.
    private var known: Set<ChunkID>?
    /// Lists that were read, where reading them again would take long.
    private var lists: [ChunkID: [UInt8]] = [:]
    /// The moments that were finished here: some services list an object late.
    private var finished: Set<String> = []

    private static let headerName = BackupHeader.fileName
    /// There while a moment is taken or removed: chunks may lie at the place that no moment names.
    private static let openName = "unfinished"
    private static let momentsName = "moments"
    private static let chunksName = "chunks"
    private static let manifestEnd = ".moment"
    /// Objects that are read at a time.
    private static let readsMax = 16

    private init(
        _ place: any BackupPlace, key: BackupKey?, isLocked: Bool, protection: ChunkProtection? = nil
    ) {
        self.place = place
        self.key = key
        self.isLocked = isLocked
        protects = protection != nil
        self.protection = protection ?? ChunkProtection()
    }

    /// Returns an object with which another thread puts chunks while this one takes moments and removes them. It lives no longer than this one.
    func companion() -> Backup { Backup(place.companion(), key: key, isLocked: false, protection: protection) }

    deinit { if isLocked { place.unlock() } }

    /// A Boolean value that indicates whether the chunks are sealed.
    package var isSealed: Bool { key != nil }

    /// The place as commands name it.
    package var address: String { place.address }

    // MARK: Opening

    /// Opens a backup to change it, and begins one at an empty or new place.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - access: Seals a new backup, and opens one that is sealed.
    /// - Throws: `notABackup`, `newerFormat`, `passphraseMissing`, `passphraseWrong`, `notSealed`, `keyMissing`, `keyWrong`, `recipientUnusable`, `busy`, and
    ///   the errors of the place.
    package static func begin(_ place: any BackupPlace, _ access: BackupAccess = BackupAccess()) throws -> Backup {
        if try place.length(of: headerName) == nil {
            // A first attempt may have left its lock.
            let isFree = try place.prepare().allSatisfy { $0 == FolderPlace.lockName || $0.hasPrefix(headerName) }
            guard isFree else {
                throw BackupError.notABackup(place.address, remedy: "name a backup, or an empty place")
            }
        }
        try place.lock()
        do {
            if try place.length(of: headerName) == nil {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                try place.put(headerName, Array(try encoder.encode(newHeader(access))) + [10])
            }
            return Backup(place, key: try key(place, access), isLocked: true)
        } catch {
            place.unlock()
            throw error
        }
    }

    /// Opens a backup in a folder to change it, and begins one in an empty or new folder.
    package static func begin(_ path: String, _ access: BackupAccess = BackupAccess()) throws -> Backup {
        try begin(FolderPlace(path), access)
    }

    private static func newHeader(_ access: BackupAccess) throws -> BackupHeader {
        var header = BackupHeader()
        if let recipient = access.recipient {
            guard let folder = access.writingKeys else { throw BackupError.keyMissing("", "begun") }
            let writing = WritingKey(for: recipient)
            let seal = try writing.sealed()
            // Before the header: nobody else could open a backup without moments either.
            try writing.keep(seal, in: folder)
            header.format = BackupHeader.recipientFormat
            header.recipient = seal
        } else if let passphrase = access.passphrase {
            header.seal = try BackupKey.create(passphrase: passphrase, cost: access.cost ?? BackupKey.usualCost).1
        }
        return header
    }

    /// Opens a backup to read it.
    ///
    /// - Throws: As `begin`, but `busy`.
    package static func open(_ place: any BackupPlace, _ access: BackupAccess = BackupAccess()) throws -> Backup {
        Backup(place, key: try key(place, access), isLocked: false)
    }

    /// Opens a backup in a folder to read it.
    package static func open(_ path: String, _ access: BackupAccess = BackupAccess()) throws -> Backup {
        try open(FolderPlace(path), access)
    }

    private static func key(_ place: any BackupPlace, _ access: BackupAccess) throws -> BackupKey? {
        let path = place.address
        guard let bytes = try place.read(headerName) else { throw BackupError.notABackup(path) }
        guard let format = try? JSONDecoder().decode(FormatNumber.self, from: Data(bytes)) else {
            throw BackupError.notABackup(path)
        }
        guard format.format <= BackupHeader.formatMax else {
            throw BackupError.newerFormat(format.format, path: path)
        }
        guard let header = try? JSONDecoder().decode(BackupHeader.self, from: Data(bytes)) else {
            throw BackupError.notABackup(path)
        }
        if let seal = header.recipient { return try key(seal, access, path) }
        if access.recipient != nil { throw BackupError.otherRecipient(path) }
        if access.privateKey != nil { throw BackupError.notSealed(path) }
        switch (header.seal, access.passphrase) {
        case (nil, nil): return nil
        case (nil, _?): throw BackupError.notSealed(path)
        case (_?, nil): throw BackupError.passphraseMissing(path)
        case (let seal?, let passphrase?):
            guard let key = try BackupKey.open(seal, passphrase: passphrase, path: path) else {
                throw BackupError.passphraseWrong(path)
            }
            return key
        }
    }

    /// Opens a backup that is sealed to a recipient: with its private key, or to add moments with the writing key of this machine.
    private static func key(
        _ seal: BackupHeader.RecipientSeal, _ access: BackupAccess, _ path: String
    ) throws -> BackupKey {
        guard seal.kind == BackupHeader.RecipientSeal.hpke else {
            throw BackupError.newerFormat(BackupHeader.formatMax + 1, path: path)
        }
        if access.passphrase != nil { throw BackupError.notSealed(path) }
        if let recipient = access.recipient, recipient.description != seal.recipient {
            throw BackupError.otherRecipient(path)
        }
        if let privateKey = access.privateKey {
            let writing = try WritingKey(seal, opening: privateKey, path: path)
            if let folder = access.writingKeys { try writing.keep(seal, in: folder) }
            return BackupKey(writing, opening: privateKey)
        }
        guard let folder = access.writingKeys else { throw BackupError.keyMissing(path, "read") }
        guard let writing = try WritingKey(seal, in: folder) else { throw BackupError.noWritingKey(path) }
        return BackupKey(writing, opening: nil)
    }

    /// Throws if contents of the backup cannot be opened.
    func requireContents(_ action: String) throws(BackupError) {
        guard key?.opensContents ?? true else { throw .keyMissing(address, action) }
    }

    /// Forgets the key of the contents that were put: none of them can be opened here any more.
    func forgetContentKey() { key?.forgetContentKey() }

    private struct FormatNumber: Decodable { var format: Int }

    // MARK: Chunks

    private static func name(of id: ChunkID) -> String {
        let name = id.name
        return "\(chunksName)/\(name.prefix(2))/\(name)"
    }

    /// Returns the name of a chunk.
    func id(of bytes: [UInt8], _ kind: ChunkKind) -> ChunkID {
        let digest = key.map { $0.id(of: bytes, kind) } ?? Array(SHA256.hash(data: bytes))
        // Both digests have 32 bytes.
        return ChunkID(digest)!
    }

    /// Reads what the newest moment names, where asking for each chunk would take long.
    func learnChunks(of manifest: BackupManifest?) throws {
        if place.answersQuickly { return }
        var found: Set<ChunkID> = []
        // What cannot be read is put again.
        if !putsEverything, let manifest, let used = try? chunks(of: [manifest]) { found = used }
        known = found
    }

    /// Puts a chunk, unless it is there; durable when a manifest is.
    ///
    /// - Returns: Its name, and the bytes that were written; 0 if it was there.
    func put(_ bytes: [UInt8], _ kind: ChunkKind) throws -> (id: ChunkID, written: Int) {
        try place.keepLock(isSure: false)
        let id = id(of: bytes, kind)
        if protects { protection.protect(id) }
        let isKnown = known?.contains(id) ?? false
        let length = Int64(bytes.count + (key?.sealBytes(kind) ?? 0))
        // Somebody may be about to remove what is there.
        if try !protects && (isKnown || !putsEverything && holds(id, stored: length)) { return (id, 0) }
        let stored = try key?.seal(chunk: bytes, id, kind) ?? bytes
        try place.putLater(Self.name(of: id), stored)
        known?.insert(id)
        return (id, stored.count)
    }

    /// - Parameter stored: The length that it must have; nil: any.
    private func holds(_ id: ChunkID, stored: Int64?) throws(BackupError) -> Bool {
        if let known { return known.contains(id) }
        let length = try place.length(of: Self.name(of: id))
        return stored == nil ? length != nil : length == stored
    }

    /// Returns a Boolean value that indicates whether all chunks of a content are there, by their names.
    func holds(_ content: BackupContent) -> Bool {
        guard !putsEverything, let all = try? ids(of: content) else { return false }
        return (all + (content.lists ?? [])).allSatisfy { (try? holds($0, stored: nil)) ?? false }
    }

    /// Returns a chunk whose content has its digest.
    ///
    /// - Throws: `damaged`, and the errors of the place.
    func get(_ id: ChunkID, _ kind: ChunkKind) throws(BackupError) -> [UInt8] { try get([id], kind)[0] }

    /// Returns some chunks, each of whose content has its digest.
    ///
    /// - Throws: `damaged`, and the errors of the place.
    func get(_ ids: [ChunkID], _ kind: ChunkKind) throws(BackupError) -> [[UInt8]] {
        if isLocked { try place.keepLock(isSure: false) }
        let stored = try place.read(ids.map(Self.name))
        var chunks: [[UInt8]] = []
        for (id, stored) in zip(ids, stored) { chunks.append(try opened(stored, id, kind)) }
        return chunks
    }

    private func opened(_ stored: [UInt8]?, _ id: ChunkID, _ kind: ChunkKind) throws(BackupError) -> [UInt8] {
        let part = "chunk " + id.name
        guard let stored else { throw .damaged(part, "it is missing") }
        let bytes: [UInt8]
        if let key {
            guard let opened = key.open(chunk: stored, id, kind) else { throw .damaged(part, "its seal does not hold") }
            bytes = opened
        } else {
            bytes = stored
        }
        guard self.id(of: bytes, kind) == id else { throw .damaged(part, "its digest does not hold") }
        return bytes
    }

    /// Reads chunks, many at a time, and gives them to `body` one by one in order.
    func forEach(_ ids: [ChunkID], _ body: ([UInt8]) throws(BackupError) -> Void) throws(BackupError) {
        for start in stride(from: 0, to: ids.count, by: Self.readsMax) {
            for bytes in try get(Array(ids[start..<min(start + Self.readsMax, ids.count)]), .content) {
                try body(bytes)
            }
        }
    }

    /// Reads lists that are needed soon, many at a time, where reading one takes long.
    private func fetch(_ ids: some Sequence<ChunkID>) throws(BackupError) {
        if place.answersQuickly { return }
        let missing = ids.filter { lists[$0] == nil }
        for start in stride(from: 0, to: missing.count, by: Self.readsMax) {
            let part = Array(missing[start..<min(start + Self.readsMax, missing.count)])
            for (id, bytes) in zip(part, try get(part, .list)) { lists[id] = bytes }
        }
    }

    private func list(_ id: ChunkID) throws(BackupError) -> [UInt8] {
        if let held = lists[id] { return held }
        return try get(id, .list)
    }

    /// Returns the names of the chunks of a content, in order.
    func ids(of content: BackupContent) throws(BackupError) -> [ChunkID] {
        guard let lists = content.lists else { return content.chunks }
        var ids: [ChunkID] = []
        try fetch(lists)
        for list in lists {
            let bytes = try self.list(list)
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
        for id in try ids(of: content) { bytes += try list(id) }
        guard Int64(bytes.count) == content.bytes else { throw .damaged("a list of files", "it has another length") }
        return bytes
    }

    /// Returns the names of all chunks that moments need.
    func chunks(of manifests: [BackupManifest]) throws(BackupError) -> Set<ChunkID> {
        var used: Set<ChunkID> = []
        var listings: Set<BackupContent> = []
        for manifest in manifests {
            let new = manifest.folders.values.filter { listings.insert($0).inserted }
            used.formUnion(try chunks(of: manifest, listings: new))
        }
        return used
    }

    private func chunks(of manifest: BackupManifest, listings: [BackupContent]) throws(BackupError) -> Set<ChunkID> {
        var used: Set<ChunkID> = []
        func use(_ content: BackupContent) throws(BackupError) {
            used.formUnion(content.lists ?? [])
            used.formUnion(try ids(of: content))
        }
        try fetch(listings.flatMap { $0.chunks + ($0.lists ?? []) })
        for content in [manifest.store] + manifest.files.map(\.content) { try use(content) }
        for listing in listings {
            try use(listing)
            let files = try files(listing)
            try fetch(files.flatMap { $0.content.lists ?? [] })
            for file in files { try use(file.content) }
        }
        return used
    }

    /// Removes the chunks that are not named.
    ///
    /// - Returns: Their number and bytes.
    func removeChunks(except used: Set<ChunkID>) throws -> (count: Int, bytes: Int64) {
        try place.keepLock(isSure: true)
        let unused = try place.list(Self.chunksName).filter { object in
            if let age = object.age, age < place.unnamedAgeMin { return false }
            return ChunkID(name: BackupDisk.name(of: object.name)).map { !used.contains($0) } ?? true
        }
        for start in stride(from: 0, to: unused.count, by: Self.readsMax) {
            try place.keepLock(isSure: false)
            let part = unused[start..<min(start + Self.readsMax, unused.count)]
            try protection.remove(part.map(\.name)) { try place.remove($0, isDurable: false) }
        }
        known = nil
        return (unused.count, unused.reduce(0) { $0 + $1.length })
    }

    // MARK: Moments

    private static func manifestName(_ name: String) -> String { "\(momentsName)/\(name)\(manifestEnd)" }

    /// The names of all moments, the oldest first.
    package func momentNames() throws -> [String] { try moments().map(\.name) }

    /// Returns all moments but the newest, the oldest first, that may be removed.
    ///
    /// A moment stays until the one after it has its age: before that there may be another one, not yet listed, that needs chunks of it.
    func momentNames(except count: Int) throws -> [String] {
        let moments = try moments()
        return zip(moments, moments.dropFirst()).dropLast(max(0, count - 1))
            .filter { _, next in next.age.map { $0 >= place.unnamedAgeMin } ?? true }.map(\.0.name)
    }

    private func moments() throws -> [(name: String, age: Int64?)] {
        let listed: [(String, Int64?)] = try place.list(Self.momentsName).compactMap { object in
            let name = BackupDisk.name(of: object.name)
            return name.hasSuffix(Self.manifestEnd) ? (String(name.dropLast(Self.manifestEnd.count)), object.age) : nil
        }
        let late = finished.subtracting(listed.map(\.0)).map { ($0, 0 as Int64?) }
        return (listed + late).sorted { $0.0 < $1.0 }.map { (name: $0.0, age: $0.1) }
    }

    /// Returns the manifest of a moment.
    ///
    /// - Throws: `noSuchMoment`, `damaged`, `newerFormat`, and the errors of the place.
    package func manifest(_ name: String) throws -> BackupManifest {
        let path = address
        // No name leads out of the folder.
        guard name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") }),
            let bytes = try place.read(Self.manifestName(name))
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
            format > BackupManifest.formatMax
        {
            throw BackupError.newerFormat(format, path: path)
        }
        guard let manifest = try? JSONDecoder().decode(BackupManifest.self, from: Data(text)), manifest.name == name
        else { throw BackupError.damaged("moment " + name, "its form is not known") }
        return manifest
    }

    /// Writes the manifest of a moment whose chunks were all put: durable on return, with them.
    func finish(_ manifest: BackupManifest) throws {
        try place.finishPuts()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var text = Array(try encoder.encode(manifest))
        if let key { text = Array(Data(try key.seal(manifest: text, named: manifest.name)).base64EncodedData()) }
        let body = text + [10]
        // Whoever took the lock meanwhile may have removed chunks.
        try place.keepLock(isSure: true)
        try place.put(Self.manifestName(manifest.name), body + Array(Self.digest(body).utf8) + [10])
        finished.insert(manifest.name)
    }

    /// Removes the manifests of moments; their chunks stay.
    func removeManifests(_ names: some Sequence<String>) throws {
        try place.remove(names.map(Self.manifestName), isDurable: true)
        finished.subtract(names)
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        // A digest of SHA-256 has 32 bytes.
        ChunkID(SHA256.hash(data: bytes))!.name
    }

    // MARK: Unfinished work

    /// Returns a Boolean value that indicates whether the last change of the backup was cut off.
    func isUnfinished() throws(BackupError) -> Bool { try place.length(of: Self.openName) != nil }

    /// Returns when all chunks that were put are durable.
    func finishPuts() throws(BackupError) { try place.finishPuts() }

    func beginChange() throws {
        // Of an attempt that was cut off in this process.
        place.forgetPuts()
        try place.put(Self.openName, [10])
    }

    func endChange() throws { try place.remove([Self.openName], isDurable: false) }
}
