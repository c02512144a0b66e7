import Foundation
import Testing

@testable import CloudKit

/// Files of a test, in a folder that is removed with it.
final class TestFiles: Sendable {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("files-" + UUID().uuidString)

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func asset(_ name: String, _ count: Int) throws -> CKAsset {
        try asset(name, containing: Self.bytes(name, count))
    }

    func asset(_ name: String, containing bytes: [UInt8]) throws -> CKAsset {
        let url = folder.appendingPathComponent(name)
        try Data(bytes).write(to: url)
        return CKAsset(fileURL: url)
    }

    /// Returns the contents of a file of this name and size.
    static func bytes(_ name: String, _ count: Int) -> [UInt8] {
        let seed = name.utf8.reduce(0) { $0 &* 31 &+ Int($1) }
        return (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 7) ^ ($0 >> 8) ^ seed) }
    }
}

/// Returns the contents of a fetched asset's file.
func contents(_ value: Any?) throws -> [UInt8] {
    Array(try Data(contentsOf: try #require((value as? CKAsset)?.fileURL)))
}
