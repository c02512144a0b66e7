import FileStore
import FileStoreRows
import Foundation
import ObjectServer
import OrderedStore
import PostgresServer
import SeededChance
import Testing

/// Files in real servers: what the suite of all engines does not show.
@Suite("Files in servers", .timeLimit(.minutes(20)))
struct FileServerTests {
    @Test(.enabled(if: ObjectServer.missing == nil, "OpenStack Swift is not installed"))
    func `a large file is put together by OpenStack Swift and read in ranges`() async throws {
        let server = try await ObjectServer.shared()
        let prefix = UUID().uuidString
        let store = try server.store(prefix: prefix)
        var chance = SplitMix64(seed: 3)
        var content: [UInt8] = []
        // Beyond two objects of a draft, with an end of its own.
        while content.count < 21 << 20 {
            let piece = [UInt8](repeating: UInt8.random(in: 0...255, using: &chance), count: 300_000)
            try await store.append(piece, to: id(1), at: Int64(content.count))
            content += piece
        }
        try await store.synchronize(id(1))
        let other = try server.store(prefix: prefix)
        #expect(try await other.draftLength(of: id(1)) == Int64(content.count))
        try await other.append([1, 2, 3], to: id(1), at: Int64(content.count))
        content += [1, 2, 3]
        try await other.seal(id(1))
        #expect(try await store.length(of: id(1)) == Int64(content.count))
        #expect(try await store.files(inFolder: id(1).folder).map(\.length) == [Int64(content.count)])
        for offset in [0, 8 << 20, (16 << 20) - 5, content.count - 10] {
            let bytes = try await store.read(id(1), at: Int64(offset), count: 1 << 20)
            #expect(bytes == Array(content.dropFirst(offset).prefix(1 << 20)))
        }
        #expect(try await store.drafts() == [])
        try await store.delete(id(1))
        #expect(try await store.length(of: id(1)) == nil)
    }

    @Test(.enabled(if: ObjectServer.missing == nil, "OpenStack Swift is not installed"))
    func `a wrong key is refused with the remedy`() async throws {
        let store = try await ObjectServer.shared().store(prefix: "x", secretKey: "another")
        do {
            try await store.check()
            Issue.record("no error")
        } catch let error as FileStoreError {
            #expect(error.code == .unavailable && error.detail.contains("key"), "\(error)")
            #expect(!"\(error)".contains("another"))
        }
    }

    @Test(.enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"))
    func `a damaged or missing chunk of a file is noticed, and other files are read`() async throws {
        try await withPostgresStore { store, schema in
            let files = RowFileStore(store, now: { 0 })
            for number in UInt8(1)...3 {
                try await files.append([UInt8](repeating: number, count: 400_000), to: id(number), at: 0)
                try await files.append([UInt8](repeating: number, count: 400_000), to: id(number), at: 400_000)
                try await files.seal(id(number))
            }
            let server = try await PostgresServer.shared()
            func chunk(_ number: UInt8) -> String {
                "key > '\\xd3090\(number)'::bytea AND key < '\\xd3090\(number + 1)'::bytea"
            }
            let count = try server.sql("SELECT count(*) FROM \(schema).entries WHERE \(chunk(1))")
            #expect(count == "2")
            try server.sql("UPDATE \(schema).entries SET value = set_byte(value, 77, 5) WHERE \(chunk(1))")
            try server.sql("DELETE FROM \(schema).entries WHERE \(chunk(2))")
            await expect(.damaged) { _ = try await files.read(id(1), at: 0, count: 100) }
            await expect(.damaged) { _ = try await files.read(id(2), at: 500_000, count: 100) }
            #expect(try await files.read(id(3), at: 399_999, count: 2) == [3, 3])
            try await files.delete(id(1))
            #expect(try await files.files(inFolder: 7).count == 2)
        }
    }

    @Test func `the bytes of a file are rows of bounded size`() async throws {
        let store = MemoryStore()
        let files = RowFileStore(store, now: { 0 })
        try await files.append([UInt8](repeating: 1, count: 2_000_000), to: id(1), at: 0)
        for number in 0..<100 { try await files.append([1], to: id(2), at: Int64(number)) }
        let values = try await store.read(RowFileStore.partition(ofFolder: 7)) {
            try await $0.scan(KeyRange(lower: [], upper: [255]), limit: .max)
        }.map(\.value.count)
        #expect(values.max() ?? 0 <= 512 << 10)
        // Two drafts, four chunks of one and a single one of the other.
        #expect(values.count == 7)
    }
}
