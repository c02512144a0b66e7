import CloudKitDevice
import CloudKitModel
import TextEncodings

/// The endpoints of the cloud that this framework calls (docs/web-services.md §1).
struct CloudEndpoint: Hashable, Sendable {
    var path: String
    var method: TransportRequest.Method
    /// A Boolean value that indicates whether sending the request twice has the same effect as sending it once.
    var isRepeatable: Bool
    /// A Boolean value that indicates whether the request changes a database.
    var isChange = false
    /// A Boolean value that indicates whether the endpoint belongs to a container and not to one of its databases.
    var isOfDevice = false
    /// The reason why documented web services cannot answer; nil: the endpoint is a documented one.
    var addition: String?

    static let modifyRecords = CloudEndpoint(path: "records/modify", method: .post, isRepeatable: false, isChange: true)
    static let lookupRecords = CloudEndpoint(path: "records/lookup", method: .post, isRepeatable: true)
    static let queryRecords = CloudEndpoint(path: "records/query", method: .post, isRepeatable: true)
    static let listRecords = CloudEndpoint(
        path: "records/list", method: .post, isRepeatable: true,
        addition: "Web services cannot list the records of a zone")
    static let listZones = CloudEndpoint(path: "zones/list", method: .get, isRepeatable: true)
    static let lookupZones = CloudEndpoint(path: "zones/lookup", method: .post, isRepeatable: true)
    static let modifyZones = CloudEndpoint(path: "zones/modify", method: .post, isRepeatable: false, isChange: true)
    static let zoneChanges = CloudEndpoint(path: "changes/zone", method: .post, isRepeatable: true)
    static let databaseChanges = CloudEndpoint(path: "changes/database", method: .post, isRepeatable: true)
    static let listSubscriptions = CloudEndpoint(path: "subscriptions/list", method: .get, isRepeatable: true)
    static let lookupSubscriptions = CloudEndpoint(path: "subscriptions/lookup", method: .post, isRepeatable: true)
    static let modifySubscriptions = CloudEndpoint(
        path: "subscriptions/modify", method: .post, isRepeatable: false, isChange: true)
    static let createPushToken = CloudEndpoint(
        path: "tokens/create", method: .post, isRepeatable: true, isOfDevice: true,
        addition: "Web services have no notifications that this framework can receive")
    static let uploadAssets = CloudEndpoint(path: "assets/upload", method: .post, isRepeatable: true)
    static let importAsset = CloudEndpoint(
        path: "assets/import", method: .post, isRepeatable: true,
        addition: "Web services cannot copy a file between containers")
    static let rereferenceAssets = CloudEndpoint(path: "assets/rereference", method: .post, isRepeatable: true)
    static let caller = CloudEndpoint(path: "users/caller", method: .get, isRepeatable: true)

    static let discoverUsers = CloudEndpoint(path: "users/discover", method: .post, isRepeatable: true)

    static let resolveShares = CloudEndpoint(path: "records/resolve", method: .post, isRepeatable: true)
    static let acceptShares = CloudEndpoint(path: "records/accept", method: .post, isRepeatable: true)
    static let requestShareAccess = CloudEndpoint(
        path: "shares/requestAccess", method: .post, isRepeatable: true,
        addition: "Web services cannot ask for access to a share")
    static let lookupParticipants = CloudEndpoint(
        path: "users/lookup/participants", method: .post, isRepeatable: true,
        addition: "Web services cannot verify participants")
    static let lookupDirectory = CloudEndpoint(
        path: "directory/lookup", method: .post, isRepeatable: true, isOfDevice: true,
        addition: "Web services have no directory of identities")
    static let lookupShareKeys = CloudEndpoint(
        path: "shares/keys/lookup", method: .post, isRepeatable: true, addition: "Web services give no keys of shares")
    static let storeShareKeys = CloudEndpoint(
        path: "shares/keys/store", method: .post, isRepeatable: false, isChange: true,
        addition: "Web services take no keys of shares")

    /// The same endpoint for a body that may be sent twice.
    var repeatable: CloudEndpoint {
        var endpoint = self
        endpoint.isRepeatable = true
        return endpoint
    }

    /// The path of this endpoint in one database or container, percent-escaped, from `/database` or `/device` on.
    func path(in address: DatabaseAddress) -> String {
        let container = address.container.name.percentEncoded
        if isOfDevice { return "/device/1/\(container)/\(address.environment.rawValue)/\(path)" }
        return "/database/1/\(container)/\(address.environment.rawValue)/\(address.scope.word)/\(path)"
    }
}
