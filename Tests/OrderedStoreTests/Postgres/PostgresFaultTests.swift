import OrderedStore
import PostgresServer
import Synchronization
import Testing

@testable import OrderedStorePostgres

/// Transactions that meet a failure at each of their statements in turn.
@Suite(
    "Failures of PostgreSQL", .timeLimit(.minutes(20)),
    .enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"))
struct PostgresFaultTests {
    /// Injects one failure at the statement with a number, counted from `arm`.
    private final class Injector: Sendable {
        private struct State {
            var left: Int?
            var fault: PostgresFault?
            var seen: [String] = []
            var met: String?
        }
        private let state = Mutex(State())

        /// - Parameter number: Of the statement; nil: none fails.
        func arm(_ fault: PostgresFault, at number: Int?) {
            state.withLock { $0 = State(left: number, fault: fault) }
        }

        func fault(_ statement: PostgresStatement) -> PostgresFault? {
            // Preparations of connections and hints are no part of a transaction.
            guard statement.scope == .partition || statement.scope == .transaction else { return nil }
            return state.withLock { state in
                state.seen.append(statement.name)
                guard let left = state.left else { return nil }
                state.left = left - 1
                guard left == 0 else { return nil }
                state.left = nil
                state.met = statement.name
                return state.fault
            }
        }

        var seen: [String] { state.withLock { $0.seen } }
        var met: String? { state.withLock { $0.met } }
    }

    private func withFaults(
        _ body: (PostgresStore, Injector) async throws -> Void
    ) async throws {
        let injector = Injector()
        var options = try await postgresOptions()
        options.fault = { injector.fault($0) }
        options.exchangesHints = false
        options.sleep = { _ in }
        try await withPostgresStore(options) { try await body($0, injector) }
    }

    /// A transaction of every kind of statement. Its effect shows whether it took place twice.
    @Sendable private static func transact(_ store: PostgresStore) async throws -> Int {
        try await store.write([home, other]) { transaction in
            let count = try await transaction.get(bytes("n")).map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 } ?? 0
            _ = try await transaction.get(["a", "b"].map(bytes))
            _ = try await transaction.scan(everything, limit: 3)
            _ = try await transaction.scan(everything, in: other, limit: 3, reverse: true)
            transaction.clear(range("x", "z"))
            transaction.clear(bytes("a"))
            for number in 0...count { transaction.set([1, UInt8(number)], [2]) }
            transaction.set(bytes("n"), bytes(String(count + 1)))
            try transaction.set(bytes("n"), bytes(String(count + 1)), in: other)
            return count + 1
        }
    }

    @Test(
        arguments: [
            .refused("40001"), .refused("40P01"), .refused("25006"), .refused("57P01"), .lostBefore, .lostAfter,
        ] as [PostgresFault])
    func `a failure at each statement of a write in turn neither loses nor doubles it`(
        _ fault: PostgresFault
    ) async throws {
        try await withFaults { store, injector in
            injector.arm(fault, at: nil)
            let first = try await Self.transact(store)
            #expect(first == 1)
            let statements = injector.seen
            // The rollback of one transaction is sent with the next: it is met later.
            #expect(statements.first == "beginWrite" && statements.contains("commit"))
            #expect(statements.contains("noteRequest"))
            for number in statements.indices {
                injector.arm(fault, at: number)
                #expect(try await Self.transact(store) == number + 2, "\(fault) at \(injector.met ?? "-")")
                #expect(injector.met != nil)
            }
            let count = statements.count + 1
            #expect(try await store.value("n") == String(count))
            #expect(try await store.value("n", in: other) == String(count))
            #expect(try await store.all().count == count + 1)
        }
    }

    @Test(arguments: [.refused("40001"), .refused("57P01"), .lostBefore, .lostAfter] as [PostgresFault])
    func `a failure at each statement of a read in turn is not seen`(_ fault: PostgresFault) async throws {
        try await withFaults { store, injector in
            try await store.put(["a": "1", "b": "2"])
            let read: @Sendable () async throws -> [String] = {
                try await store.read(home) { transaction in
                    let one = try await transaction.get(bytes("a"))
                    let more = try await transaction.get(["a", "b"].map(bytes))
                    let entries = try await transaction.scan(everything, limit: .max)
                    return ([one] + more).map { String(decoding: $0 ?? [], as: UTF8.self) } + entries.keys
                }
            }
            injector.arm(fault, at: nil)
            let expected = try await read()
            #expect(expected == ["1", "1", "2", "a", "b"])
            for number in injector.seen.indices {
                injector.arm(fault, at: number)
                #expect(try await read() == expected)
            }
        }
    }

    @Test(arguments: [(PostgresFault.lostBefore, 1), (.lostAfter, 0)])
    func `a commit whose fate is unknown is asked for, not guessed`(fault: PostgresFault, repetitions: Int) async throws
    {
        try await withFaults { store, injector in
            try await store.put(["n": "0"])
            let runs = Shared(0)
            // At its commit: begin, lock, read, set, note, forget, commit.
            injector.arm(fault, at: 6)
            try await store.write(home) { transaction in
                runs.withLock { $0 += 1 }
                _ = try await transaction.get(bytes("n"))
                transaction.set(bytes("n"), bytes("1"))
            }
            #expect(injector.met == "commit")
            #expect(injector.seen.contains("findRequest"))
            #expect(runs.withLock { $0 } == 1 + repetitions)
            #expect(try await store.value("n") == "1")
        }
    }

    @Test func `all bodies of a batch are run again after a conflict, and each is answered on its own`() async throws {
        try await withFaults { store, injector in
            try await store.put(["n": "0"])
            let failures = Shared(0)
            injector.arm(.refused("40001"), at: 40)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        do {
                            try await store.write(home) { transaction in
                                let count = String(decoding: try await transaction.get(bytes("n")) ?? [], as: UTF8.self)
                                transaction.set(bytes("n"), bytes(String((Int(count) ?? 0) + 1)))
                                if number % 10 == 0 { throw Refusal() }
                            }
                        } catch is Refusal {
                            failures.withLock { $0 += 1 }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(failures.withLock { $0 } == 6)
            #expect(try await store.value("n") == "54")
        }
    }

    @Test func `an error that no repetition cures is reported with its code, and nothing is left`() async throws {
        try await withFaults { store, injector in
            for statement in 2..<5 {
                injector.arm(.refused("53100"), at: statement)
                await expect(.diskFull) { try await store.put(["a": "1"]) }
            }
            #expect(try await store.all().isEmpty)
            try await store.put(["a": "1"])
        }
    }

    @Test func `random operations agree with a model while statements fail at random`() async throws {
        let counter = Shared<UInt64>(7)
        var options = try await postgresOptions()
        options.exchangesHints = false
        options.sleep = { _ in }
        options.fault = { statement in
            guard statement.scope == .partition || statement.scope == .transaction else { return nil }
            let chance = counter.withLock { state in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return state >> 33
            }
            switch chance % 60 {
            case 0: return .refused("40001")
            case 1: return .lostBefore
            case 2: return .lostAfter
            default: return nil
            }
        }
        try await withPostgresStore(options) { store in
            var simulation = ModelSimulation(seed: 11)
            for _ in 0..<60 { try await simulation.step(store) }
            try await simulation.audit(store)
        }
    }
}
