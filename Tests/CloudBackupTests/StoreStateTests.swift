import CloudBackup
import FileStore
import Foundation
import OrderedStore
import OrderedStoreSQLite
import SeededChance
import Synchronization
import Testing

/// States of a store that are read while others write, and files that stay meanwhile.
@Suite(.timeLimit(.minutes(10))) struct StoreStateTests {
    /// Copies the present state of a store to a new file.
    private func copy(_ path: String, to target: String, slowly pause: () -> Void = {}) throws {
        try SQLiteStore.withState(path: path) { state in
            var bytes: [UInt8] = []
            for offset in stride(from: 0, to: state.byteCount, by: 65_536) {
                bytes += try state.bytes(at: offset, count: Int(min(65_536, state.byteCount - offset)))
                pause()
            }
            try Data(bytes).write(to: URL(fileURLWithPath: target))
        }
    }

    private static let parts = (0..<4).map { Partition("part \($0)") }

    /// Writes one number to every partition, and much else, in one transaction.
    private func write(_ number: UInt64, to store: SQLiteStore) async throws {
        var chance = SplitMix64(seed: number)
        let rows = (0..<6).map { _ in
            (UInt8.random(in: 1...60, using: &chance), Int.random(in: 1...9000, using: &chance))
        }
        try await store.write(Self.parts) { transaction in
            for part in Self.parts {
                try transaction.set([0], (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }, in: part)
            }
            for (key, count) in rows {
                transaction.set([key], [UInt8](repeating: UInt8(number & 0xFF), count: count))
            }
        }
    }

    /// The numbers that the partitions of a copy hold, which are one.
    private func numbers(in path: String) async throws -> Set<UInt64> {
        let store = try SQLiteStore(path: path)
        var numbers: Set<UInt64> = []
        for part in Self.parts {
            let value = try await store.read(part) { try await $0.get([0]) }
            numbers.insert((value ?? []).reduce(0) { $0 << 8 | UInt64($1) })
            // Verifies the checksum of each row.
            _ = try await store.read(part) { try await $0.scan(KeyRange(lower: [0], upper: [0xFF]), limit: .max) }
        }
        #expect(try await store.integrityProblems().isEmpty)
        await store.close()
        return numbers
    }

    @Test(arguments: [4, 64]) func `a state that is read while others write is that of one commit`(
        checkpointPages: Int
    ) async throws {
        let folder = try TestFolder()
        let path = folder.path + "/store"
        var options = SQLiteStore.Options()
        options.checkpointPages = checkpointPages
        let store = try SQLiteStore(path: path, options: options)
        try await write(1, to: store)
        let acknowledged = NewestNumber()
        let rounds = 8
        try await withThrowingTaskGroup { group in
            group.addTask {
                var number: UInt64 = 1
                while !Task.isCancelled {
                    number += 1
                    try await write(number, to: store)
                    acknowledged.set(number)
                }
            }
            for round in 0..<rounds {
                let before = acknowledged.value
                let target = folder.path + "/copy\(round)"
                try await onThread { try copy(path, to: target, slowly: { if round % 4 == 0 { usleep(1000) } }) }
                let numbers = try await numbers(in: target)
                #expect(numbers.count == 1, "of one commit")
                #expect((numbers.first ?? 0) >= before, "acknowledged before the copy began")
                try FileManager.default.removeItem(atPath: target)
            }
            group.cancelAll()
        }
        await store.close()
    }

    @Test func `a state of a store that no process has open, with and without a log`() async throws {
        let folder = try TestFolder()
        let path = folder.path + "/store"
        let store = try SQLiteStore(path: path)
        try await write(5, to: store)
        // As after `kill -9`: the log holds all, the file nothing.
        for end in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: path + end, toPath: folder.path + "/killed" + end)
        }
        try copy(folder.path + "/killed", to: folder.path + "/one")
        #expect(try await numbers(in: folder.path + "/one") == [5])
        await store.close()
        try copy(path, to: folder.path + "/two")
        #expect(try await numbers(in: folder.path + "/two") == [5])
        #expect(throws: StoreError.self) { try copy(folder.path + "/none", to: folder.path + "/three") }
    }

    @Test func `files that are held stay, and go afterwards`() async throws {
        let folder = try TestFolder()
        let files = try FolderFileStore(folder.path + "/assets", now: { 0 })
        let id = try #require(FileID(bytes: [UInt8](repeating: 7, count: 16)))
        try await files.append([1, 2, 3], to: id, at: 0)
        try await files.seal(id)
        do {
            let hold = try #require(FileHold(folder.path + "/assets"))
            #expect(FileHold(folder.path + "/assets", attemptsMax: 2, pause: 1) == nil)
            try await files.delete(id)
            #expect(try await files.length(of: id) == 3)
            withExtendedLifetime(hold) {}
        }
        try await files.delete(id)
        #expect(try await files.length(of: id) == nil)
    }

    @Test func `space is given back while the store is used`()
        async throws
    {
        let folder = try TestFolder()
        let path = folder.path + "/store"
        let part = Partition("part")
        func fill(_ store: SQLiteStore) async throws {
            for key in 0..<200 as Range<UInt8> {
                try await store.write([part]) { $0.set([key], [UInt8](repeating: key, count: 9000)) }
            }
        }
        func empty(_ store: SQLiteStore) async throws {
            try await store.write([part]) { $0.clear(KeyRange(lower: [10], upper: [200])) }
        }
        let store = try SQLiteStore(path: path)
        #expect(try SQLiteStore.canCompactLive(path: path))
        try await fill(store)
        try await empty(store)
        var pauses = 0
        let second = try SQLiteStore.compactLive(path: path, pagesAtOnce: 16) { pauses += 1 }
        #expect(!second.isRewritten && second.bytesAfter * 3 < second.bytesBefore)
        #expect(pauses > 5)
        let rows = try await store.read(part) { try await $0.scan(KeyRange(lower: [0], upper: [0xFF]), limit: .max) }
        #expect(rows.map(\.key) == (0..<10).map { [$0] })
        #expect(try await store.integrityProblems().isEmpty)
        await store.close()
        #expect(try #require(folder.bytes(of: "store")).count == Int(second.bytesAfter))
    }

    private func onThread(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
        }
    }
}

/// The newest number whose write was acknowledged.
private final class NewestNumber: Sendable {
    private let number = Mutex<UInt64>(1)

    var value: UInt64 { number.withLock { $0 } }

    func set(_ new: UInt64) { number.withLock { $0 = new } }
}
