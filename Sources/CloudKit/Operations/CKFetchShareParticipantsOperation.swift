import CloudKitClient
import CloudKitModel
import Foundation

/// Looks up users for a share (B-PRT-05).
// Restates what `Operation` declares, see `CKOperation`.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    /// The email addresses, phone numbers and user record IDs to look up.
    open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

    /// The closure called with the result of each lookup.
    open var perShareParticipantResultBlock:
        ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var fetchShareParticipantsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for one participant.
    open var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)?
    /// The older block for the whole.
    open var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)?

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that makes participants for users.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = containerRequests()
        let infos = userIdentityLookupInfos ?? []
        try RequestLimits.check(items: infos.count)
        return {
            if infos.isEmpty { return }
            let participants = try await requests.participants(infos.map(\.model))
            await self.deliver {
                for (info, participant) in zip(infos, participants) {
                    self.report(info, CKShareParticipant(participant))
                }
            }
        }
    }

    private func report(_ info: CKUserIdentity.LookupInfo, _ participant: CKShare.Participant) {
        shareParticipantFetchedBlock?(participant)
        perShareParticipantResultBlock?(info, .success(participant))
    }

    override func conclude(_ failure: CallFailure?) {
        fetchShareParticipantsCompletionBlock?(failure.map { CKError($0) })
        fetchShareParticipantsResultBlock?(failure.map { .failure(CKError($0)) } ?? .success(()))
    }
}
