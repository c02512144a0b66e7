import CloudKitDevice

/// Whether somebody is signed in on this device (B-ACC-01).
public enum CKAccountStatus: Int, Sendable {
    /// The profile's folder could not be read, or no cloud is configured.
    case couldNotDetermine = 0
    /// Private and shared databases can be used.
    case available = 1
    /// The account must not use this service.
    case restricted = 2
    /// Nobody is signed in: `welkin login` signs in.
    case noAccount = 3
    /// Somebody is signed in and has to confirm who they are.
    case temporarilyUnavailable = 4
}

extension CKAccountStatus {
    init(_ state: AccountState) {
        switch state {
        case .available: self = .available
        case .noAccount: self = .noAccount
        case .couldNotDetermine: self = .couldNotDetermine
        }
    }
}
