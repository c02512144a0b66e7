import CloudKitModel
import CloudKitServer
import FileStore
import OrderedStore
import Synchronization
import TestEnvironment
import Testing

/// Downloads from stores of files that are far away.
@Suite(.timeLimit(.minutes(20))) struct SequentialReadingTests {
    /// A store that answers the reads of four pieces together, each in two parts.
    private final class DistantFiles: FileStore {
        private struct State {
            var waiting: [CheckedContinuation<Void, Never>] = []
            var mostAtOnce = 0
            var isCut = false
        }

        private let files: any FileStore
        private let state = Mutex(State())
        let sequentialReading = SequentialReading(pieceBytes: 10, piecesAhead: 3)

        init(now: @escaping @Sendable () -> Int64) { files = MemoryFileStore(now: now) }

        var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
        func cut() { state.withLock { $0.isCut = true } }

        func read(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8] {
            if offset % Int64(sequentialReading.pieceBytes) == 0 { await waitForOthers() }
            if state.withLock({ $0.isCut }), offset >= 20 { return [] }
            // As much as the store likes to give.
            return try await files.read(id, at: offset, count: max(1, count - 3))
        }

        /// Waits until as many pieces are asked for as may be.
        private func waitForOthers() async {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state in
                    state.waiting.append(continuation)
                    state.mostAtOnce = max(state.mostAtOnce, state.waiting.count)
                    guard state.waiting.count > sequentialReading.piecesAhead else {
                        return [CheckedContinuation<Void, Never>]()
                    }
                    defer { state.waiting = [] }
                    return state.waiting
                }
                for continuation in ready { continuation.resume() }
            }
        }

        func draftLength(of id: FileID) async throws -> Int64? { try await files.draftLength(of: id) }
        func append(_ bytes: [UInt8], to id: FileID, at offset: Int64) async throws {
            try await files.append(bytes, to: id, at: offset)
        }
        func readDraft(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8] {
            try await files.readDraft(id, at: offset, count: count)
        }
        func synchronize(_ id: FileID) async throws { try await files.synchronize(id) }
        func seal(_ id: FileID) async throws { try await files.seal(id) }
        func length(of id: FileID) async throws -> Int64? { try await files.length(of: id) }
        func delete(_ id: FileID) async throws { try await files.delete(id) }
        func files(inFolder folder: UInt8) async throws -> [FileEntry] { try await files.files(inFolder: folder) }
        func drafts() async throws -> [FileEntry] { try await files.drafts() }
        func freeBytes() async throws -> Int64 { try await files.freeBytes() }
    }

    private func reader(_ test: TestCloud, _ bytes: [UInt8]) async throws -> AssetFileReader {
        try await test.makeZone()
        let record = try await test.modify([create("R", "Note", try asset("photo", try await test.upload(bytes)))])[0]
            .record
        let asset = try #require(try record?.assets().first)
        let address = TestCloud.address(.private)
        let bearer = AssetBearer(
            container: address.container, environment: address.environment, user: TestCloud.ada)
        return try await OpenAssetDownload(test.cloud).run(
            try #require(IssueDownloadToken(test.cloud).run(for: asset, bearer: bearer)))
    }

    @Test func `pieces are read ahead and used in their order`() async throws {
        let time = TestServerEnvironment()
        let files = DistantFiles(now: { time.now })
        let test = TestCloud(store: MemoryStore(epoch: 7), files: files, time: time)
        let bytes = (0..<40).map { UInt8($0) }
        let reader = try await reader(test, bytes)
        var found: [UInt8] = []
        // Four pieces, which are answered when all of them are asked for.
        var pieces = reader.pieces(of: 0..<40)
        while let piece = try await pieces.next() { found += piece }
        #expect(found == bytes)
        #expect(files.mostAtOnce == 4)
    }

    @Test func `a file that ends early is an error`() async throws {
        let time = TestServerEnvironment()
        let files = DistantFiles(now: { time.now })
        let test = TestCloud(store: MemoryStore(epoch: 7), files: files, time: time)
        let reader = try await reader(test, (0..<40).map { UInt8($0) })
        files.cut()
        var count = 0
        var pieces = reader.pieces(of: 0..<40)
        do {
            while let piece = try await pieces.next() { count += piece.count }
            Issue.record("no error")
        } catch {
            #expect((error as? RequestFailure)?.code == .assetNotAvailable)
        }
        pieces.cancel()
        #expect(count == 20)
    }
}
