import Foundation
import OrderedStore
import Testing

@testable import OrderedStoreSQLite

/// Writes that rely on what their turn has read, and those that do not.
@Suite("Turn knowledge", .serialized, .timeLimit(.minutes(3)))
struct TurnKnowledgeTests {
    private static let values: [String?] = [
        nil, "", "small", String(repeating: "l", count: 200), String(repeating: "L", count: 201),
        String(repeating: "m", count: 5_000),
    ]

    /// Every value takes the place of every other one, in groups of several sizes.
    @Test(arguments: [false, true], [1, 4, 5, 40])
    func `every kind of value takes the place of every other one`(isRead: Bool, each: Int) async throws {
        try await withFolder { folder in
            let store = try SQLiteStore(path: folder + "/store.db")
            var expected: [String: String] = [:]
            for (oldIndex, old) in Self.values.enumerated() {
                for (newIndex, new) in Self.values.enumerated() {
                    let keys = (0..<each).map { "\(oldIndex)-\(newIndex)-\($0)" }
                    try await store.write([home]) { transaction in
                        for key in keys { if let old { transaction.set(bytes(key), bytes(old)) } }
                    }
                    try await store.write([home]) { transaction in
                        if isRead { _ = try await transaction.get(keys.map(bytes)) }
                        for key in keys {
                            if let new {
                                transaction.set(bytes(key), bytes(new))
                            } else {
                                transaction.clear(bytes(key))
                            }
                        }
                    }
                    for key in keys { expected[key] = new }
                }
            }
            let found = try await store.all()
            #expect(found.map(\.key) == expected.keys.map(bytes).sorted { $0.precedes($1) })
            for entry in found {
                #expect(entry.value == expected[String(decoding: entry.key, as: UTF8.self)].map(bytes))
            }
            // None is left behind, none is held twice.
            let contents = try store.writer.connection.use { (handle) throws(StoreError) in
                try handle.number("SELECT count(*) FROM contents")
            }
            #expect(contents == Int64(expected.values.count { $0.utf8.count > Format.inlineBytesMax }))
            await store.close()
        }
    }

    @Test func `what a turn has read of a range counts no longer once the range is cleared`() async throws {
        try await withFolder { folder in
            let store = try SQLiteStore(path: folder + "/store.db")
            let large = String(repeating: "l", count: 1_000)
            try await store.put(["a1": large, "a2": "small"])
            try await store.write([home]) { transaction in
                _ = try await transaction.get([bytes("a1"), bytes("a2"), bytes("a3")])
                transaction.clear(KeyRange(lower: bytes("a"), upper: bytes("b")))
                for key in ["a1", "a2", "a3"] { transaction.set(bytes(key), bytes(large + key)) }
            }
            for key in ["a1", "a2", "a3"] { #expect(try await store.value(key) == large + key) }
            await store.close()
        }
    }

    @Test func `a key that a turn found missing is there in the next one that follows its write`() async throws {
        try await withFolder { folder in
            let store = try SQLiteStore(path: folder + "/store.db")
            try await store.put(["a": "1", "z": "1"])
            let keys = (10..<60).map { "k\($0)" }
            for key in keys {
                let before = try await store.write([home]) { transaction in
                    let before = try await transaction.get(keys.map(bytes)).map { $0 != nil }
                    transaction.set(bytes(key), bytes(key))
                    return before
                }
                #expect(before == keys.map { $0 < key })
                #expect(try await store.value(key) == key)
            }
            await store.close()
        }
    }

    @Test func `missing keys between two rows are looked up once`() {
        var knowledge = TurnKnowledge(writes: false)
        #expect(!knowledge.isAbsent(bytes("m"), in: 1))
        knowledge.note(TurnKnowledge.Gap(partition: 1, lower: bytes("k"), upper: bytes("p")))
        #expect(knowledge.isAbsent(bytes("m"), in: 1))
        for present in ["k", "p", "a", "z"] { #expect(!knowledge.isAbsent(bytes(present), in: 1)) }
        #expect(!knowledge.isAbsent(bytes("m"), in: 2))
        knowledge.note(TurnKnowledge.Gap(partition: 2, lower: nil, upper: nil))
        #expect(knowledge.isAbsent(bytes("m"), in: 2))
        knowledge.forget()
        #expect(!knowledge.isAbsent(bytes("m"), in: 2))
    }

    @Test func `a reader does not keep what it has read`() {
        var knowledge = TurnKnowledge(writes: false)
        knowledge.note(.inline, under: bytes("a"), in: 1)
        #expect(knowledge.holding(under: bytes("a"), in: 1) == nil)
        var writer = TurnKnowledge(writes: true)
        writer.note(.content(7), under: bytes("a"), in: 1)
        #expect(writer.holding(under: bytes("a"), in: 1) == .content(7))
        writer.forget()
        #expect(writer.holding(under: bytes("a"), in: 1) == nil)
    }
}
