import CSQLite
import OrderedStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension StoreError {
    /// - Parameter systemError: The error of the operating system, when it was asked.
    init(sqlite result: Int32, systemError: Int32, path: String) {
        var details = ["path": path, "sqlite": String(result)]
        if systemError != 0 { details["errno"] = String(systemError) }
        let (code, reason, remedy) = Self.meaning(of: result, systemError: systemError)
        self.init(code: code, reason: reason, remedy: remedy, details: details)
    }

    private static func meaning(of result: Int32, systemError: Int32) -> (Code, String, String) {
        switch result & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED:
            (.busy, "another process holds the store", "try again; end the other process if this goes on")
        case SQLITE_FULL:
            (.diskFull, "the disk is full", "make room, then try again; nothing acknowledged was lost")
        case SQLITE_IOERR where systemError == ENOSPC || systemError == EDQUOT:
            (.diskFull, "the disk is full", "make room, then try again; nothing acknowledged was lost")
        case SQLITE_READONLY where result == SQLITE_READONLY | 4 << 8:
            // SQLITE_READONLY_DBMOVED
            (
                .unavailable, "the store's file is not where it was opened",
                "check the disk and the path, then start again"
            )
        case SQLITE_READONLY:
            (.readOnly, "the store cannot be written to", "make the file and its folder writable")
        case SQLITE_CANTOPEN where systemError == EROFS:
            (.readOnly, "the store cannot be written to", "make the file and its folder writable")
        case SQLITE_CORRUPT:
            // Also the answer to a page that the disk cannot read.
            (.corrupt, "the store is damaged", "check the disk; restore the store from a backup if that does not help")
        case SQLITE_NOTADB:
            (.notAStore, "the file is not a store", "name another file")
        case SQLITE_CANTOPEN where systemError == EMFILE || systemError == ENFILE:
            (.unavailable, "the store cannot be opened", "raise the limit of open files (ulimit -n), then try again")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
            (
                .unavailable, "the store cannot be opened",
                "check the path, the permissions of file and folder, and the limit of open files"
            )
        case SQLITE_NOMEM:
            (.unavailable, "there is not enough memory for the store", "free memory, then try again")
        default:
            (.unavailable, "the store does not answer", "check the disk, then try again")
        }
    }

    static func readOnly(path: String) -> Self {
        Self(
            code: .readOnly, reason: "the store cannot be written to",
            remedy: "make the file and its folder writable", details: ["path": path])
    }

    /// The error of a file that may be written to, but could be opened for reading only: the first attempt failed for another reason.
    static func openedForReadingOnly(path: String) -> Self {
        Self(
            code: .unavailable, reason: "the store cannot be opened",
            remedy: "check the disk and the limit of open files, then try again", details: ["path": path])
    }

    static func notAStore(path: String) -> Self {
        Self(code: .notAStore, reason: "the file is not a store", remedy: "name another file", details: ["path": path])
    }

    static func newerFormat(_ version: Int64, path: String) -> Self {
        Self(
            code: .newerFormat, reason: "a newer version of Welkin wrote the store",
            remedy: "use that version or a later one", details: ["path": path, "format": String(version)])
    }

    static func olderFormat(_ version: Int64, path: String) -> Self {
        Self(
            code: .olderFormat,
            reason: "an older version of Welkin wrote the store, in a form that this one does not read",
            remedy: "go on with the version that wrote it, or move the folder away and begin a new cloud",
            details: ["path": path, "format": String(version), "read": String(Format.version)])
    }

    static func corrupt(path: String) -> Self {
        Self(
            code: .corrupt, reason: "the store is damaged", remedy: "restore it from a backup",
            details: ["path": path])
    }

    static func noFolder(path: String) -> Self {
        Self(
            code: .unavailable, reason: "the store's folder does not exist", remedy: "make the folder first",
            details: ["path": path])
    }

    static func noFile(path: String) -> Self {
        Self(
            code: .unavailable, reason: "the store's file does not exist", remedy: "check the path",
            details: ["path": path])
    }

    static func fileExists(path: String) -> Self {
        Self(
            code: .unavailable, reason: "there is a file already", remedy: "name a new file", details: ["path": path])
    }

    static func noWriteAheadLog(path: String) -> Self {
        Self(
            code: .unavailable, reason: "the file system cannot hold a store", remedy: "use a local disk",
            details: ["path": path])
    }
}
