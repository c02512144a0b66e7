import Foundation
import OrderedStore
import OrderedStoreSQLite
import PostgresServer
import Testing

@testable import OrderedStorePostgres

@Suite("Copies of stores", .timeLimit(.minutes(20)))
struct StoreCopyTests {
    @Test func `a copy holds what the store holds, and its epoch`() async throws {
        try await withStores { source, target in
            var simulation = ModelSimulation(seed: 3)
            for _ in 0..<60 { try await simulation.step(source) }
            for number in 0..<1200 { try await source.put([String(number): "x"], in: Partition("large")) }
            let copy = StoreCopy(from: source, to: target)
            let summary = try await copy.run()
            #expect(summary.changeCount == summary.entryCount)
            try await simulation.audit(target)
            #expect(try await target.all(in: Partition("large")) == source.all(in: Partition("large")))
            #expect(try await copy.finish(summary))
            #expect(target.epoch == source.epoch)
            #expect(target.storeID != source.storeID)
            #expect(try await StoreCopy.digest(of: target).digest == summary.digest)
        }
    }

    @Test func `a copy that is repeated writes what changed since`() async throws {
        try await withStores { source, target in
            try await source.put(["a": "1", "b": "2", "c": "3"])
            let copy = StoreCopy(from: source, to: target)
            #expect(try await copy.run().changeCount == 3)
            #expect(try await copy.run().changeCount == 0)
            try await source.put(["a": "4", "d": "5"])
            try await source.write(home) { $0.clear(bytes("b")) }
            try await source.put(["x": "1"], in: other)
            let summary = try await copy.run()
            #expect(summary.changeCount == 4)
            #expect((summary.partitionCount, summary.entryCount) == (2, 4))
            #expect(try await target.all() == source.all())
            #expect(try await copy.finish(summary))
        }
    }

    @Test func `a copy that somebody else changed is not completed`() async throws {
        try await withStores { source, target in
            try await source.put(["a": "1"])
            let copy = StoreCopy(from: source, to: target)
            let summary = try await copy.run()
            try await target.put(["a": "2"])
            #expect(try await !copy.finish(summary))
            #expect(target.epoch != source.epoch)
        }
    }

    @Test func `a store that holds something else is not overwritten`() async throws {
        try await withStores { source, target in
            try await target.put(["a": "mine"])
            await expect(.notAStore) { _ = try await StoreCopy(from: source, to: target).run() }
            #expect(try await target.value("a") == "mine")
        }
    }

    /// SQLite to PostgreSQL and back, or between files where there is no PostgreSQL.
    private func withStores(_ body: (any PersistentStore, any PersistentStore) async throws -> Void) async throws {
        try await withFolder { folder in
            guard PostgresServer.missing == nil else {
                let (source, target) = (
                    try SQLiteStore(path: folder + "/a.db"), try SQLiteStore(path: folder + "/b.db")
                )
                try await body(source, target)
                await source.close()
                return await target.close()
            }
            for isFirst in [true, false] {
                try await withPostgresStore { postgres in
                    let file = try SQLiteStore(path: folder + "/\(isFirst).db")
                    try await isFirst ? body(file, postgres) : body(postgres, file)
                    await file.close()
                }
            }
        }
    }
}
