import CloudKitModel
import CloudKitRecordLayer

/// Reads the shares that links lead to (B-ACP-01, B-ACP-02).
package struct ResolveShares: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    private var links: ShareLinks { ShareLinks(cloud) }

    /// Returns the shares of links, for any holder (B-ACP-01, B-ACP-02).
    ///
    /// - Returns: An outcome for each, in their order; `itemNotFound` for a share that the caller may not know of.
    /// - Throws: `authenticationRequired` for callers without an account, unless all the shares are public.
    package func run(
        _ requests: [ShareInvitationRequest], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ShareInvitationOutcome] {
        try links.checkInvitations(requests.count, address: address, caller: caller)
        let person = try await links.holder(caller)
        var outcomes: [ShareInvitationOutcome] = []
        for request in requests {
            do {
                guard let link = try await links.link(request.shortGUID, in: address) else {
                    throw caller.user == nil ? RequestFailure.notSignedIn : .noSuchShare
                }
                outcomes.append(
                    .invitation(try await links.resolve(request, link: link, person: person, caller: caller)))
            } catch let failure as RequestFailure where failure.code != .authenticationRequired {
                outcomes.append(.failed(failure))
            }
        }
        return outcomes
    }
}
