import CloudKitModel
import CloudKitRecordLayer

extension Cloud {
    /// Participants for shares, by address, number or user record name (B-PRT-05, B-ACC-05): also for addresses that no
    /// account has yet.
    ///
    /// - Throws: `authenticationRequired`: who has an account is told to users only.
    package func lookupParticipants(
        _ infos: [LookupInfo], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ShareParticipant] {
        guard address.scope == .public else { throw RequestFailure.notApplicable(in: address.scope) }
        guard caller.user != nil, !caller.isServerKey else { throw RequestFailure.notSignedIn }
        try checkCount(infos.count, caller)
        var participants: [ShareParticipant] = []
        for info in infos {
            var user: UserID?
            if let name = info.user {
                user = try await userDirectory.person(name) == nil ? nil : name
            } else if let email = info.emailAddress {
                user = try await userDirectory.user(email: email, in: address.container)
            }
            let identity = try await userDirectory.addingIdentity(
                to: PersonIdentity(user: user, lookup: info), withName: false)
            participants.append(
                ShareParticipant(
                    id: RecordName.random(serverEnvironment), role: .privateUser, permission: .readOnly,
                    acceptance: .pending, identity: identity))
        }
        return participants
    }
}
