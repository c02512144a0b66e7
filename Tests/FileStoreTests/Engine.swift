import FileStore
import Foundation
import Synchronization
import Testing

/// The engines that every test of the suite runs on.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, folder

    var testDescription: String { rawValue }

    func withStore(_ body: (any FileStore, Clock) async throws -> Void) async throws {
        let clock = Clock()
        switch self {
        case .memory: try await body(MemoryFileStore(now: { clock.now }), clock)
        case .folder:
            try await withFolder { folder in
                try await body(try FolderFileStore(folder + "/files", now: { clock.now }), clock)
            }
        }
    }
}

/// A folder that is gone afterwards.
func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "file-store-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path())
}

/// Stands still until it is moved.
final class Clock: Sendable {
    private let time = Atomic<Int64>(1_700_000_000_123)

    var now: Int64 { time.load(ordering: .relaxed) }

    func advance(_ milliseconds: Int64) { time.add(milliseconds, ordering: .relaxed) }
}

/// Returns an id that ends in `last`, which determines its folder.
func id(_ first: UInt8, last: UInt8 = 7) -> FileID { FileID(bytes: [first, 2, 3, 4, 5, 6, 7, 8, last])! }

/// Expects that `body` throws a `FileStoreError` with `code`.
func expect(
    _ code: FileStoreError.Code, _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("no error, expected \(code)", sourceLocation: location)
    } catch {
        #expect((error as? FileStoreError)?.code == code, "\(error)", sourceLocation: location)
    }
}
