import CloudKitModel
import CloudKitServer
import CloudKitWire

/// The endpoints that identify users (docs/web-services.md §11).
struct UserEndpoints {
    var cloud: Cloud

    func caller(_ call: DatabaseCall) async throws -> EndpointResponse {
        EndpointResponse(body: try await identity(of: try call.user()).wireAnswer(), itemsOut: 1)
    }

    func current(_ call: DatabaseCall) async throws -> EndpointResponse {
        let identity = try await identity(of: try call.user())
        return try .json(
            CurrentBody(
                userRecordName: identity.user.recordName, firstName: identity.givenName, lastName: identity.familyName),
            itemsOut: 1)
    }

    /// Returns the identity of the caller, with the name if the person agreed to be found (B-ACC-05).
    private func identity(of user: UserID) async throws -> UserIdentity {
        let person = try await cloud.userDirectory.discoverable(user)
        return UserIdentity(user: user, givenName: person?.givenName, familyName: person?.familyName)
    }

    /// Returns those of the people looked up who agreed to be found (B-ACC-05).
    func discover(_ call: DatabaseCall) async throws -> EndpointResponse {
        let (people, count) = try await people(call) { _ in true }
        let style = WireStyle(
            surface: call.caller.surface == .native ? .native : .web, caller: call.caller.user, requestUUID: call.uuid)
        return EndpointResponse(body: people.wireAnswer(style: style), itemsIn: count, itemsOut: people.count)
    }

    func lookupByEmail(_ call: DatabaseCall) async throws -> EndpointResponse {
        try await oldAnswer(call) { $0.emailAddress != nil }
    }

    func lookupByPhone(_ call: DatabaseCall) async throws -> EndpointResponse {
        try await oldAnswer(call) { $0.phoneNumber != nil }
    }

    func lookupByID(_ call: DatabaseCall) async throws -> EndpointResponse {
        try await oldAnswer(call) { $0.user != nil }
    }

    /// Returns no user: the cloud has no address books.
    func contacts(_ call: DatabaseCall) async throws -> EndpointResponse {
        let people = try await DiscoverUsers(cloud).run([], in: call.database, by: call.caller)
        return EndpointResponse(body: people.oldWireAnswer())
    }

    private func oldAnswer(
        _ call: DatabaseCall, where isLookedUp: (LookupInfo) -> Bool
    ) async throws -> EndpointResponse {
        let (people, count) = try await people(call, where: isLookedUp)
        return EndpointResponse(body: people.oldWireAnswer(), itemsIn: count, itemsOut: people.count)
    }

    private func people(
        _ call: DatabaseCall, where isLookedUp: (LookupInfo) -> Bool
    ) async throws -> (found: [PersonIdentity], count: Int) {
        // GET has no body and looks up nobody.
        let lookups =
            call.body.isEmpty
            ? [] : try LookupParticipantsRequest(wire: call.body, limits: call.limits).lookupInfos.filter(isLookedUp)
        return (try await DiscoverUsers(cloud).run(lookups, in: call.database, by: call.caller), lookups.count)
    }

    private struct CurrentBody: Encodable {
        var userRecordName: String
        var firstName: String?
        var lastName: String?
    }
}
