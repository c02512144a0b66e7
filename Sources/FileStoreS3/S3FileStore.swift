import AsyncLocks
import FileStore
import HTTPTransfer
import Synchronization

/// Files as objects of a service with the interface of S3: signed requests, path style, ranges, uploads in parts.
///
/// A sealed file is one object, `files/07/ID`. A draft is objects of up to 8 MiB, `drafts/ID/OFFSET`; sealing puts them together, by
/// the service itself where they are large enough, and deletes them afterwards. Keys are random (`FileID`), so nothing depends on
/// conditional requests, which not every service has. Appended bytes wait in memory until there are 8 MiB of them, or until
/// `synchronize` or `seal`.
package final class S3FileStore: FileStore {
    /// What the store needs of the world.
    package struct Connection: Sendable {
        /// Sends a request and returns the answer.
        package var send: @Sendable (HTTPClient.Request) async throws -> HTTPClient.Answer
        /// Milliseconds since 1970.
        package var now: @Sendable () -> Int64
        /// Waits.
        package var sleep: @Sendable (Duration) async throws -> Void
        /// A random number, for pauses.
        package var random: @Sendable () -> UInt64

        /// Creates a connection.
        ///
        /// - Parameters:
        ///   - now: Milliseconds since 1970.
        ///   - sleep: Waits.
        ///   - random: A random number, for pauses.
        ///   - send: Sends a request and returns the answer.
        package init(
            now: @escaping @Sendable () -> Int64,
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
            random: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) },
            send: @escaping @Sendable (HTTPClient.Request) async throws -> HTTPClient.Answer
        ) {
            self.now = now
            self.sleep = sleep
            self.random = random
            self.send = send
        }
    }

    /// The bytes of files as the store moves them.
    package struct Sizes: Sendable {
        /// The bytes of an object of a draft, and of a file that is sealed as a whole.
        package var segmentBytes = 8 << 20
        /// The smallest part of an upload but the last, by the rules of the interface.
        package var partBytesMin = 5 << 20
        /// The bytes of all drafts in memory; beyond, they are stored in smaller objects.
        package var bufferBytesMax = 256 << 20

        /// Creates the usual sizes.
        package init() {}
    }

    private struct State {
        var drafts: [FileID: S3Draft] = [:]
        var bufferedBytes = 0

        /// Replaces what is known of a draft; nil: nothing is.
        mutating func put(_ draft: S3Draft?, for id: FileID) {
            bufferedBytes += (draft?.buffer.count ?? 0) - (drafts[id]?.buffer.count ?? 0)
            drafts[id] = draft
        }
    }

    private let objects: S3Objects
    private let connection: Connection
    private let sizes: Sizes
    private let state = Mutex(State())
    private let turns = KeyedAsyncMutex<FileID>()

    /// There is no question for the space that a service has left; it refuses what it cannot keep.
    private static let freeBytesAssumed: Int64 = 1 << 50
    /// The seconds for which a URL of the service is good: a request that has begun goes on.
    private static let directSeconds = 300
    /// What a request left in memory is forgotten after this time, in milliseconds.
    private static let idleMax: Int64 = 3_600_000

    /// Keeps files in a bucket.
    ///
    /// - Parameters:
    ///   - place: The bucket, which exists, and the prefix of the keys.
    ///   - settings: The service and the keys.
    ///   - connection: What the store needs of the world.
    ///   - sizes: The bytes of files as the store moves them.
    package init(_ place: S3Place, settings: S3Settings, connection: Connection, sizes: Sizes = Sizes()) {
        objects = S3Objects(client: S3Client(place: place, settings: settings, connection: connection))
        self.connection = connection
        self.sizes = sizes
    }

    /// Checks that the service is there, accepts the keys, and has the bucket.
    ///
    /// - Throws: `unavailable` with the reason.
    package func check() async throws { _ = try await objects.list("", limit: 1, action: "use the object store") }

    // MARK: Drafts

    /// Returns the length of a draft in bytes; nil if there is none.
    package func draftLength(of id: FileID) async throws -> Int64? {
        try await turns.withLock(id) {
            // While a request of this process appends, the others have nothing newer.
            if let known = known(id), !known.buffer.isEmpty { return known.length }
            let draft = S3Draft(segments: try await segments(id), used: connection.now())
            if draft.segments.isEmpty {
                // A draft without bytes is in memory alone.
                return known(id).flatMap { $0.segments.isEmpty ? 0 : nil }
            }
            put(draft, for: id)
            return draft.length
        }
    }

    /// Appends bytes to a draft, which is created at offset 0.
    package func append(_ bytes: [UInt8], to id: FileID, at offset: Int64) async throws {
        try await turns.withLock(id) {
            var draft: S3Draft
            if let known = known(id), known.length == offset {
                draft = known
            } else {
                draft = known(id) ?? S3Draft()
                // Another process may have gone on.
                if draft.buffer.isEmpty { draft.segments = try await segments(id) }
            }
            guard draft.length == offset else { throw FileStoreError(.wrongOffset, "append to a file") }
            draft.buffer += bytes
            draft.used = connection.now()
            let buffered = state.withLock { $0.bufferedBytes } + bytes.count
            if draft.buffer.count >= sizes.segmentBytes || buffered > sizes.bufferBytesMax {
                // A failure leaves the draft as it was.
                draft = try await stored(draft, id, action: "append to a file")
            }
            put(draft, for: id)
        }
    }

    /// Returns up to `count` bytes of a draft from an offset on.
    package func readDraft(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8] {
        try await turns.withLock(id) {
            var draft: S3Draft
            if let known = known(id) {
                draft = known
            } else {
                draft = S3Draft(segments: try await segments(id))
                guard !draft.segments.isEmpty else { throw FileStoreError(.missing, "read a file") }
                draft.used = connection.now()
                put(draft, for: id)
            }
            guard offset >= 0, offset < draft.length, count > 0 else { return [] }
            let end = offset + min(Int64(count), draft.length - offset)
            return try await bytes(of: draft, id, from: offset, to: end)
        }
    }

    /// Makes a draft durable.
    package func synchronize(_ id: FileID) async throws {
        try await turns.withLock(id) {
            guard let draft = known(id) else { return }
            if !draft.buffer.isEmpty { put(try await stored(draft, id, action: "flush a file"), for: id) }
            // The next request may reach another process.
            put(nil, for: id)
        }
    }

    /// Turns a draft into a file, durable on return.
    package func seal(_ id: FileID) async throws {
        try await turns.withLock(id) {
            let action = "seal a file"
            guard try await objects.length(S3Key.file(id), action: action) == nil else { return }
            var draft = known(id) ?? S3Draft()
            // What is in memory from its first byte on needs no objects, and those of another node hold the same bytes.
            if draft.buffer.isEmpty || !draft.segments.isEmpty {
                let storedLength = draft.storedLength
                draft.segments = try await segments(id)
                guard draft.storedLength == storedLength || draft.buffer.isEmpty else {
                    throw FileStoreError(.wrongOffset, action)
                }
            }
            if draft.length <= Int64(sizes.segmentBytes) {
                let whole = try await bytes(of: draft, id, from: 0, to: draft.length)
                try await objects.put(S3Key.file(id), whole, action: action)
            } else {
                try await join(draft, id, action: action)
            }
            put(nil, for: id)
            // The sweep of drafts finds those that are left.
            for segment in draft.segments {
                try? await objects.delete(S3Key.segment(id, at: segment.offset), action: action)
            }
        }
    }

    // MARK: Files

    /// Returns the length of a file in bytes; nil if there is none.
    package func length(of id: FileID) async throws -> Int64? {
        try await objects.length(S3Key.file(id), action: "look at a file")
    }

    /// Returns up to `count` bytes of a file from an offset on.
    package func read(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8] {
        guard let bytes = try await objects.bytes(S3Key.file(id), at: offset, count: count, action: "read a file")
        else {
            throw FileStoreError(.missing, "read a file")
        }
        return bytes
    }

    /// Returns a URL of the service itself, where the settings name the address at which devices reach it.
    package func directURL(of id: FileID) -> String? {
        objects.client.directURL(of: S3Key.file(id), lifetime: Self.directSeconds)
    }

    /// Each piece is a request of its own, whose answer comes after a while.
    package var sequentialReading: SequentialReading { SequentialReading(pieceBytes: 1 << 20, piecesAhead: 3) }

    /// Deletes a file or draft; one that does not exist is no error.
    package func delete(_ id: FileID) async throws {
        try await turns.withLock(id) {
            let action = "delete a file"
            put(nil, for: id)
            try await objects.delete(S3Key.file(id), action: action)
            for object in try await objects.list(S3Key.draft(id), action: action) {
                try await objects.delete(object.key, action: action)
            }
            for upload in try await objects.uploads(S3Key.file(id), action: action) where upload.key == S3Key.file(id) {
                try await objects.abort(upload.id, upload.key, action: action)
            }
        }
    }

    /// Returns the files of one of the 256 folders.
    package func files(inFolder folder: UInt8) async throws -> [FileEntry] {
        try await objects.list(S3Key.folder(folder), action: "list a folder").compactMap { object in
            S3Key.fileID(object.key).map { FileEntry(id: $0, length: object.length, modified: object.modified) }
        }
    }

    /// Returns all drafts, and removes what sealed files left of theirs.
    package func drafts() async throws -> [FileEntry] {
        let action = "list drafts"
        forgetIdle()
        var segments: [FileID: [(segment: S3Draft.Segment, modified: Int64)]] = [:]
        for object in try await objects.list(S3Key.drafts, action: action) {
            guard let (id, offset) = S3Key.segment(object.key) else { continue }
            let segment = S3Draft.Segment(offset: offset, length: object.length)
            segments[id, default: []].append((segment, object.modified))
        }
        let uploads = try await objects.uploads(S3Key.files, action: action)
        var found: [FileEntry] = []
        for id in Set(segments.keys).union(uploads.compactMap { S3Key.fileID($0.key) }) {
            let own = segments[id] ?? []
            let begun = uploads.filter { S3Key.fileID($0.key) == id }
            // Of a sealed file only what is left of its draft goes: a caller would delete the file with it.
            if try await objects.length(S3Key.file(id), action: action) != nil {
                for (segment, _) in own {
                    try await objects.delete(S3Key.segment(id, at: segment.offset), action: action)
                }
                for upload in begun { try await objects.abort(upload.id, upload.key, action: action) }
                continue
            }
            found.append(
                FileEntry(
                    id: id, length: S3Draft.chain(own.map(\.segment)).last?.end ?? 0,
                    modified: (own.map(\.modified) + begun.map(\.begun)).max() ?? 0))
        }
        return found
    }

    /// Returns a large number: the service itself refuses what it cannot keep.
    package func freeBytes() -> Int64 { Self.freeBytesAssumed }
}

