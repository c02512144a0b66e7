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
        var allowance = AnswerAllowance(bytesMax: cloud.limits.answerBytesMax)
        for request in requests {
            if allowance.isSpent {
                outcomes.append(.failed(.answerFull))
                continue
            }
            do {
                guard let link = try await links.link(request.shortGUID, in: address) else {
                    throw caller.user == nil ? RequestFailure.notSignedIn : .noSuchShare
                }
                let invitation = try await links.resolve(request, link: link, person: person, caller: caller)
                outcomes.append(allowance.take(invitation) ? .invitation(invitation) : .failed(.answerFull))
            } catch let failure as RequestFailure where failure.code != .authenticationRequired {
                outcomes.append(.failed(failure))
            }
        }
        return outcomes
    }
}

extension AnswerAllowance {
    /// Takes the bytes of a share behind a link; false if they do not fit.
    mutating func take(_ invitation: ShareInvitation) -> Bool {
        take(bytes: Self.bytes(of: invitation.share) + (invitation.rootRecord.map(Self.bytes) ?? 0))
    }
}
