import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Files that are not the saved ones.
@Suite(.timeLimit(.minutes(20))) struct AssetAttackTests {
    @Test(arguments: Attack.of(.assets))
    func `B-TM-04 a file that is not the saved one is an error`(_ attack: Attack) async throws {
        try await Stage.check(attack) { stage in try await stage.playAssets() }
    }
}

extension Stage {
    /// Four chunks, the last one not full; each file has other bytes.
    fileprivate static let fileBytes = 200_000

    fileprivate func playAssets() async throws {
        let ada = try await device("ada")
        try await makeFolder()
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-hostile-files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ first: UInt8) throws -> CKAsset {
            let url = folder.appending(path: name)
            try Data((0..<Self.fileBytes).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ first }).write(to: url)
            return CKAsset(fileURL: url)
        }
        let isPlain = attack == .assetAloneInPlain || attack == .assetAloneInPlainElsewhere
        let pictures = Self.note("Pictures")
        if isPlain { for key in ["text", "extra"] { pictures.encryptedValues[key] = nil } }
        pictures["one"] = try file("one", 1)
        pictures["two"] = try file("two", 2)
        let saved = try await ada.own.save(pictures)
        try await feed(ada.own)
        if attack == .assetOlder {
            saved["one"] = try file("newer", 3)
            _ = try await ada.own.save(saved)
        }
        let laptop = try await device("ada", "laptop")
        let files = liar.traffic.filter { $0.endpoint == "asset/upload" }.map(\.sent).filter { $0.count > 1000 }
        let older = liar.versions(of: "Pictures").first { $0["fields", "one"] != nil }
        let attack = attack
        let facts = FileFacts(files: files, older: older)
        try await lie { exchange in
            attack.forge(&exchange, facts)
        } during: {
            let reader = attack == .assetAloneInPlain ? ada : laptop
            let record = try await reader.own.record(for: Self.id("Pictures"))
            for key in ["one", "two"] {
                let url = (record[key] as? CKAsset)?.fileURL
                if isHonest { #expect(try Data(contentsOf: try #require(url)).count == Self.fileBytes) }
            }
        }
        let record = try await laptop.own.record(for: Self.id("Pictures"))
        let url = try #require((record["two"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: url).last == UInt8(truncatingIfNeeded: (Self.fileBytes - 1) &* 7) &+ 2)
    }
}

/// Files and records that the cloud has seen.
private struct FileFacts: Sendable {
    /// The bodies of uploads, in order.
    var files: [[UInt8]]
    var older: JSON?

    static let forged = Array("a forged file".utf8)
    /// The checksum by which a device knows a plain file.
    static var forgedChecksum: String {
        var checksum = FileChecksum()
        checksum.update(forged)
        return checksum.text
    }
}

extension Attack {
    private static let chunk = 65_536 + 16

    fileprivate func forge(_ exchange: inout Exchange, _ facts: FileFacts) {
        if exchange.endpoint == "asset/download", exchange.status < 300 {
            forge(file: &exchange, facts)
        } else if exchange.endpoint == "records/lookup" {
            exchange.change { $0.mutateRecord("Pictures") { forge(record: &$0, facts) } }
        }
    }

    private func forge(file exchange: inout Exchange, _ facts: FileFacts) {
        switch self {
        case .assetOfOtherField: exchange.body = facts.files.first { $0 != exchange.body } ?? []
        case .assetTruncated: exchange.body.removeLast(100)
        case .assetExtended: exchange.body += [UInt8](repeating: 0, count: 100)
        case .assetFlipped: exchange.body[100_000] ^= 1
        case .assetChunksSwapped:
            let (first, second) = (5..<5 + Self.chunk, 5 + Self.chunk..<5 + 2 * Self.chunk)
            let body = exchange.body
            exchange.body = Array(body[..<5] + body[second] + body[first] + body[second.upperBound...])
        case .assetEmptied: exchange.body = []
        case .assetHeaderChanged: exchange.body[3] ^= 1
        case .assetInPlain, .assetAloneInPlain, .assetAloneInPlainElsewhere:
            exchange.status = 200
            exchange.headers["content-range"] = nil
            exchange.body = FileFacts.forged
        default: break
        }
    }

    private func forge(record: inout JSON, _ facts: FileFacts) {
        switch self {
        case .assetKeysSwapped:
            let key = record["fields", "one", "value", "wrappingKey"]
            record["fields", "one", "value", "wrappingKey"] = record["fields", "two", "value", "wrappingKey"]
            record["fields", "two", "value", "wrappingKey"] = key
        case .assetFieldsSwapped:
            let field = record["fields", "one"]
            record["fields", "one"] = record["fields", "two"]
            record["fields", "two"] = field
        case .assetOlder: record["fields", "one"] = facts.older?["fields", "one"]
        case .assetRemoved: record["fields", "two"] = nil
        case .assetInPlain, .assetAloneInPlain, .assetAloneInPlainElsewhere:
            for key in ["one", "two"] {
                record["fields", key, "value", "wrappingKey"] = nil
                record["fields", key, "value", "size"] = JSON(FileFacts.forged.count)
                record["fields", key, "value", "fileChecksum"] = .string(FileFacts.forgedChecksum)
            }
            if self != .assetInPlain { record["protection"] = nil }
        default: break
        }
    }
}
