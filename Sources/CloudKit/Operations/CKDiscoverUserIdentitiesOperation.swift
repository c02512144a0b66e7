import CloudKitClient
import CloudKitModel
import Foundation

/// Looks up users who agreed to be found (B-ACC-05).
///
/// Finds no one: since iOS 17 users cannot agree, and they cannot here. ``CKFetchShareParticipantsOperation`` finds the
/// users that a share is meant for.
// Restates what `Operation` declares, see `CKOperation`.
@available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    /// The email addresses, phone numbers and user record IDs to look up.
    open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] = []

    /// The closure called with each user found and the lookup information that matches.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    /// The closure called at the end.
    open var discoverUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for the whole.
    open var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that looks users up.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = containerRequests()
        let infos = userIdentityLookupInfos
        try RequestLimits.check(items: infos.count)
        return {
            let people = try await requests.discover(infos.map(\.model))
            await self.deliver {
                for person in people.map({ CKUserIdentity($0) }) {
                    if let info = person.lookupInfo { self.userIdentityDiscoveredBlock?(person, info) }
                }
            }
        }
    }

    override func conclude(_ failure: CallFailure?) {
        discoverUserIdentitiesCompletionBlock?(failure.map { CKError($0) })
        discoverUserIdentitiesResultBlock?(failure.map { .failure(CKError($0)) } ?? .success(()))
    }
}