extension S3FileStore {
    private func known(_ id: FileID) -> S3Draft? { state.withLock { $0.drafts[id] } }

    private func put(_ draft: S3Draft?, for id: FileID) { state.withLock { $0.put(draft, for: id) } }

    private func forgetIdle() {
        let now = connection.now()
        state.withLock { state in
            for (id, draft) in state.drafts where draft.used + Self.idleMax < now { state.put(nil, for: id) }
        }
    }

    /// Returns the segments of a draft as the service has them.
    private func segments(_ id: FileID) async throws -> [S3Draft.Segment] {
        let action = "look at a file"
        let listed = try await objects.list(S3Key.draft(id), action: action).compactMap { object in
            S3Key.segment(object.key).map { S3Draft.Segment(offset: $0.offset, length: object.length) }
        }
        var chain = S3Draft.chain(listed)
        // Some services list an object a moment after it was put.
        while true {
            let end = chain.last?.end ?? 0
            guard let length = try await objects.length(S3Key.segment(id, at: end), action: action), length > 0 else {
                return chain
            }
            chain.append(S3Draft.Segment(offset: end, length: length))
        }
    }

    /// Stores the bytes of a draft that are in memory.
    private func stored(_ draft: S3Draft, _ id: FileID, action: String) async throws -> S3Draft {
        var draft = draft
        let segment = S3Draft.Segment(offset: draft.storedLength, length: Int64(draft.buffer.count))
        let (objects, bytes) = (objects, draft.buffer)
        // Also when the request was cancelled: the client goes on from what is stored.
        try await Task { try await objects.put(S3Key.segment(id, at: segment.offset), bytes, action: action) }.value
        draft.segments.append(segment)
        draft.buffer = []
        return draft
    }

