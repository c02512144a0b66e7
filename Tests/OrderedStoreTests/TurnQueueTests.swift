import Foundation
import OrderedStore
import Synchronization
import Testing

@testable import OrderedStoreSQLite

@Suite(.timeLimit(.minutes(20))) struct TurnQueueTests {
    @Test func `users get turns one after the other, each in the order of its writes`() {
        var queue = TurnQueue<String>()
        #expect(queue.add("a1", of: "a") == true)
        for waiter in ["a2", "a3", "a4"] { #expect(queue.add(waiter, of: "a") == false) }
        #expect(queue.add("b1", of: "b") == false)
        #expect(queue.next() == "a1")
        #expect(queue.add("c1", of: "c") == false)
        #expect((0..<5).map { _ in queue.next() } == ["b1", "a2", "c1", "a3", "a4"])
        #expect(queue.next() == nil)
        #expect(queue.add("b2", of: "b") == true)
        #expect(queue.next() == "b2")
    }

    @Test func `many waiters of one user come in their order`() {
        var queue = TurnQueue<Int>()
        for number in 0..<1000 { _ = queue.add(number, of: "a") }
        #expect((0..<1000).map { _ in queue.next() } == (0..<1000).map { $0 })
        #expect(queue.next() == nil)
    }

    @Test(arguments: [false, true])
    func `a write of one user does not wait for all those of another`(_ isSamePartition: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-turns-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteStore(path: folder.appending(path: "store.db").path())
        let order = Order()
        let write: @Sendable (String) async throws -> Void = { user in
            try await WriteTurn.$user.withValue(isSamePartition ? user : nil) {
                try await store.write(Partition(isSamePartition ? "public" : user)) { transaction in
                    order.names.withLock { $0.append(user) }
                    transaction.set(Array(user.utf8), [])
                }
            }
        }
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (inside, entered) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await store.write(Partition("gate")) { _ in
                    entered.finish()
                    for await _ in gate {}
                }
            }
            for await _ in inside {}
            for _ in 0..<50 { group.addTask { try await write("many") } }
            while store.writer.announcedCount < 51 { await Task.yield() }
            group.addTask { try await write("one") }
            while store.writer.announcedCount < 52 { await Task.yield() }
            open.finish()
            try await group.waitForAll()
        }
        let position = order.names.withLock { $0.firstIndex(of: "one") }
        // All others were there before; one or two of them may have had their turn before it was in the queue.
        #expect(try #require(position) < 10)
        await store.close()
    }
}

/// Keeps the order in which bodies ran.
private final class Order: Sendable {
    let names = Mutex<[String]>([])
}
