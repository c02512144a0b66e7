import CloudKitDevice

/// The availability of the user's account on this device (B-ACC-01).
public enum CKAccountStatus: Int, Sendable {
    /// The profile could not be read, its keychain is damaged, or no cloud is configured.
    case couldNotDetermine = 0
    /// Private and shared databases can be used.
    case available = 1
    /// The operator disabled the account.
    case restricted = 2
    /// No user is signed in: `welkin login` signs in.
    case noAccount = 3
    /// A user is signed in and has to confirm their identity, because the device was signed out from another device, or
    /// because it does not have the account's current keys. Keep caches and wait for `CKAccountChanged` (B-ACC-02).
    case temporarilyUnavailable = 4
}

extension CKAccountStatus {
    init(_ state: AccountState) {
        switch state {
        case .available: self = .available
        case .noAccount: self = .noAccount
        case .couldNotDetermine: self = .couldNotDetermine
        case .restricted: self = .restricted
        case .temporarilyUnavailable: self = .temporarilyUnavailable
        }
    }
}
