import CloudKitDevice
import CloudKitModel

/// The endpoints of the cloud that this framework calls (docs/web-services.md §1).
struct Endpoint: Hashable, Sendable {
    var path: String
    var method: TransportRequest.Method
    /// Whether sending the request twice comes to the same as sending it once.
    var isRepeatable: Bool
    /// Whether the endpoint belongs to a container and not to one of its databases.
    var isOfDevice = false

    static let modifyRecords = Endpoint(path: "records/modify", method: .post, isRepeatable: false)
    static let lookupRecords = Endpoint(path: "records/lookup", method: .post, isRepeatable: true)
    static let queryRecords = Endpoint(path: "records/query", method: .post, isRepeatable: true)
    static let listZones = Endpoint(path: "zones/list", method: .get, isRepeatable: true)
    static let lookupZones = Endpoint(path: "zones/lookup", method: .post, isRepeatable: true)
    static let modifyZones = Endpoint(path: "zones/modify", method: .post, isRepeatable: false)
    static let zoneChanges = Endpoint(path: "changes/zone", method: .post, isRepeatable: true)
    static let databaseChanges = Endpoint(path: "changes/database", method: .post, isRepeatable: true)
    static let listSubscriptions = Endpoint(path: "subscriptions/list", method: .get, isRepeatable: true)
    static let lookupSubscriptions = Endpoint(path: "subscriptions/lookup", method: .post, isRepeatable: true)
    static let modifySubscriptions = Endpoint(path: "subscriptions/modify", method: .post, isRepeatable: false)
    static let createPushToken = Endpoint(
        path: "tokens/create", method: .post, isRepeatable: true, isOfDevice: true)
    static let uploadAssets = Endpoint(path: "assets/upload", method: .post, isRepeatable: true)
    static let rereferenceAssets = Endpoint(path: "assets/rereference", method: .post, isRepeatable: true)
    static let caller = Endpoint(path: "users/caller", method: .get, isRepeatable: true)

    static let discoverUsers = Endpoint(path: "users/discover", method: .post, isRepeatable: true)

    static let resolveShares = Endpoint(path: "records/resolve", method: .post, isRepeatable: true)
    static let acceptShares = Endpoint(path: "records/accept", method: .post, isRepeatable: true)
    static let requestShareAccess = Endpoint(path: "shares/requestAccess", method: .post, isRepeatable: true)
    static let lookupParticipants = Endpoint(path: "users/lookup/participants", method: .post, isRepeatable: true)
    static let lookupShareKeys = Endpoint(path: "shares/keys/lookup", method: .post, isRepeatable: true)
    static let storeShareKeys = Endpoint(path: "shares/keys/store", method: .post, isRepeatable: false)

    /// The same endpoint for a body that may be sent twice.
    var repeatable: Endpoint { Endpoint(path: path, method: method, isRepeatable: true) }

    /// The path of this endpoint in one database or container, percent-escaped, from `/database` or `/device` on.
    func path(in address: DatabaseAddress) -> String {
        let container = address.container.name.percentEncoded
        if isOfDevice { return "/device/1/\(container)/\(address.environment.rawValue)/\(path)" }
        return "/database/1/\(container)/\(address.environment.rawValue)/\(address.scope.word)/\(path)"
    }
}
