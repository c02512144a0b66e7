import CSQLite
import OrderedStore

/// Reads what is committed to a store in a file, by whichever process: the pages that each look finds changed.
///
/// It reads the frames of the log between two positions. One of two connections always has a read transaction, which began before the other one's
/// ended. So no frame is missed: while a reader uses the log, no connection can start it over. A reader that began when all of the log was in the file does not keep it
/// from starting over, but keeps every checkpoint from writing to the file; then the log can start over once, directly behind the position, which its salts show. What is no such
/// successor is `lost`.
///
/// Blocks; for one thread at a time.
package final class LogFollower {
    /// The pages that changed.
    package struct Changes: Sendable {
        /// The newest content of each, by its number from 1 on.
        package fileprivate(set) var pages: [UInt32: Bytes] = [:]
        /// The size of the file in pages.
        package fileprivate(set) var pageCount = 0
    }

    /// Why the follower cannot go on: the whole state has to be read, and another follower begun.
    package struct Lost: Error, CustomStringConvertible {
        /// A fixed sentence.
        package let description: String
    }

    /// The bytes of a page.
    package static var pageBytes: Int { Format.pageBytes }

    private struct Position {
        /// The salts of the log; nil before the log has any frame.
        var salts: Bytes?
        var place: Int64 = Int64(LogFollower.headerBytes)
        var checksum: LogChecksum?
    }

    private let readers: [Connection]
    private let mover: Connection
    private let locker: Connection
    private var current = 0
    private var position = Position()
    private let pagesMax: Int
    /// The pages of the log at which it is moved the next time.
    private var nextMove: Int
    private let bytesMax: Int
    private var isClosed = false

    private static let headerBytes = 32
    private static let frameHeaderBytes = 24
    private static let frameBytes = frameHeaderBytes + Format.pageBytes

    /// Begins at the newest commit.
    ///
    /// - Parameters:
    ///   - path: The path of the store's file.
    ///   - pagesMax: The pages of the log at which it is moved into the file and may start over: the follower itself keeps it from that otherwise.
    ///   - bytesMax: The bytes that one look reads at most; behind more it is lost.
    package init(path: String, pagesMax: Int = 8192, bytesMax: Int = 128 << 20) throws {
        let partitions = PartitionIDs()
        func connect() throws(StoreError) -> Connection {
            Connection(
                try Handle(path: path, options: SQLiteStore.Options(), role: .checkpointer, partitions: partitions))
        }
        readers = [try connect(), try connect()]
        mover = try connect()
        locker = try connect()
        self.pagesMax = pagesMax
        nextMove = pagesMax
        self.bytesMax = bytesMax
        let isOurs = try readers[0].use { (handle) throws(StoreError) in try handle.isOurs() }
        guard isOurs else { throw StoreError.notAStore(path: path) }
        try begin(0)
        do {
            _ = try read(with: readers[0], keeping: nil)
        } catch {
            readers[0].endRead()
            throw error
        }
    }

    deinit { close() }

    /// Ends the transaction, and lets the log start over.
    package func close() {
        if isClosed { return }
        isClosed = true
        readers[current].endRead()
        for connection in readers + [mover, locker] { connection.close() }
    }

    /// Returns what was committed since the last call; nil if nothing was.
    ///
    /// - Throws: `Lost`, and the errors of the store.
    package func advance() throws -> Changes? {
        let changes = try look()
        if logPages < pagesMax { nextMove = pagesMax }
        guard logPages >= nextMove else { return changes }
        let all = try letLogStartOver(changes)
        // A long read may keep the log from starting over; then wait until there is as much to move again.
        nextMove = logPages + pagesMax
        return all
    }

    private var logPages: Int { Int(position.place) / Self.frameBytes }

    private func look() throws -> Changes? {
        let next = 1 - current
        try begin(next)
        var changes = Changes()
        do {
            changes = try read(with: readers[next], keeping: Changes()) ?? changes
        } catch {
            readers[next].endRead()
            throw error
        }
        readers[current].endRead()
        current = next
        return changes.pages.isEmpty ? nil : changes
    }

    private func begin(_ index: Int) throws(StoreError) {
        let connection = readers[index]
        _ = try connection.beginRead()
        do throws(StoreError) {
            // The first read takes the reader's lock.
            try connection.use { (handle) throws(StoreError) in
                _ = try handle.first(.anyEntry, step: { $0.step() }, take: { _ in true })
            }
        } catch {
            connection.endRead()
            throw error
        }
    }

    /// Moves all of the log into the file while nobody can commit, so that the next commit starts it over.
    private func letLogStartOver(_ earlier: Changes?) throws -> Changes? {
        // The bulk without keeping anybody from writing.
        try? mover.use { (handle) throws(StoreError) in try handle.checkpoint() }
        // Others may write all the time; then it is tried again later.
        guard (try? locker.use({ (handle) throws(StoreError) in try handle.beginWriting() })) != nil else {
            return earlier
        }
        defer { try? locker.use { (handle) throws(StoreError) in handle.rollback() } }
        var changes = earlier
        func add(_ more: Changes?) {
            guard let more else { return }
            guard var all = changes else {
                changes = more
                return
            }
            all.pages.merge(more.pages) { $1 }
            all.pageCount = more.pageCount
            changes = all
        }
        add(try look())
        try? mover.use { (handle) throws(StoreError) in try handle.checkpoint() }
        // A reader that begins now reads the file alone.
        add(try look())
        return changes
    }

    // MARK: Frames

    /// Reads the frames behind the position, and moves it.
    ///
    /// - Parameter keeping: What the pages are added to; nil: they are not kept.
    private func read(with connection: Connection, keeping: Changes?) throws -> Changes? {
        var position = position
        let bytesMax = keeping == nil ? Int.max : bytesMax
        let outcome: Result<Changes?, Lost> = try connection.use { (handle) throws(StoreError) in
            let log = try SQLiteFile(handle, SQLITE_FCNTL_JOURNAL_POINTER)
            let index = try LogIndex(handle)
            // Nothing was committed since the log started over, or ever.
            guard index.frameCount > 0 else { return .success(keeping) }
            if position.salts != index.salts {
                if let salts = position.salts, index.salts.word(0) != salts.word(0) &+ 1 {
                    return .failure(Lost(description: "the log started over unseen"))
                }
                let header = try log.bytes(at: 0, count: Self.headerBytes)
                var checksum = LogChecksum(isBigEndian: header[3] & 1 == 1)
                checksum.add(header[..<24])
                guard Bytes(header[16..<24]) == index.salts, checksum.first == header.word(24),
                    checksum.second == header.word(28)
                else { return .failure(Lost(description: "the log has another beginning")) }
                position = Position(salts: index.salts, checksum: checksum)
            }
            let end = Int64(Self.headerBytes) + Int64(index.frameCount) * Int64(Self.frameBytes)
            guard end >= position.place, var checksum = position.checksum else {
                return .failure(Lost(description: "the log is shorter than it was"))
            }
            guard end - position.place <= Int64(bytesMax) else {
                return .failure(Lost(description: "more was committed at a time than is kept in memory"))
            }
            var changes = keeping
            while position.place < end {
                let frame = try log.bytes(at: position.place, count: Self.frameBytes)
                checksum.add(frame[..<8])
                checksum.add(frame[Self.frameHeaderBytes...])
                guard Bytes(frame[8..<16]) == index.salts, checksum.first == frame.word(16),
                    checksum.second == frame.word(20)
                else { return .failure(Lost(description: "the log is damaged")) }
                changes?.pages[frame.word(0)] = Bytes(frame[Self.frameHeaderBytes...])
                if frame.word(4) != 0 { changes?.pageCount = Int(frame.word(4)) }
                position.place += Int64(Self.frameBytes)
            }
            position.checksum = checksum
            if var found = changes, found.pageCount > 0 {
                // What a later commit cut off is not there.
                let pageCount = found.pageCount
                found.pages = found.pages.filter { $0.key <= pageCount }
                changes = found
            }
            return .success(changes)
        }
        let changes = try outcome.get()
        self.position = position
        return changes
    }
}

