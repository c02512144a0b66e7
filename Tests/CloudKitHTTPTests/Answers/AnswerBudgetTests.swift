import CloudKitModel
import Testing

@testable import CloudKitHTTP

@Suite(.timeLimit(.minutes(20))) struct AnswerBudgetTests {
    private static func budget(_ bytes: Int) -> AnswerBudget {
        AnswerBudget(bytesMax: bytes) { _ in try await Task.sleep(for: .seconds(3600)) }
    }

    @Test func `what answers hold is counted until it was sent`() async throws {
        let budget = Self.budget(1000)
        var reservation: AnswerReservation? = try await budget.reserve(400, for: "ada")
        #expect(budget.heldBytes == 400)
        reservation?.resize(to: 30)
        #expect(budget.heldBytes == 30)
        reservation = nil
        #expect(budget.heldBytes == 0)
    }

    @Test func `a request waits until there is space, and is refused when there is none for long`() async throws {
        let budget = Self.budget(1000)
        let held = try await budget.reserve(500, for: "ada")
        let alsoHeld = try await budget.reserve(250, for: "bob")
        async let waiting = budget.reserve(100, for: "eve")
        while budget.waiterCount == 0 { await Task.yield() }
        alsoHeld.resize(to: 0)
        let granted = try await waiting
        #expect(budget.heldBytes == 600)
        let impatient = AnswerBudget(bytesMax: 1000) { _ in }
        let all = try await impatient.reserve(500, for: "ada")
        let failure = await #expect(throws: RequestFailure.self) { _ = try await impatient.reserve(500, for: "bob") }
        #expect(failure?.code == .tryAgainLater)
        #expect(failure?.retryAfter == 2)
        #expect(impatient.waiterCount == 0)
        withExtendedLifetime((held, granted, all)) {}
    }

    @Test func `one sender holds half at most, and saves have a part of their own`() async throws {
        let budget = AnswerBudget(bytesMax: 1000) { _ in }
        let first = try await budget.reserve(5000, for: "ada")
        #expect(budget.heldBytes == 500)
        await #expect(throws: RequestFailure.self) { _ = try await budget.reserve(1, for: "ada") }
        let second = try await budget.reserve(250, for: "bob")
        await #expect(throws: RequestFailure.self) { _ = try await budget.reserve(100, for: "eve") }
        let save = try await budget.reserve(100, for: "eve", .save)
        #expect(budget.heldBytes == 850)
        withExtendedLifetime((first, second, save)) {}
    }

    @Test func `those who wait are granted space in their order, but for senders without a share`() {
        var queue = AnswerQueue<Int>(bytesMax: 1000, waitersMax: 4, senderWaitersMax: 2)
        #expect(queue.tryTake(500, for: "ada", .fetch) == true)
        #expect(queue.wait(100, for: "ada", .fetch, 1) != nil)
        #expect(queue.wait(300, for: "bob", .fetch, 2) != nil)
        #expect(queue.wait(100, for: "eve", .fetch, 3) != nil)
        #expect(queue.grant() == [])
        #expect(queue.wait(100, for: "ada", .fetch, 4) != nil)
        #expect(queue.wait(100, for: "ada", .fetch, 5) == nil)
        #expect(queue.wait(100, for: "kim", .fetch, 6) == nil)
        queue.change(by: -100, of: "ada")
        #expect(queue.grant() == [1])
        queue.change(by: -300, of: "ada")
        #expect(queue.grant() == [2, 3, 4])
        #expect(queue.heldBytes == 700)
    }
}
