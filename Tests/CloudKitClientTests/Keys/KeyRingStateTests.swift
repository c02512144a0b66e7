import CloudKitDevice
import CloudKitEncryption
import Testing

@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct KeyRingStateTests {
    private let zone = ZoneAddress(container: "c", environment: "development", owner: "_me", zone: "Z")
    private var share: RecordAddress { RecordAddress(zone: zone, name: "S") }

    private func derive(_ secret: AccountSecret) -> ContainerRoot {
        secret.root(container: "c", environment: "development")
    }

    @Test func `keys through shares belong to the account that is signed in`() {
        var state = KeyRingState()
        let (first, second) = (AccountSecret(), AccountSecret())
        _ = state.root(of: first, derive: derive)
        state.keep(SharedKeys(zone), of: first)
        _ = state.root(of: first, derive: derive)
        #expect(state.sharedKeys(of: zone) != nil)
        _ = state.root(of: second, derive: derive)
        #expect(state.sharedKeys(of: zone) == nil)
        state.keep(SharedKeys(zone), of: first)
        #expect(state.sharedKeys(of: zone) == nil)
    }

    @Test func `the root of an account is derived once`() {
        var state = KeyRingState()
        var count = 0
        let secret = AccountSecret()
        for _ in 0..<3 {
            _ = state.root(of: secret) { secret in
                count += 1
                return derive(secret)
            }
        }
        #expect(count == 1)
    }

    @Test func `a check of trees counts for 30 seconds in its epoch and is not prolonged`() {
        var state = KeyRingState()
        state.noteTreeCheck(of: zone, epoch: 1, now: .zero)
        state.noteTreeCheck(of: zone, epoch: 1, now: .seconds(20))
        #expect(state.hasTreeCheck(of: zone, epoch: 1, now: .seconds(29)))
        #expect(!state.hasTreeCheck(of: zone, epoch: 1, now: .seconds(30)))
        #expect(!state.hasTreeCheck(of: zone, epoch: 2, now: .seconds(1)))
        state.noteTreeCheck(of: zone, epoch: 2, now: .seconds(30))
        #expect(state.hasTreeCheck(of: zone, epoch: 2, now: .seconds(59)))
        state.forgetTreeCheck(of: zone)
        #expect(!state.hasTreeCheck(of: zone, epoch: 2, now: .seconds(59)))
    }

    @Test func `one task at a time maintains a share`() {
        var state = KeyRingState()
        let (first, second) = (state.beginMaintenance(of: share), state.beginMaintenance(of: share))
        #expect(first && !second)
        state.endMaintenance(of: share)
        let third = state.beginMaintenance(of: share)
        #expect(third)
    }

    @Test func `noted administrators count for their epoch and their number only`() {
        var state = KeyRingState()
        state.note(administrators: [], of: share, epoch: 3, isOwnRightEnded: true)
        #expect(state.isOwnRightEnded(in: share, epoch: 3, administrators: []) == true)
        #expect(state.isOwnRightEnded(in: share, epoch: 4, administrators: []) == nil)
    }

    @Test func `the users name counts only in the state of the account in which it was asked for`() {
        var state = KeyRingState()
        let (me, other) = (
            AccountState.available(AccountState.Device(email: "me@example.com", id: "d")),
            AccountState.available(AccountState.Device(email: "other@example.com", id: "d"))
        )
        state.noteUserName("_me", in: me)
        #expect(state.userName(in: me) == "_me")
        #expect(state.userName(in: other) == nil)
    }
}
