import CloudKitAccounts
import CloudKitModel
import Testing

@Suite(.timeLimit(.minutes(20))) struct DeviceSignInTests {
    let people = TestAccounts()

    private func create(
        _ place: DeviceSignIn.Place, proof: [UInt8] = TestAccounts.proof, email: String = "ada@example.com",
        lifetime: SessionLifetime = .device
    ) async throws -> DeviceSignIn.Grant {
        try await people.signIn.create(
            email: email, proof: proof, deviceName: "Laptop", lifetime: lifetime, place: place, address: "10.0.0.1")
    }

    @Test func `an address without an account gets a derivation like any other, and always the same`() async throws {
        let first = try await people.signIn.prepare(email: "eve@example.com")
        #expect(try await people.signIn.prepare(email: "EVE@example.com") == first)
        #expect(try await people.signIn.prepare(email: "mallory@example.com") != first)
        #expect(first.salt.count == people.accounts.newDerivation(rounds: 1).salt.count)
    }

    @Test func `a wrong password and an unknown account get the same answer`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let wrong = await #expect(throws: RequestFailure.self) { try await create(place, proof: [9]) }
        let stranger = await #expect(throws: RequestFailure.self) {
            try await create(place, email: "eve@example.com")
        }
        #expect(wrong == stranger)
        #expect(wrong?.code == .authenticationFailed)
    }

    @Test func `guessing is slowed down`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let signIn = people.signIn
        func guess(_ proof: [UInt8]) async throws {
            _ = try await signIn.create(
                email: "ada@example.com", proof: proof, deviceName: "", lifetime: .session, place: place, address: "1")
        }
        for _ in 0..<5 { await #expect(throws: RequestFailure.self) { try await guess([9]) } }
        let failure = await #expect(throws: RequestFailure.self) { try await guess(TestAccounts.proof) }
        #expect(failure?.code == .throttled)
        #expect(failure?.retryAfter == 900)
        people.clock.advance(900_000)
        try await guess(TestAccounts.proof)
    }

    @Test func `of 600 wrong proofs sent at once five are checked`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let signIn = people.signIn
        let codes = await withTaskGroup(of: RequestFailure.Code?.self) { group in
            for _ in 0..<600 {
                group.addTask {
                    do {
                        _ = try await signIn.create(
                            email: "ada@example.com", proof: [9], deviceName: "", lifetime: .session, place: place,
                            address: "10.0.0.1")
                        return nil
                    } catch {
                        return (error as? RequestFailure)?.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .authenticationFailed } == 5)
        #expect(codes.count { $0 == .throttled } == 595)
    }

    @Test func `right proofs sent at once are all let in`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let signIn = people.signIn
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    _ = try await signIn.create(
                        email: "ada@example.com", proof: TestAccounts.proof, deviceName: "", lifetime: .device,
                        place: place, address: "10.0.0.1")
                }
            }
            try await group.waitForAll()
        }
        #expect(try await people.entries(prefix: "proof-failures/").isEmpty)
    }

    @Test(arguments: ["ada@example.com", "eve@example.com"])
    func `counted guesses survive a restart, for addresses with and without an account`(_ email: String) async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        for _ in 0..<5 {
            await #expect(throws: RequestFailure.self) { _ = try await create(place, proof: [9], email: email) }
        }
        // Each value of `people.signIn` is a sign-in that has counted nothing yet.
        let failure = await #expect(throws: RequestFailure.self) { _ = try await create(place, email: email) }
        #expect(failure?.code == .throttled)
        #expect(failure?.retryAfter == 900)
        let rows = try await people.entries(prefix: "proof-failures/")
        #expect(rows.count == 3)
        #expect(rows.allSatisfy { !$0.key.contains("example") && $0.value.count == 40 })
    }

    @Test func `a success ends the stored count, and stored counts that are over are removed`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        await #expect(throws: RequestFailure.self) { _ = try await create(place, proof: [9]) }
        _ = try await create(place)
        #expect(try await people.entries(prefix: "proof-failures/pair/").isEmpty)
        people.clock.advance(900_000)
        await #expect(throws: RequestFailure.self) { _ = try await create(place, proof: [9], email: "eve@example.com") }
        #expect(try await people.entries(prefix: "proof-failures/account/").count == 1)
    }

    @Test func `addresses of one IPv6 network count as one`() async throws {
        let (place, _) = try await people.place()
        let signIn = people.signIn
        func guess(_ address: String) async -> RequestFailure.Code? {
            let failure = await #expect(throws: RequestFailure.self) {
                _ = try await signIn.create(
                    email: "ada@example.com", proof: [9], deviceName: "", lifetime: .session, place: place,
                    address: address)
            }
            return failure?.code
        }
        for number in 1...5 { #expect(await guess("2001:db8:1:2::\(number)") == .authenticationFailed) }
        #expect(await guess("2001:db8:1:2:9::1") == .throttled)
        #expect(await guess("2001:db8:1:3::1") == .authenticationFailed)
        #expect(await guess("::ffff:10.0.0.1") == .authenticationFailed)
    }

    @Test func `a device opens further containers with its secret`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let (other, _) = try await people.place("iCloud.other")
        let grant = try await create(place)
        let secret = try #require(grant.deviceSecret)
        let further = try await people.signIn.resume(DeviceKey(id: grant.deviceID, secret: secret), place: other)
        #expect(further.deviceID == grant.deviceID)
        #expect(further.user != grant.user)
        #expect(further.deviceSecret == nil)
        await #expect(throws: RequestFailure.self) {
            try await people.signIn.resume(DeviceKey(id: grant.deviceID, secret: [1]), place: other)
        }
    }

    @Test func `a browser gets no secret and half an hour`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let grant = try await create(place, lifetime: .session)
        #expect(grant.deviceSecret == nil)
        #expect(grant.expires == people.clock.now + 1_800_000)
    }

    @Test func `a device's name has at most 100 characters`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let sessions = people.store.sessions
        let long = String(repeating: "é", count: 101)
        let grant = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: long, lifetime: .device, place: place,
            address: "10.0.0.1")
        let account = try #require(try await people.accounts.account(email: "ada@example.com")).id
        func name() async throws -> String? { try await sessions.sessions(ofAccount: account).first?.name }
        #expect(try await name() == String(long.prefix(100)))
        for wrong in [long, ""] {
            await expect(.badRequest) { _ = try await sessions.rename(grant.deviceID, to: wrong, ofAccount: account) }
        }
        let longest = String(repeating: "x", count: 100)
        #expect(try await sessions.rename(grant.deviceID, to: longest, ofAccount: account).count == 1)
        #expect(try await name() == longest)
    }

    @Test func `an ended session opens nothing`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let grant = try await create(place)
        let secret = try #require(grant.deviceSecret)
        try await people.signIn.end(DeviceKey(id: grant.deviceID, secret: secret))
        await #expect(throws: RequestFailure.self) {
            try await people.signIn.resume(DeviceKey(id: grant.deviceID, secret: secret), place: place)
        }
    }

    @Test func `a disabled account cannot sign in`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        try await people.accounts.setDisabled(true, email: "ada@example.com")
        await expect(.accountRestricted) { _ = try await create(place) }
        try await people.accounts.setDisabled(false, email: "ada@example.com")
        _ = try await create(place)
    }

    @Test func `another password takes the place of the old one`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        try await people.accounts.setPassword(
            proof: [5], derivation: people.accounts.newDerivation(rounds: 2), email: "ada@example.com")
        #expect(try await people.signIn.prepare(email: "ada@example.com").rounds == 2)
        await #expect(throws: RequestFailure.self) { try await create(place) }
        _ = try await create(place, proof: [5])
    }

    @Test func `sessions that a wrong clock has ended are there again once it is right`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let phone = try await create(place)
        let browser = try await create(place, lifetime: .session)
        let jump: Int64 = 2 * 365 * 86_400_000
        people.clock.advance(jump)
        for _ in 0..<3 { _ = try await create(place) }
        let key = DeviceKey(id: phone.deviceID, secret: try #require(phone.deviceSecret))
        let refused = await #expect(throws: RequestFailure.self) { try await people.signIn.resume(key, place: place) }
        #expect(refused?.code == .authenticationFailed)
        people.clock.advance(-jump)
        #expect(try await people.signIn.resume(key, place: place).deviceID == phone.deviceID)
        #expect(try await people.store.sessions.session(browser.deviceID) != nil)
    }

    @Test func `sessions that are over for a month are deleted at a sign-in`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let phone = try await create(place)
        let browser = try await create(place, lifetime: .session)
        people.clock.advance(366 * 86_400_000)
        _ = try await create(place)
        people.clock.advance(86_400_000)
        _ = try await create(place)
        #expect(try await people.store.sessions.session(phone.deviceID) != nil)
        #expect(try await people.store.sessions.session(browser.deviceID) == nil)
        people.clock.advance(29 * 86_400_000)
        _ = try await create(place)
        #expect(try await people.store.sessions.session(phone.deviceID) == nil)
    }
}
