import Testing

@testable import CloudKitHTTP

/// The bytes that bodies under way may hold.
@Suite(.timeLimit(.minutes(20))) struct BodyBudgetTests {
    private let limits = BodyLimits(bytesMax: 10, strangerBytesMax: 5, heldBytesMax: 100, strangerHeldBytesMax: 20)

    @Test func `strangers have a part of their own`() {
        let budget = BodyBudget(limits: limits)
        for _ in 0..<4 { #expect(budget.reserve(5, for: .stranger)) }
        #expect(!budget.reserve(1, for: .stranger))
        #expect(!budget.admits(.stranger))
        #expect(budget.admits(.known("ada")))
        #expect(budget.reserve(10, for: .known("ada")))
        budget.release(5, for: .stranger)
        #expect(budget.admits(.stranger))
        #expect(budget.heldBytes == 25)
    }

    @Test func `one user has a quarter, and newcomers wait before those under way do`() {
        let budget = BodyBudget(limits: limits)
        #expect(budget.reserve(25, for: .known("ada")))
        #expect(!budget.reserve(1, for: .known("ada")))
        for name in ["bob", "eve"] { #expect(budget.reserve(25, for: .known(name))) }
        #expect(!budget.admits(.known("mallory")))
        budget.release(5, for: .known("bob"))
        #expect(budget.reserve(4, for: .known("bob")))
        #expect(budget.heldBytes == 74)
    }
}
