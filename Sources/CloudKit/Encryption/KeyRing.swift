import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import Synchronization

/// The keys of a container's zones on this device, made from the account's secret when they are needed.
final class KeyRing: Sendable {
    private let account: any DeviceAccount
    private let container: String
    private let environment: String
    let epochs: EpochBook
    private let root = Mutex<Root?>(nil)
    private let user = Mutex<(account: AccountState, name: String)?>(nil)

    /// Another account's secret gives another root.
    private struct Root {
        var secret: AccountSecret
        var root: ContainerRoot
    }

    init(account: any DeviceAccount, place: ContainerPlace?, epochs: EpochBook) {
        self.account = account
        container = place?.container.name ?? ""
        environment = place?.environment.rawValue ?? ""
        self.epochs = epochs
    }

    /// The keys of a zone.
    ///
    /// - Parameter askUser: Asks the cloud who the user is, for a device that does not know.
    /// - Throws: `CallFailure.keysMissing` where the device cannot have them; what `askUser` throws.
    func keys(
        of zone: ZoneID, in scope: DatabaseScope, askUser: () async throws -> UserID
    ) async throws -> ZoneKeys {
        guard scope == .private else {
            throw CallFailure.keysMissing("The keys of this zone have not been given to this account")
        }
        let root = try containerRoot()
        let place = self.place(of: zone, owner: try await userName(askUser))
        return ZoneKeys(root: root, place: place, epoch: try epochs.epoch(of: place))
    }

    /// Compares the epochs that the cloud says its zones have with those seen before, and remembers higher ones.
    ///
    /// - Throws: `CallFailure.tampered` when one is lower.
    func see(_ zone: Zone) throws(CallFailure) {
        guard let owner = knownUserName else { return }
        try epochs.see(zone.keyEpoch, of: place(of: zone.id, owner: owner))
    }

    private func place(of zone: ZoneID, owner: String) -> ZonePlace {
        let name = zone.owner.isCaller ? owner : zone.owner.recordName
        return ZonePlace(container: container, environment: environment, owner: name, zone: zone.zoneName)
    }

    private func containerRoot() throws -> ContainerRoot {
        let secret: AccountSecret
        do {
            secret = try account.secret()
        } catch {
            throw CallFailure(keychain: error)
        }
        return root.withLock { root in
            if let root, root.secret == secret { return root.root }
            let made = secret.root(container: container, environment: environment)
            root = Root(secret: secret, root: made)
            return made
        }
    }

    private func userName(_ askUser: () async throws -> UserID) async throws -> String {
        if let name = knownUserName { return name }
        let state = account.state
        let name = try await askUser().recordName
        user.withLock { $0 = (state, name) }
        return name
    }

    /// What the profile knows, or was asked before for the same account.
    private var knownUserName: String? {
        if let name = account.userRecordName { return name }
        let state = account.state
        return user.withLock { user in user?.account == state ? user?.name : nil }
    }
}

extension CallFailure {
    /// The account's secret is not to be had.
    init(keychain error: any Error) {
        switch error {
        case let failure as CallFailure: self = failure
        case let error as DeviceProfileError: self = .keysMissing(error.description)
        case let error as SignInError: self = .keysMissing(error.description)
        default: self = .keysMissing("The keys of this account are not on this device")
        }
    }

    /// Something sealed does not open, or cannot be made.
    init(_ error: EncryptionError, record: String) {
        switch error {
        case .noKey: self = .keysMissing("Record '\(record)': \(error)")
        default: self = .tampered("Record '\(record)': \(error)")
        }
    }
}
