import Foundation
import Testing

@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct AssetFileTests {
    private let path = FileManager.default.temporaryDirectory.path + "/asset-" + UUID().uuidString
    private let modified = CallFailure.assetFileModified("The asset's file changed while it was sent")

    private func withFile(_ body: (AssetFile) throws -> Void) throws {
        #expect(FileManager.default.createFile(atPath: path, contents: Data("one".utf8)))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(AssetFile(URL(fileURLWithPath: path)))
    }

    @Test func `B-AST-05 a file that is written to while it is sent is an error`() throws {
        try withFile { file in
            try file.checkUnchanged()
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("two".utf8))
            try handle.close()
            #expect(throws: modified) { try file.checkUnchanged() }
        }
    }

    @Test func `B-AST-05 a file that is removed or replaced while it is sent is an error`() throws {
        try withFile { file in
            try FileManager.default.removeItem(atPath: path)
            #expect(throws: modified) { try file.checkUnchanged() }
            #expect(FileManager.default.createFile(atPath: path, contents: Data("one".utf8)))
            #expect(throws: modified) { try file.checkUnchanged() }
        }
    }
}
