import CSQLite
import OrderedStore

/// One state of a store's file, byte by byte, while others go on reading and writing.
///
/// The state is that of a commit: the pages of the log up to it, and those of the file for all other pages. An open read transaction keeps both as they
/// are. If it uses the log, no connection can start the log over, and a checkpoint moves no page that is not among
/// those of the log up to the state. If it uses the file alone, because all of the log was moved when it began, no checkpoint can write to the file; the log may start over then,
/// which its salts show, and is no longer needed.
///
/// Both are read through SQLite's own files: closing another descriptor of a file would end the locks that SQLite holds on it in this process.
struct StateImage {
    private let file: SQLiteFile
    private let log: SQLiteFile?
    private let overlay: LogOverlay
    let pageCount: Int

    /// Chooses the state: the newest one that is committed.
    ///
    /// - Parameter handle: Has a read transaction that has read something, and keeps it as long as this value is used.
    init(_ handle: borrowing Handle) throws(StoreError) {
        file = try SQLiteFile(handle, SQLITE_FCNTL_FILE_POINTER)
        let log = try SQLiteFile(handle, SQLITE_FCNTL_JOURNAL_POINTER)
        let overlay = try LogOverlay(log)
        self.log = overlay.pages.isEmpty ? nil : log
        self.overlay = overlay
        if let count = overlay.pageCount {
            pageCount = count
        } else {
            // In the header of the file's first page: its size in pages.
            pageCount = Int(try file.bytes(at: 28, count: 4).word(0))
        }
    }

    /// Returns the bytes of pages, the first of which has the number 0.
    func pages(from first: Int, count: Int) throws(StoreError) -> Bytes {
        var bytes = try file.bytes(at: Int64(first) * Int64(Format.pageBytes), count: count * Format.pageBytes)
        guard let log else { return bytes }
        for index in 0..<count {
            guard let place = overlay.pages[UInt32(first + index + 1)] else { continue }
            let page = try log.bytes(at: place, count: Format.pageBytes)
            // The log starts over only if the file alone is the state.
            guard try overlay.isOf(log) else { break }
            bytes.replaceSubrange(index * Format.pageBytes..<(index + 1) * Format.pageBytes, with: page)
        }
        return bytes
    }
}

/// The pages of a log up to its last commit.
private struct LogOverlay {
    /// The places in the log where the newest content of a page begins, by its number from 1 on.
    private(set) var pages: [UInt32: Int64] = [:]
    /// The size of the file in pages after the last commit; nil without one.
    private(set) var pageCount: Int?
    private var header: Bytes = []

    private static let headerBytes = 32
    private static let frameHeaderBytes = 24

    init(_ log: SQLiteFile) throws(StoreError) {
        let size = try log.size()
        guard size >= Int64(Self.headerBytes) else { return }
        let header = try log.bytes(at: 0, count: Self.headerBytes)
        var sum = LogChecksum(isBigEndian: header[3] & 1 == 1)
        sum.add(header[..<24])
        guard sum.first == header.word(24), sum.second == header.word(28) else { return }
        let frameBytes = Self.frameHeaderBytes + Format.pageBytes
        var uncommitted: [UInt32: Int64] = [:]
        var place = Int64(Self.headerBytes)
        while place + Int64(frameBytes) <= size {
            let frame = try log.bytes(at: place, count: frameBytes)
            guard frame[8..<16] == header[16..<24] else { break }
            sum.add(frame[..<8])
            sum.add(frame[Self.frameHeaderBytes...])
            guard sum.first == frame.word(16), sum.second == frame.word(20) else { break }
            uncommitted[frame.word(0)] = place + Int64(Self.frameHeaderBytes)
            if frame.word(4) != 0 {
                pages.merge(uncommitted) { _, newer in newer }
                uncommitted = [:]
                pageCount = Int(frame.word(4))
            }
            place += Int64(frameBytes)
        }
        self.header = header
        if try !isOf(log) {
            pages = [:]
            pageCount = nil
        }
    }

    /// Whether the log has not started over since this was read.
    func isOf(_ log: SQLiteFile) throws(StoreError) -> Bool {
        try log.bytes(at: 0, count: Self.headerBytes) == header
    }
}

/// A file that SQLite has open.
struct SQLiteFile {
    private let pointer: UnsafeMutablePointer<sqlite3_file>
    private let path: String

    /// - Parameter operation: `SQLITE_FCNTL_FILE_POINTER` for the store's file, `SQLITE_FCNTL_JOURNAL_POINTER` for its log.
    init(_ handle: borrowing Handle, _ operation: Int32) throws(StoreError) {
        guard let database = handle.database else { throw .closed }
        var pointer: UnsafeMutablePointer<sqlite3_file>?
        let result = sqlite3_file_control(database, "main", operation, &pointer)
        guard result == SQLITE_OK, let pointer, pointer.pointee.pMethods != nil else { throw handle.failure(result) }
        self.pointer = pointer
        path = handle.path
    }

    func size() throws(StoreError) -> Int64 {
        var size: Int64 = 0
        let result = pointer.pointee.pMethods.pointee.xFileSize(pointer, &size)
        guard result == SQLITE_OK else { throw StoreError(sqlite: result, systemError: 0, path: path) }
        return size
    }

    /// The bytes from a place on; zeros behind the end.
    func bytes(at place: Int64, count: Int) throws(StoreError) -> Bytes {
        var result = SQLITE_OK
        let bytes = Bytes(unsafeUninitializedCapacity: count) { buffer, filled in
            result = pointer.pointee.pMethods.pointee.xRead(pointer, buffer.baseAddress, Int32(count), place)
            filled = count
        }
        // SQLITE_IOERR_SHORT_READ: SQLite has filled the rest with zeros.
        guard result == SQLITE_OK || result == SQLITE_IOERR | 2 << 8 else {
            throw StoreError(sqlite: result, systemError: 0, path: path)
        }
        return bytes
    }
}
