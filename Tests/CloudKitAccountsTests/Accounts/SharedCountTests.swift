import CloudKitModel
import Testing

@testable import CloudKitAccounts

/// Counts of attempts where several nodes serve one store: a stranger who chooses among nodes has no more of them.
@Suite(.timeLimit(.minutes(20))) struct SharedCountTests {
    private let people = TestAccounts(isShared: true)
    private static let wrong = [UInt8](repeating: 2, count: 32)

    private func attempt(
        _ signIn: DeviceSignIn, proof: [UInt8] = wrong, at place: DeviceSignIn.Place
    ) async throws {
        _ = try await signIn.create(
            email: "ada@example.com", proof: proof, deviceName: "", lifetime: .device, place: place,
            address: "10.0.0.1")
    }

    @Test func `wrong proofs at two nodes are counted together`() async throws {
        try await people.addAda()
        let nodes = [people.signIn, people.signIn]
        let (place, _) = try await people.place()
        for number in 0..<SignInThrottle.pairFailuresMax {
            await expect(.authenticationFailed) { try await attempt(nodes[number % 2], at: place) }
        }
        for node in nodes {
            await expect(.throttled) { try await attempt(node, at: place) }
            await expect(.throttled) { try await attempt(node, proof: TestAccounts.proof, at: place) }
        }
        people.clock.advance(SignInThrottle.window)
        try await attempt(nodes[1], proof: TestAccounts.proof, at: place)
        #expect(try await people.entries(prefix: "proof-failures/pair").isEmpty)
    }

    @Test func `attempts at two nodes at once cannot pass together`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let codes = await withTaskGroup(of: RequestFailure.Code?.self) { group in
            for _ in 0..<20 {
                let signIn = people.signIn
                group.addTask { await failure { try await attempt(signIn, at: place) }?.code }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .authenticationFailed } == SignInThrottle.pairFailuresMax)
        #expect(codes.count { $0 == .throttled } == 20 - SignInThrottle.pairFailuresMax)
    }

    @Test func `a right proof leaves no count, and old counts are removed`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        try await attempt(people.signIn, proof: TestAccounts.proof, at: place)
        #expect(try await people.entries(prefix: "proof-failures/").isEmpty)
        for number in 0..<30 {
            let address = "10.0.\(number).1"
            await expect(.authenticationFailed) {
                _ = try await people.signIn.create(
                    email: "ada@example.com", proof: Self.wrong, deviceName: "", lifetime: .device, place: place,
                    address: address)
            }
        }
        let before = try await people.entries(prefix: "proof-failures/pair").count
        people.clock.advance(SignInThrottle.window + 1)
        for _ in 0..<40 {
            await expect(.authenticationFailed) { try await attempt(people.signIn, at: place) }
            people.clock.advance(SignInThrottle.window + 1)
        }
        #expect(before == 30)
        #expect(try await people.entries(prefix: "proof-failures/pair").count < 10)
    }

    @Test func `one address makes twenty accounts an hour, at whichever node`() async throws {
        let nodes = (0..<2).map { _ in SignUp(store: people.store, isOpen: true, roundsMin: 10) }
        func create(_ number: Int) async throws {
            _ = try await nodes[number % 2].create(
                email: "a\(number)@example.com", name: "", proof: TestAccounts.proof,
                derivation: PasswordDerivation(salt: [UInt8](repeating: 9, count: 16), rounds: 10), address: "10.0.0.1")
        }
        for number in 0..<20 { try await create(number) }
        for number in 20..<22 { await expect(.throttled) { try await create(number) } }
        people.clock.advance(3_600_000)
        try await create(22)
    }
}
