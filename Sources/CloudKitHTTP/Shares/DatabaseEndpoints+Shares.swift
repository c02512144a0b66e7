import CloudKitModel
import CloudKitServer
import CloudKitWire

/// The endpoints for links, participants and keys of shares; the shares themselves are records.
extension DatabaseEndpoints {
    func resolveShares(_ call: DatabaseCall) async throws -> EndpointResponse {
        let requests = try [ShareInvitationRequest](wire: call.body, limits: call.limits)
        return try await bounded(.records(2 * requests.count, cloud.limits), for: call) {
            let outcomes = try await ResolveShares(cloud).run(requests, in: call.database, by: call.caller)
            return response(outcomes, to: requests, of: call)
        }
    }

    func acceptShares(_ call: DatabaseCall) async throws -> EndpointResponse {
        let requests = try [ShareInvitationRequest](wire: call.body, limits: call.limits)
        return try await bounded(.records(2 * requests.count, cloud.limits), for: call) {
            let outcomes = try await AcceptShares(cloud).run(requests, in: call.database, by: call.caller)
            return response(outcomes, to: requests, of: call)
        }
    }

    private func response(
        _ outcomes: [ShareInvitationOutcome], to requests: [ShareInvitationRequest], of call: DatabaseCall
    ) -> EndpointResponse {
        EndpointResponse(
            body: outcomes.wireAnswer(style: style(call), answering: requests), itemsIn: requests.count,
            itemsOut: outcomes.count,
            itemsFailed: outcomes.count { if case .failed = $0 { true } else { false } })
    }

    func requestAccess(_ call: DatabaseCall) async throws -> EndpointResponse {
        let requests = try [ShareInvitationRequest](wire: call.body, limits: call.limits)
        let failures = try await RequestShareAccess(cloud).run(requests, in: call.database, by: call.caller)
        return EndpointResponse(
            body: failures.wireAnswer(style: style(call), answering: requests), itemsIn: requests.count,
            itemsOut: failures.count, itemsFailed: failures.count { $0 != nil })
    }

    func lookupShareKeys(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try ShareKeysRequest(wire: call.body, limits: call.limits)
        let answer = try await FetchShareKeys(cloud).run(request, in: call.database, by: call.caller)
        return EndpointResponse(
            body: answer.wireAnswer(style: style(call)), itemsIn: 1, itemsOut: answer.keys.epochs.count)
    }

    func storeShareKeys(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try StoreShareKeysRequest(wire: call.body, limits: call.limits)
        let answer = try await StoreShareKeys(cloud).run(request, in: call.database, by: call.caller)
        return EndpointResponse(
            body: answer.wireAnswer(style: style(call)), itemsIn: 1, itemsOut: answer.keys.epochs.count)
    }

    func lookupParticipants(_ call: DatabaseCall) async throws -> EndpointResponse {
        let request = try LookupParticipantsRequest(wire: call.body, limits: call.limits)
        let infos = request.lookupInfos
        let participants = try await LookupParticipants(cloud).run(infos, in: call.database, by: call.caller)
        return EndpointResponse(
            body: participants.wireAnswer(style: style(call)), itemsIn: infos.count,
            itemsOut: participants.count)
    }
}
