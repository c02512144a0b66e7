import CloudKitDevice
import Foundation
import Testing

@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct AssetCacheTests {
    private func folder() -> String {
        FileManager.default.temporaryDirectory.path + "/cache-" + UUID().uuidString
    }

    private func name(_ text: String) -> (AssetCacheName, [UInt8]) {
        var digest = AssetDigester(isSealed: true)
        digest.update(Array(text.utf8))
        return (AssetCacheName(digest.result, container: "c"), Array(text.utf8))
    }

    private func put(_ text: String, into cache: AssetCache) throws -> StagedFile {
        let (name, bytes) = name(text)
        let partial = try cache.partial(name)
        try partial.write(bytes)
        return try cache.keep(partial, as: name)
    }

    private func read(_ file: StagedFile?) -> String? {
        file.flatMap { FileManager.default.contents(atPath: $0.path) }.map { String(decoding: $0, as: UTF8.self) }
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `A staged copy lives as long as someone holds it, also when the file is cleaned away`() throws {
        let settings = AssetCacheSettings(folder: folder(), bytesMax: 1000)
        defer { try? FileManager.default.removeItem(atPath: settings.folder) }
        let cache = AssetCache(settings)
        var file: StagedFile? = try put("hello", into: cache)
        let path = try #require(file?.path)
        #expect(read(file) == "hello")
        #expect(try mode(path) == 0o600)
        #expect(try mode(settings.folder) == 0o700)
        try AssetCacheFolder(cache.settings).clean(now: Int64(Date().timeIntervalSince1970) + 40 * 86_400)
        #expect(try cache.staged(name("hello").0) == nil)
        #expect(read(file) == "hello")
        file = nil
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `A file that was changed through its staged copy is not returned again`() throws {
        let cache = AssetCache()
        let file = try put("hello", into: cache)
        try Data("HELLO".utf8).withUnsafeBytes { bytes in
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file.path))
            try handle.write(contentsOf: Data(bytes))
            try handle.close()
        }
        #expect(!cache.holds(name("hello").0))
        #expect(try cache.staged(name("hello").0) == nil)
    }

    @Test func `The least recently used files go first, and those that are too old`() {
        let settings = AssetCacheSettings(folder: "/", bytesMax: 100, ageMax: 1000)
        let files = [("a", 30, 5000), ("b", 60, 4000), ("c", 30, 4500), ("d", 1, 10)].map {
            CachedFile(path: $0.0, size: $0.1, used: $0.2)
        }
        #expect(settings.victims(of: files, now: 5000).map(\.path) == ["d", "b"])
        #expect(settings.victims(of: [], now: 5000).isEmpty)
    }

    @Test func `Files of an ended process are removed, and those of a running one are kept`() throws {
        let settings = AssetCacheSettings(folder: folder())
        defer { try? FileManager.default.removeItem(atPath: settings.folder) }
        let cache = AssetCache(settings)
        let file = try put("hello", into: cache)
        let left = settings.folder + "/staged/dead"
        try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(fileURLWithPath: left + "/1"))
        try Data().write(to: URL(fileURLWithPath: left + ".lease"))
        // Another process of the same profile.
        let other = AssetCache(settings)
        let copy = try #require(try other.staged(name("hello").0))
        try AssetCacheFolder(cache.settings).clean(now: Int64(Date().timeIntervalSince1970))
        #expect(!FileManager.default.fileExists(atPath: left))
        #expect(!FileManager.default.fileExists(atPath: left + ".lease"))
        #expect(read(file) == "hello" && read(copy) == "hello")
    }

    @Test func `Two fetches of the same file do not write into the same copy`() throws {
        let cache = AssetCache()
        let (name, bytes) = name("hello")
        let first = try cache.partial(name)
        let second = try cache.partial(name)
        #expect(first.path != second.path)
        try first.write([1, 2])
        try second.write(bytes)
        #expect(read(try cache.keep(second, as: name)) == "hello")
    }

    @Test func `Limits come from the environment, and a wrong one is reported`() throws {
        let configuration = try DeviceConfiguration.resolve(
            variables: [
                "CLOUDKIT_ENDPOINT": "http://127.0.0.1:1", "XDG_CACHE_HOME": "/c",
                "CLOUDKIT_ASSET_CACHE_MEGABYTES": "5",
                "CLOUDKIT_ASSET_CACHE_DAYS": "2", "HOME": "/h",
            ], workingFolder: "/nowhere")
        let settings = try #require(configuration.assetCache?.folder(of: "p"))
        #expect(settings == AssetCacheSettings(folder: "/c/welkin/assets/p", bytesMax: 5 << 20, ageMax: 172_800))
        #expect(throws: DeviceConfigurationError.cacheLimitMalformed(variable: "CLOUDKIT_ASSET_CACHE_DAYS", "x")) {
            try DeviceConfiguration.resolve(
                variables: ["CLOUDKIT_ENDPOINT": "http://127.0.0.1:1", "CLOUDKIT_ASSET_CACHE_DAYS": "x"],
                workingFolder: "/nowhere")
        }
    }

    @Test(arguments: [
        ("", "AW2cWT2PxzWixMKuuNMTHJ8CJ3sH"), ("hello world", "AfmD7UtOGIItmXHUm5CO1yik4vxv"),
        (String(repeating: "\0", count: 1024), "AXVQzAuErs7LGUTMR2eQYoU9X6v5"),
    ])
    func `The checksum of a file is the one that the cloud computes`(text: String, expected: String) {
        var checksum = FileChecksum()
        for byte in text.utf8 { checksum.update([byte]) }
        #expect(checksum.text == expected)
    }
}
