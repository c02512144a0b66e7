/// Everything that can be asked of a cloud. The raw value names it in logs and metrics.
package enum Endpoint: String, Hashable, Sendable, CaseIterable {
    case recordsModify = "records/modify"
    case recordsLookup = "records/lookup"
    case recordsQuery = "records/query"
    case recordsChanges = "records/changes"
    case recordsResolve = "records/resolve"
    case recordsAccept = "records/accept"
    case sharesKeysLookup = "shares/keys/lookup"
    case sharesKeysStore = "shares/keys/store"
    case sharesRequestAccess = "shares/requestAccess"
    case zonesList = "zones/list"
    case zonesLookup = "zones/lookup"
    case zonesModify = "zones/modify"
    case zonesChanges = "zones/changes"
    case changesZone = "changes/zone"
    case changesDatabase = "changes/database"
    case assetsUpload = "assets/upload"
    case assetsRereference = "assets/rereference"
    case subscriptionsList = "subscriptions/list"
    case subscriptionsLookup = "subscriptions/lookup"
    case subscriptionsModify = "subscriptions/modify"
    case usersCaller = "users/caller"
    case usersCurrent = "users/current"
    case usersDiscover = "users/discover"
    case usersLookupEmail = "users/lookup/email"
    case usersLookupID = "users/lookup/id"
    case usersLookupContacts = "users/lookup/contacts"
    case usersLookupParticipants = "users/lookup/participants"
    case sessionsPrepare = "sessions/prepare"
    case sessionsCreate = "sessions/create"
    case sessionsDelete = "sessions/delete"
    case accountsCreate = "accounts/create"
    case accountsPassword = "accounts/password"
    case keychainGet = "keychain/get"
    case keychainCreate = "keychain/create"
    case keychainRewrap = "keychain/rewrap"
    case keychainReset = "keychain/reset"
    case keychainRecovery = "keychain/recovery"
    case keychainRecover = "keychain/recover"
    case devicesList = "devices/list"
    case devicesRevoke = "devices/revoke"
    case devicesRename = "devices/rename"
    case identitiesLookup = "identities/lookup"
    case assetUpload = "asset/upload"
    case assetDownload = "asset/download"
    case tokensCreate = "tokens/create"
    case tokensRegister = "tokens/register"
    case tokensDelete = "tokens/delete"
    case tokensServices = "tokens/services"
    case adminFaultsList = "admin/faults/list"
    case adminFaultsOrder = "admin/faults/order"
    case adminFaultsRemove = "admin/faults/remove"
    case adminTokensExpire = "admin/tokens/expire"
    case adminZonesCompact = "admin/zones/compact"
    case adminZonesPurge = "admin/zones/purge"
    case adminKeysReset = "admin/keys/reset"
    case adminDevicesList = "admin/devices/list"
    case adminDevicesRevoke = "admin/devices/revoke"
    case courier
    case landingPage = "page/landing"
    case signInPage = "page/sign-in"
    case signUpPage = "page/sign-up"
    case signInScript = "page/sign-in.js"
    case styleSheet = "page/style.css"
    case sharePage = "page/share"
    case shareScript = "page/share.js"
    case notificationsPage = "page/notifications"
    case notificationsScript = "page/notifications.js"
    case notificationsWorker = "page/notifications-worker.js"
    case health
    case metrics
    case unknown

    /// The methods it takes besides OPTIONS (docs/web-services.md §1.2).
    enum Verbs {
        case post, getOrPost, get, upload

        /// For the header `Allow`.
        var allow: String {
            switch self {
            case .post: "POST, OPTIONS"
            case .getOrPost: "GET, POST, OPTIONS"
            case .get: "GET, HEAD, OPTIONS"
            case .upload: "POST, PATCH, HEAD, OPTIONS"
            }
        }
    }

    var verbs: Verbs {
        switch self {
        case .zonesList, .subscriptionsList, .usersCaller, .usersCurrent, .usersDiscover, .usersLookupContacts,
            .adminFaultsList, .tokensServices:
            .getOrPost
        case .assetUpload: .upload
        case .assetDownload, .landingPage, .signInPage, .signUpPage, .signInScript, .styleSheet, .sharePage,
            .shareScript, .notificationsPage, .notificationsScript, .notificationsWorker,
            .health, .metrics, .courier, .unknown:
            .get
        default: .post
        }
    }

    /// The endpoints below `/database`, by what follows the database's word.
    static let ofDatabase = named([
        .recordsModify, .recordsLookup, .recordsQuery, .recordsChanges, .zonesList, .zonesLookup, .zonesModify,
        .zonesChanges, .changesZone, .changesDatabase, .assetsUpload, .assetsRereference, .usersCaller, .usersCurrent,
        .usersDiscover, .usersLookupEmail, .usersLookupID, .usersLookupContacts, .usersLookupParticipants,
        .recordsResolve, .recordsAccept, .sharesKeysLookup, .sharesKeysStore, .sharesRequestAccess,
        .subscriptionsList, .subscriptionsLookup, .subscriptionsModify,
    ])

    /// The endpoints below `/device`.
    static let ofDevice = named([
        .sessionsPrepare, .sessionsCreate, .sessionsDelete, .accountsCreate, .accountsPassword, .keychainGet,
        .keychainCreate, .keychainRewrap, .keychainReset, .keychainRecovery, .keychainRecover, .devicesList,
        .devicesRevoke, .devicesRename, .identitiesLookup,
        .tokensCreate, .tokensRegister, .tokensDelete, .tokensServices,
    ])

    /// The operator's endpoints, below `/admin`.
    static let ofAdmin = Dictionary(
        uniqueKeysWithValues: [
            adminFaultsList, .adminFaultsOrder, .adminFaultsRemove, .adminTokensExpire, .adminZonesCompact,
            .adminZonesPurge, .adminKeysReset, .adminDevicesList, .adminDevicesRevoke,
        ].map { ($0.rawValue.dropFirst("admin/".count), $0) })

    private static func named(_ endpoints: [Endpoint]) -> [Substring: Endpoint] {
        Dictionary(uniqueKeysWithValues: endpoints.map { ($0.rawValue[...], $0) })
    }
}