    /// Returns bytes of a draft, which has them.
    private func bytes(of draft: S3Draft, _ id: FileID, from start: Int64, to end: Int64) async throws -> [UInt8] {
        var found: [UInt8] = []
        found.reserveCapacity(Int(end - start))
        for segment in draft.segments where segment.end > start && segment.offset < end {
            let first = max(start, segment.offset)
            let count = Int(min(end, segment.end) - first)
            let bytes = try await objects.bytes(
                S3Key.segment(id, at: segment.offset), at: first - segment.offset, count: count, action: "read a file")
            guard let bytes, bytes.count == count else { throw FileStoreError(.damaged, "read a file") }
            found += bytes
        }
        let inMemory = max(start, draft.storedLength)
        if inMemory < end {
            found += draft.buffer[Int(inMemory - draft.storedLength)..<Int(end - draft.storedLength)]
        }
        return found
    }

    /// Makes the file of the segments and the buffer of a draft.
    private func join(_ draft: S3Draft, _ id: FileID, action: String) async throws {
        let key = S3Key.file(id)
        let upload = try await objects.begin(key, action: action)
        do {
            var tags: [String] = []
            var pending: [UInt8] = []
            func send() async throws {
                tags.append(try await objects.part(tags.count + 1, of: upload, key, pending, action: action))
                pending = []
            }
            for segment in draft.segments {
                if pending.isEmpty, segment.length >= Int64(sizes.partBytesMin) {
                    let source = S3Key.segment(id, at: segment.offset)
                    tags.append(try await objects.copy(source, as: tags.count + 1, of: upload, key, action: action))
                    continue
                }
                pending += try await bytes(of: draft, id, from: segment.offset, to: segment.end)
                if pending.count >= sizes.partBytesMin { try await send() }
            }
            pending += draft.buffer
            if !pending.isEmpty { try await send() }
            let isCompleted = try await objects.complete(upload, key, tags: tags, action: action)
            // Read back: what a service puts together wrongly must not be acknowledged.
            guard try await objects.length(key, action: action) == draft.length else {
                throw FileStoreError(
                    isCompleted ? .damaged : .unavailable, action,
                    detail: "the object store did not put the parts together; try again")
            }
        } catch {
            try? await objects.abort(upload, key, action: action)
            throw error
        }
    }
}
