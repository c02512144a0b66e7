import CloudKitModel
import CloudKitServer
import CloudKitWire

/// Links, participants and keys of shares; the shares themselves are records.
extension DatabaseEndpoints {
    func resolveShares(_ call: Call) async throws -> Answer {
        let requests = try [ShareInvitationRequest](wire: call.body, limits: call.limits)
        return answer(try await ResolveShares(cloud).run(requests, in: call.database, by: call.caller), requests, call)
    }

    func acceptShares(_ call: Call) async throws -> Answer {
        let requests = try [ShareInvitationRequest](wire: call.body, limits: call.limits)
        return answer(try await AcceptShares(cloud).run(requests, in: call.database, by: call.caller), requests, call)
    }

    private func answer(
        _ outcomes: [ShareInvitationOutcome], _ requests: [ShareInvitationRequest], _ call: Call
    ) -> Answer {
        Answer(
            body: outcomes.wireAnswer(style: style(call), answering: requests), itemsIn: requests.count,
            itemsOut: outcomes.count,
            itemsFailed: outcomes.count { if case .failed = $0 { true } else { false } })
    }

    func requestAccess(_ call: Call) async throws -> Answer {
        let requests = try [ShareInvitationRequest](wire: call.body, limits: call.limits)
        let failures = try await RequestShareAccess(cloud).run(requests, in: call.database, by: call.caller)
        return Answer(
            body: failures.wireAnswer(style: style(call), answering: requests), itemsIn: requests.count,
            itemsOut: failures.count, itemsFailed: failures.count { $0 != nil })
    }

    func lookupShareKeys(_ call: Call) async throws -> Answer {
        let request = try ShareKeysRequest(wire: call.body, limits: call.limits)
        let answer = try await FetchShareKeys(cloud).run(request, in: call.database, by: call.caller)
        return Answer(body: answer.wireAnswer(style: style(call)), itemsIn: 1, itemsOut: answer.keys.epochs.count)
    }

    func storeShareKeys(_ call: Call) async throws -> Answer {
        let request = try StoreShareKeysRequest(wire: call.body, limits: call.limits)
        let answer = try await StoreShareKeys(cloud).run(request, in: call.database, by: call.caller)
        return Answer(body: answer.wireAnswer(style: style(call)), itemsIn: 1, itemsOut: answer.keys.epochs.count)
    }

    func lookupParticipants(_ call: Call) async throws -> Answer {
        let request = try LookupParticipantsRequest(wire: call.body, limits: call.limits)
        let participants = try await LookupParticipants(cloud).run(
            request.lookupInfos, in: call.database, by: call.caller)
        return Answer(
            body: participants.wireAnswer(style: style(call)), itemsIn: request.lookupInfos.count,
            itemsOut: participants.count)
    }
}
