import CloudKitClient
import CloudKitModel
import Foundation

/// Asks owners to be let into their shares; succeeds whether there is a share behind a link or not (B-SHN-02).
// Restates what `Operation` declares, see `CKOperation`.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    /// The links of the shares.
    open var shareURLs: [URL]?

    /// The closure called with the result of each link.
    open var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)?

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that asks the owners of shares for access.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = containerRequests()
        let urls = shareURLs ?? []
        try RequestLimits.check(items: urls.count)
        return {
            if urls.isEmpty { return }
            let results = try await requests.requestAccess(urls)
            await self.deliver {
                for (link, result) in results { self.perShareAccessRequestResultBlock?(link, result.asError(.other)) }
            }
        }
    }

    override func conclude(_ failure: CallFailure?) {
        shareAccessRequestResultBlock?(failure.map { .failure(CKError($0)) } ?? .success(()))
    }
}
