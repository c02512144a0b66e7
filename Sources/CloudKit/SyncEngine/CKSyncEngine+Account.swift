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
    /// Changes that an app added before its engine's very first sync belong to no other user, and stay.
    mutating func follow(_ transition: AccountTransition) -> Bool {
        switch transition {
        case .none:
            return false
        case .signIn(let current):
            if wasSignedOut { self = SyncState(user: current) } else { user = current }
        case .signOut:
            self = SyncState()
            wasSignedOut = true
        case .switchAccounts(_, let current):
            self = SyncState(user: current)
        }
        return true
    }
}

extension CKSyncEngine {
    /// Makes sure that the state belongs to the signed-in user, and informs the delegate when that is another one.
    ///
    /// - Throws: `notAuthenticated` when no user is signed in; the failure of the request for the user.
    func checkAccount() async throws {
        let stamp = database.connection.cloud.account.state
        guard verifiedAccount.withLock({ $0 != stamp }) else { return }
        let user = stamp == .noAccount ? nil : try await currentUser(of: stamp)
        let transition = AccountTransition(previous: state.value.user, current: user)
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

    private func currentUser(of account: AccountStamp) async throws -> String {
        do {
            return try await database.configured(nil, for: account).requests().currentUser().recordName
        } catch {
            throw CKError.any(error)
        }
    }
}
