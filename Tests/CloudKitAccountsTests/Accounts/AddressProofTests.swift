import CloudKitModel
import CloudKitRecordLayer
import Foundation
import IdentityDirectory
import Testing

@testable import CloudKitAccounts

/// Addresses that are proved by a mailed link: who proves one, for how long, and what counts until then.
@Suite(.timeLimit(.minutes(20))) struct AddressProofTests {
    private let people = TestAccounts()
    private let limiter = ProofLimiter()
    private static let derivation = PasswordDerivation(salt: [UInt8](repeating: 9, count: 16), rounds: 10)

    private var proofs: AddressProofs { people.store.addressProofs }

    private func prove(_ code: String, from address: String = "10.0.0.1") async throws {
        _ = try await proofs.prove(code: code, address: address, limiter)
    }

    private func isProved(_ email: String = "ada@example.com") async throws -> Bool {
        try await people.accounts.account(email: email)?.isEmailProved == true
    }

    @Test func `a link proves the address once`() async throws {
        let ada = try await people.addAda()
        let link = try #require(try await proofs.makeLink(forAccount: ada.id))
        #expect(link.email == "ada@example.com" && link.code.count == 32)
        #expect(try await !isProved())
        try await prove(link.code)
        #expect(try await isProved())
        await expect(.accessDenied) { try await prove(link.code) }
        #expect(try await proofs.makeLink(forAccount: ada.id) == nil)
        #expect(try await people.entries(prefix: "address-proof").isEmpty)
        await expect(.itemNotFound) { _ = try await proofs.makeLink(forAccount: "nobody") }
    }

    @Test func `a link expires by the clock, and a later one ends it`() async throws {
        let ada = try await people.addAda()
        let first = try #require(try await proofs.makeLink(forAccount: ada.id))
        people.clock.advance(AddressProof.pause)
        let second = try #require(try await proofs.makeLink(forAccount: ada.id))
        await expect(.accessDenied) { try await prove(first.code) }
        people.clock.advance(AddressProofs.lifetime)
        let failure = await failure { try await prove(second.code) }
        #expect(failure?.code == .accessDenied && failure?.remedy?.contains("--send") == true)
        let third = try #require(try await proofs.makeLink(forAccount: ada.id))
        people.clock.advance(AddressProofs.lifetime - 1)
        try await prove(third.code)
        #expect(try await isProved())
    }

    @Test func `five links a day, one a minute`() async throws {
        let ada = try await people.addAda()
        for _ in 0..<AddressProof.dayMax {
            _ = try await proofs.makeLink(forAccount: ada.id)
            let soon = await failure { _ = try await proofs.makeLink(forAccount: ada.id) }
            #expect(soon?.code == .throttled)
            people.clock.advance(AddressProof.pause)
        }
        let many = await failure { _ = try await proofs.makeLink(forAccount: ada.id) }
        #expect(many?.code == .throttled && many?.retryAfter == Double(86_400 - 5 * 60))
        people.clock.advance(86_400_000 - 5 * AddressProof.pause)
        _ = try await proofs.makeLink(forAccount: ada.id)
        // A clock that was set back makes nobody wait for longer than a minute.
        #expect(throws: RequestFailure.self) { try AddressProof.sending(after: [1_000_000], now: 0) }
        #expect(try AddressProof.sending(after: [], now: 5) == [5])
        let failure = #expect(throws: RequestFailure.self) { try AddressProof.sending(after: [1_000_000], now: 0) }
        #expect(failure?.retryAfter == 60)
    }

    @Test func `many links made at once are one`() async throws {
        let ada = try await people.addAda()
        let made = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 {
                group.addTask { (try? await proofs.makeLink(forAccount: ada.id)) != nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(made == 1)
    }

    @Test func `who guesses codes has to wait`() async throws {
        let ada = try await people.addAda()
        let link = try #require(try await proofs.makeLink(forAccount: ada.id))
        for number in 0..<SignInThrottle.addressFailuresMax {
            await expect(.accessDenied) { try await prove("guess \(number)") }
        }
        await expect(.throttled) { try await prove(link.code) }
        try await prove(link.code, from: "10.0.0.2")
    }

    @Test func `the store holds no code, and nothing of an account that is removed`() async throws {
        let ada = try await people.addAda()
        let link = try #require(try await proofs.makeLink(forAccount: ada.id))
        let entries = try await people.entries(prefix: "address-proof")
        #expect(entries.count == 2)
        for (key, value) in entries {
            #expect(!key.contains(link.code) && !String(decoding: value, as: UTF8.self).contains(link.code))
            let check = try await people.store.read { view in
                try await AccountRowCheck(view).problem(Array(key.utf8), value)
            }
            #expect(check == nil, "\(key)")
        }
        try await people.accounts.remove(email: "ada@example.com")
        #expect(try await people.entries(prefix: "address-proof").isEmpty)
        await expect(.accessDenied) { try await prove(link.code) }
    }

    @Test func `the stored forms stay as they are`() async throws {
        let ada = try await people.addAda()
        _ = try await proofs.makeLink(forAccount: ada.id)
        let plan = AccountPlan(name: "Ben", group: AccountGroup("staff"), quota: .unlimited)
        _ = try await people.store.invitations.create(email: "ben@example.com", days: 1, plan: plan, isMailed: true)
        func keys(_ table: String) async throws -> [String] {
            let value = try #require(try await people.entries(prefix: table).first).value
            let object = try JSONSerialization.jsonObject(with: Data(value)) as? [String: Any]
            return (object?.keys.sorted() ?? [])
        }
        #expect(try await keys("address-proof/") == ["account", "email", "expires", "hash", "sent"])
        #expect(
            try await keys("invitation/") == [
                "created", "email", "expires", "group", "hash", "mailed", "name", "quota", "uses", "usesMax",
            ])
        #expect(try await people.entries(prefix: "address-proof-code/").map(\.value) == [Array(ada.id.utf8)])
        try await people.accounts.setEmailProved(true, email: ada.email)
        try await people.accounts.setGroup(AccountGroup("staff"), email: ada.email)
        #expect(try await keys("account/").filter { ["group", "proved"].contains($0) } == ["group", "proved"])
    }

    @Test func `an invitation proves an address only if its link went to the mailbox alone`() async throws {
        let signUp = SignUp(store: people.store, isOpen: false, roundsMin: 10)
        func account(_ email: String, _ code: String) async throws -> Account {
            try await signUp.create(
                email: email, name: "", proof: TestAccounts.proof, derivation: Self.derivation, address: "10.0.0.1",
                invitation: code)
        }
        let invitations = people.store.invitations
        let printed = try await invitations.create(email: "ada@example.com", days: 1)
        #expect(try await !account("ada@example.com", printed.code).isEmailProved)
        let mailed = try await invitations.create(email: "ben@example.com", days: 1, isMailed: true)
        #expect(try await account("ben@example.com", mailed.code).isEmailProved)
        let open = try await invitations.create(days: 1, isMailed: true)
        #expect(try await !account("eve@example.com", open.code).isEmailProved)
        let zoe = InvitedPerson(email: try #require(EmailAddress("zoe@example.com")))
        guard case .invited(let code, _) = try await invitations.invite([zoe], days: 1, isMailed: true)[0] else {
            Issue.record("nobody was invited")
            return
        }
        #expect(try await account("zoe@example.com", code).isEmailProved)
    }

    @Test func `the operator notes which addresses are proved`() async throws {
        try await people.addAda()
        try await people.accounts.setEmailProved(true, email: "ada@example.com")
        #expect(try await isProved())
        #expect(try await people.accounts.setEmailProved(false, group: nil) == 1)
        #expect(try await !isProved())
        let group = try #require(AccountGroup("staff"))
        await #expect(throws: AccountError.groupEmpty("staff")) {
            try await people.accounts.setEmailProved(true, group: group)
        }
        try await people.accounts.setGroup(group, email: "ada@example.com")
        #expect(try await people.accounts.setEmailProved(true, group: group) == 1)
        #expect(try await isProved())
    }

    @Test func `B-PRT-05 where addresses have to be proved, others lead to nobody`() async throws {
        let strict = TestAccounts(requiresProvedAddresses: true)
        for (people, isFound) in [(TestAccounts(), true), (strict, false)] {
            let ada = try await people.addAda()
            let container = people.container
            let user = try await people.store.userNames.name(of: ada.id, in: container)
            try await people.accounts.setDiscoverable(true, email: ada.email)
            try await people.accounts.addPhoneNumber("+441632960083", email: ada.email)
            let directory = people.store.userDirectory
            let email = LookupInfo(emailAddress: "ADA@example.com")
            let hash = LookupInfo(addressHash: AddressHash.of("ada@example.com"))
            let phone = LookupInfo(phoneNumber: "+441632960083")
            let phoneHash = LookupInfo(addressHash: AddressHash.of("+441632960083"))
            #expect(try await directory.user(withAddressOf: email, in: container) == (isFound ? user : nil))
            #expect(try await directory.user(withAddressOf: phone, in: container) == user)
            for lookup in [email, hash] {
                #expect(try await (directory.discoverable(lookup, in: container) != nil) == isFound)
            }
            for lookup in [phone, phoneHash, LookupInfo(user: user)] {
                #expect(try await directory.discoverable(lookup, in: container) != nil)
            }
            #expect(try await directory.person(user)?.isEmailCounted == isFound)
            // Operators find the account in any case.
            #expect(try await directory.user(email: "ada@example.com", in: container) == user)
            try await people.accounts.setEmailProved(true, email: ada.email)
            #expect(try await directory.user(withAddressOf: email, in: container) == user)
            for lookup in [email, hash] { #expect(try await directory.discoverable(lookup, in: container) != nil) }
            #expect(try await directory.person(user)?.isEmailCounted == true)
        }
    }
}
