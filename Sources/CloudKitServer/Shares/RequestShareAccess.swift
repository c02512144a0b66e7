import CloudKitModel
import CloudKitRecordLayer

/// Asks the hosts of shares for access (B-SHN-02 to B-SHN-04).
package struct RequestShareAccess: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    private var links: ShareLinks { ShareLinks(cloud) }

    /// Asks the hosts of shares for access (B-SHN-02 to B-SHN-04).
    ///
    /// - Returns: For each link why it failed; nil for success, which says nothing of whether there is a share.
    package func run(
        _ requests: [ShareInvitationRequest], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RequestFailure?] {
        try links.checkInvitations(requests.count, address: address, caller: caller)
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        let person = try await links.holder(caller)
        var failures: [RequestFailure?] = []
        for request in requests {
            do {
                guard let link = try await links.link(request.shortGUID, in: address) else {
                    throw RequestFailure.noSuchShare
                }
                let asking = StoredPerson(user: user, email: person.proved.email)
                let holder = person.opening(link)
                try await links.changeShare(at: link, opening: request.shortGUID, by: caller) { share in
                    try share.asked(by: asking, holder.verdict(on: share, ownedBy: link.owner))
                }
                failures.append(nil)
            } catch let failure as RequestFailure {
                let isTold = failure.code == .participantAlreadyInvited || failure.code == .tryAgainLater
                failures.append(isTold ? failure : nil)
            }
        }
        return failures
    }
}
