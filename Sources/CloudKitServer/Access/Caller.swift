import CloudKitAccounts
import CloudKitModel

/// The sender of a request, as the HTTP layer has established it; rules look at nothing else of the sender.
package struct Caller: Hashable, Sendable {
    /// The form of the API a caller speaks; it decides a few limits (OPEN-11).
    package enum ClientKind: Hashable, Sendable {
        /// CloudKit Web Services: 200 items a request (B-LIM-03).
        case web
        /// Our own SDK, which has the limits of Apple's framework: 400 items a request (B-LIM-01).
        case native

        /// The most items of a request and the most records of an answer.
        package var itemsMax: Int {
            switch self {
            case .web: 200
            case .native: 400
            }
        }
    }

    /// The user within the container; nil for a caller without an account.
    package var user: UserID?
    /// The device a native caller signed in from; it ends up in the stamps of records.
    package var deviceID: String?
    /// The form of the API that the caller uses.
    package var surface: ClientKind
    /// A flag for requests signed by a server-to-server key: the public database only (B-ACC-09).
    package var isServerKey: Bool
    /// A flag for operators of the cloud: the public database only, where no grants of record types hold them.
    package var isOperator = false
    /// The attempt of a native caller's request that changes a database; nil: a repetition cannot be told from another request.
    package var attempt: RequestAttempt?
    /// The relation of the device's keys to the account's; private and shared databases require the present ones.
    package var keychain: KeychainStatus
    /// The generation of the account's keys that the device was given; nil: a sender without keys.
    package var keychainGeneration: Int?

    /// Creates a caller; without a user it is anonymous or a server key.
    package init(
        user: UserID?, deviceID: String? = nil, surface: ClientKind = .web, isServerKey: Bool = false,
        keychain: KeychainStatus = .current, keychainGeneration: Int? = nil
    ) {
        self.user = user
        self.deviceID = deviceID
        self.surface = surface
        self.isServerKey = isServerKey
        self.keychain = keychain
        self.keychainGeneration = keychainGeneration
    }

    /// Refuses more items than a request of this caller may have (B-LIM-01, B-LIM-03).
    func checkItemCount(_ count: Int) throws(RequestFailure) {
        let max = surface.itemsMax
        guard count <= max else {
            throw RequestFailure(
                .itemLimitExceeded,
                "Your request contains \(count) items which is more than the maximum number of items in a single "
                    + "request (\(max))", remedy: "Send the halves.")
        }
    }

    /// A caller without an account: reads of the public database (B-DB-03).
    package static let anonymous = Caller(user: nil)

    /// The operators of the cloud, in the public database: records that they make are of the user `_operator`.
    package static let cloudOperator: Caller = {
        var caller = Caller(user: UserID("_operator"))
        caller.isOperator = true
        return caller
    }()
}
