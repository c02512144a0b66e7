import CloudKitModel
import Testing

@testable import CloudKitAccounts

/// An account has a limited number of sessions, since each sign-in reads all of them.
@Suite(.timeLimit(.minutes(20))) struct SessionCountTests {
    @Test func `beyond a thousand sessions a sign-in ends the one that has been unused for the longest time`()
        async throws
    {
        let people = TestAccounts()
        let account = try await people.addAda().id
        let now = people.clock.now
        try await people.store.write { transaction in
            for number in 0..<DeviceSession.countMax {
                let id = "session-\(number)"
                // This one was used first, and all of them before the sign-ins.
                let used = number == 10 ? now - 1_000 : now - 1
                try transaction.set(
                    DeviceSession(
                        id: id, account: account, name: "", created: now - 2_000,
                        expires: used + SessionLifetime.device.milliseconds, secretHash: []))
                try DeviceSession.owners.set(id, to: account, in: &transaction)
            }
        }
        let (place, _) = try await people.place()
        func signIn() async throws -> String {
            try await people.signIn.create(
                email: "ada@example.com", proof: TestAccounts.proof, deviceName: "Phone", lifetime: .device,
                place: place, address: "10.0.0.1"
            ).deviceID
        }
        let added = try await signIn()
        let ids = try await people.store.sessions.sessions(ofAccount: account).map(\.id)
        #expect(ids.count == DeviceSession.countMax)
        #expect(ids.contains(added) && !ids.contains("session-10"))
        #expect(try await people.store.sessions.session("session-10") == nil)
        people.clock.advance(1)
        let latest = try await signIn()
        let last = try await people.store.sessions.sessions(ofAccount: account).map(\.id)
        #expect(last.count == DeviceSession.countMax && Set([added, latest]).isSubset(of: last))
    }
}
