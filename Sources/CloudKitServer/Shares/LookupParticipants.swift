import CloudKitModel
import CloudKitRecordLayer

/// Finds participants for shares.
package struct LookupParticipants: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Participants for shares, by address, number or user record name (B-PRT-05, B-ACC-05): also for addresses that no
    /// account has yet.
    ///
    /// - Throws: `authenticationRequired`: only users may learn who has an account.
    package func run(
        _ infos: [LookupInfo], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ShareParticipant] {
        try cloud.peopleLookups.admit(infos.count, by: caller, in: address)
        var participants: [ShareParticipant] = []
        for info in infos {
            var user: UserID?
            if let name = info.user {
                // A name of another container finds no one here.
                let isKnown = try await cloud.accountStore.userNames.owner(of: name, in: address.container) != nil
                let person = isKnown ? try await cloud.userDirectory.person(name) : nil
                user = person == nil ? nil : name
            } else {
                user = try await cloud.userDirectory.user(withAddressOf: info, in: address.container)
            }
            let identity = try await cloud.userDirectory.addingIdentity(
                to: PersonIdentity(user: user, lookup: info), withName: false)
            participants.append(
                ShareParticipant(
                    id: RecordName.random(cloud.serverEnvironment), role: .privateUser, permission: .readOnly,
                    acceptance: .pending, identity: identity))
        }
        return participants
    }
}
