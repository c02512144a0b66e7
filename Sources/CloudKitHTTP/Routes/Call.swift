import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// A request that was let in: everything an endpoint looks at.
struct Call {
    var endpoint: Endpoint
    var place: Route.Place
    var scope: DatabaseScope
    var query: RequestQuery
    var body: [UInt8]
    var admission: Admission
    var surface: Caller.Surface
    /// Of the request, for error items.
    var uuid: String
    /// Scheme, host and port under which the client reaches this cloud.
    var baseURL: String

    /// Who asks, in the words of the rules.
    var caller: Caller {
        Caller(
            user: admission.user, deviceID: admission.deviceID, surface: surface, isServerKey: admission.isServerKey,
            keychain: admission.keychain)
    }

    /// The database asked.
    var database: DatabaseAddress {
        DatabaseAddress(container: place.container, environment: place.environment, scope: scope)
    }

    /// The caller's user.
    ///
    /// - Throws: `authenticationRequired`.
    func user() throws(RequestFailure) -> UserID {
        guard let user = admission.user else { throw Self.userNeeded }
        return user
    }

    static let userNeeded = RequestFailure(
        .authenticationRequired, "request needs authorization", remedy: "Sign in and send ckWebAuthToken.")
}
