import CloudKitClient
import CloudKitModel
import Foundation

/// Looks up the user's contacts who agreed to be found (B-ACC-05).
///
/// The address book is the file that `CLOUDKIT_CONTACTS` names; without one there are no contacts.
// Restates what `Operation` declares, see `CKOperation`.
@available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    /// The closure called with each user found.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)?
    /// The closure called at the end.
    open var discoverAllUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for the whole.
    open var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = containerRequests()
        return {
            let people = try await requests.discoverContacts()
            await self.deliver {
                for person in people { self.userIdentityDiscoveredBlock?(CKUserIdentity(person)) }
            }
        }
    }

    override func conclude(_ failure: CallFailure?) {
        discoverAllUserIdentitiesCompletionBlock?(failure.map { CKError($0) })
        discoverAllUserIdentitiesResultBlock?(failure.map { .failure(CKError($0)) } ?? .success(()))
    }
}
