import CSQLite
import OrderedStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Handle {
    /// Sees to it that the file is a store of this version, making one of an empty file.
    ///
    /// - Returns: The store's epoch.
    mutating func prepareFile(createsFile: Bool) throws(StoreError) -> UInt64 {
        let isNew = try !isOurs()
        if isNew {
            if !createsFile { throw .notAStore(path: path) }
            // Pages that hold nothing can be given back while the store is used.
            try execute("PRAGMA page_size = \(Format.pageBytes); PRAGMA auto_vacuum = INCREMENTAL")
        }
        try requireWriteAheadLog()
        if isNew { try create() }
        let identity = try identity()
        partitions.salt = identity.salt
        return identity.epoch
    }

    /// Reads the epoch and the salt of the checksums.
    func identity() throws(StoreError) -> StoreIdentity {
        guard let bytes = try row("SELECT identity FROM store", { $0.bytes(at: 0) }),
            let identity = StoreIdentity(bytes)
        else { throw .corrupt(path: path) }
        return identity
    }

    /// Gives the store another epoch. The salt stays: all checksums were made with it.
    ///
    /// - Parameter epoch: The new one; nil: one that is drawn.
    func renewEpoch(to epoch: UInt64? = nil) throws(StoreError) {
        let salt = try identity().salt
        let identity = epoch.map { StoreIdentity(epoch: $0, salt: salt) } ?? .drawn(salt: salt)
        try execute("UPDATE store SET identity = x'\(identity.hexadecimal)'")
    }

    /// Returns the name under which SQLite opens a file alone, as one that never changes.
    static func immutableName(of path: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.~".utf8)
        let digits = Array("0123456789ABCDEF".utf8)
        var name: Bytes = []
        for byte in path.utf8 {
            if plain.contains(byte) {
                name.append(byte)
            } else {
                name += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return "file:" + String(decoding: name, as: UTF8.self) + "?immutable=1"
    }

    /// Whether the file is a store that this version can use; false for an empty file.
    func isOurs() throws(StoreError) -> Bool {
        let application = try number("PRAGMA application_id")
        let version = try number("PRAGMA user_version")
        if application == 0, version == 0, try number("SELECT count(*) FROM sqlite_schema") == 0 { return false }
        if application != Format.applicationID { throw .notAStore(path: path) }
        if version > Format.version { throw .newerFormat(version, path: path) }
        if version < Format.version { throw .olderFormat(version, path: path) }
        return true
    }

    private func requireWriteAheadLog() throws(StoreError) {
        let mode = try row("PRAGMA journal_mode = WAL") { $0.bytes(at: 0) }
        if mode != Bytes("wal".utf8) { throw .noWriteAheadLog(path: path) }
        if try number("PRAGMA synchronous") != 2 { throw .noWriteAheadLog(path: path) }
    }

    private mutating func create() throws(StoreError) {
        try beginWriting()
        do throws(StoreError) {
            // Another process may have been quicker.
            if try !isOurs() {
                try execute(Format.tables)
                try execute("INSERT INTO store(identity) VALUES(x'\(StoreIdentity.drawn().hexadecimal)')")
                try execute("PRAGMA application_id = \(Format.applicationID)")
                try execute("PRAGMA user_version = \(Format.version)")
            }
            try commit()
        } catch {
            rollback()
            throw error
        }
    }

    /// Throws the error of a missing file or folder, which SQLite's own errors do not distinguish.
    static func checkLocation(_ path: String, mayBeMissing: Bool) throws(StoreError) {
        var status = stat()
        if stat(path, &status) == 0 {
            if status.st_mode & S_IFMT != S_IFREG { throw .notAStore(path: path) }
            return
        }
        if !mayBeMissing { throw .noFile(path: path) }
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        if stat(folder, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR { throw .noFolder(path: path) }
    }
}
