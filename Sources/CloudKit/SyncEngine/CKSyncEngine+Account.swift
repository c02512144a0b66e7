import CloudKitDevice
import Foundation

/// A value that changes when a device's account may have changed since the engine looked.
typealias AccountStamp = AccountState

/// The effect of an account change (B-SYN-12).
enum AccountTransition: Hashable, Sendable {
    case none
    case signIn(String)
    case signOut(String)
    case switchAccounts(String, String)

    init(previous: String?, current: String?) {
        switch (previous, current) {
        case (nil, nil): self = .none
        case (nil, let current?): self = .signIn(current)
        case (let previous?, nil): self = .signOut(previous)
        case (let previous?, let current?):
            self = previous == current ? .none : .switchAccounts(previous, current)
        }
    }

    var event: CKSyncEngine.Event.AccountChange.ChangeType? {
        func id(_ name: String) -> CKRecord.ID { CKRecord.ID(named: name, in: .default) }
        return switch self {
        case .none: nil
        case .signIn(let current): .signIn(currentUser: id(current))
        case .signOut(let previous): .signOut(previousUser: id(previous))
        case .switchAccounts(let previous, let current):
            .switchAccounts(previousUser: id(previous), currentUser: id(current))
        }
    }
}

extension SyncState {
    /// Applies an account change: all known state belongs to another user.
    ///
    /// Changes that an app added before its engine's very first sync stay, unless another user was signed in then.
    mutating func follow(_ transition: AccountTransition) -> Bool {
        switch transition {
        case .none:
            return false
        case .signIn(let current):
            if wasSignedOut { self = SyncState(user: current) } else { user = current }
            firstUser = nil
        case .signOut:
            self = SyncState()
            wasSignedOut = true
        case .switchAccounts(_, let current):
            self = SyncState(user: current)
        }
        return true
    }

    /// Returns what it means that a user is signed in, or none.
    func transition(to current: String?) -> AccountTransition {
        // A first user who is gone was never reported; what the app has is this user's.
        let previous = user ?? (current == nil || current == firstUser ? nil : firstUser)
        return AccountTransition(previous: previous, current: current)
    }

    /// Whether the user is still to be noted to whom changes belong that are added before the engine looks.
    var wantsFirstUser: Bool { user == nil && firstUser == nil }
}

extension CKSyncEngine {
    /// Makes sure that the state belongs to the signed-in user, and informs the delegate when that is another one.
    ///
    /// - Throws: `notAuthenticated` when no user is signed in; the failure of the request for the user.
    func checkAccount() async throws {
        let stamp = database.connection.cloud.account.state
        guard verifiedAccount.withLock({ $0 != stamp }) else { return }
        let user = stamp == .noAccount ? nil : try await currentUser(of: stamp)
        let transition = state.value.transition(to: user)
        if let change = transition.event {
            await post(.accountChange(Event.AccountChange(changeType: change)), preparing: { $0.follow(transition) })
        }
        guard user != nil else { throw CKError(.notSignedIn) }
        verifiedAccount.withLock { $0 = stamp }
    }

    /// Returns the database with calls for the user to whom the state belongs alone: another one may sign in while the delegate is asked.
    func verifiedDatabase(_ group: CKOperationGroup? = nil) -> CKDatabase {
        database.configured(group, for: verifiedAccount.withLock { $0 })
    }

    /// Notes the user to whom the app's changes belong before the engine looks for the first time, or again after a user has signed out, which
    /// takes a network: another one may be signed in by then.
    func noteFirstUser() {
        guard state.value.wantsFirstUser, let user = database.connection.cloud.account.userRecordName else { return }
        state.revise { state in
            if state.wantsFirstUser { state.firstUser = user }
            // It is stored with the changes.
            return false
        }
    }

    private func currentUser(of account: AccountStamp) async throws -> String {
        do {
            return try await database.configured(nil, for: account).requests().currentUser().recordName
        } catch {
            throw CKError.any(error)
        }
    }
}