/// How much of the log is committed, as SQLite tells all its connections.
private struct LogIndex {
    /// The frames up to the last commit.
    private(set) var frameCount = 0
    /// Eight bytes, as in the log's header.
    private(set) var salts: Bytes = []

    private static let regionBytes: Int32 = 32_768
    private static let copyBytes = 48

    /// Reads the two copies of the index's header until they agree.
    init(_ handle: borrowing Handle) throws(StoreError) {
        guard let database = handle.database else { throw .closed }
        var pointer: UnsafeMutablePointer<sqlite3_file>?
        let result = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &pointer)
        guard result == SQLITE_OK, let pointer, let methods = pointer.pointee.pMethods else {
            throw handle.failure(result)
        }
        // With SQLite's own mapping: of a file that is opened and closed again the process would lose its locks.
        var region: UnsafeMutableRawPointer?
        let mapped = methods.pointee.xShmMap(pointer, 0, Self.regionBytes, 0, &region)
        guard mapped == SQLITE_OK, let region else { throw handle.failure(mapped) }
        for _ in 0..<1000 {
            let both = Bytes(UnsafeRawBufferPointer(start: region, count: 2 * Self.copyBytes))
            guard both[..<Self.copyBytes] == both[Self.copyBytes...] else { continue }
            frameCount = both.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: 16, as: UInt32.self)) }
            salts = Bytes(both[32..<40])
            return
        }
        throw StoreError(
            code: .busy, reason: "the log's index changes all the time", remedy: "try again", details: [:])
    }
}
