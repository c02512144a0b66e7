import CloudBackup
import Foundation

/// A folder that is removed with this object.
final class TestFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/welkin-backup-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ bytes: [UInt8], to name: String) throws {
        let url = URL(fileURLWithPath: path + "/" + name)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
    }

    func bytes(of name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path + "/" + name).map { Array($0) }
    }

    /// The files below the folder with their contents.
    func files(below name: String) -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for case let file as String in FileManager.default.enumerator(atPath: path + "/" + name) ?? .init() {
            if let bytes = bytes(of: name + "/" + file) { found[file] = bytes }
        }
        return found
    }
}

/// A store's file in memory.
struct MemoryImage: StoreImage {
    var content: [UInt8]
    var facts = StoreFacts(storeID: 1, epoch: 2)

    var byteCount: Int64 { Int64(content.count) }

    func bytes(at offset: Int64, count: Int) throws -> [UInt8] { Array(content[Int(offset)..<Int(offset) + count]) }
}
