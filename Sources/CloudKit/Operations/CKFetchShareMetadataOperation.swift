import CloudKitClient
import CloudKitModel
import Foundation

/// Fetches the metadata of the shares behind links (B-ACP-01, B-ACP-02).
// Restates what `Operation` declares, see `CKOperation`.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    /// The links of the shares.
    open var shareURLs: [URL]?
    /// A Boolean value that indicates whether the metadata includes the root record; without effect for shares of whole
    /// zones. Default: false.
    open var shouldFetchRootRecord = false
    /// The fields of the root wanted; nil: all.
    open var rootRecordDesiredKeys: [CKRecord.FieldKey]?

    /// The closure called with the result of each link.
    open var perShareMetadataResultBlock: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var fetchShareMetadataResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for one link.
    open var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?
    /// The older block for the whole.
    open var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)?

    private var errors: [AnyHashable: any Error] = [:]

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that fetches the metadata of shares.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = containerRequests()
        let (urls, withRoot, desiredKeys) = (shareURLs ?? [], shouldFetchRootRecord, rootRecordDesiredKeys)
        return {
            let results = try await requests.shareMetadata(urls, withRoot: withRoot, desiredKeys: desiredKeys)
            await self.deliver { for (link, result) in results { self.report(link, result.asMetadata()) } }
        }
    }

    private func report(_ url: URL, _ result: Result<CKShare.Metadata, any Error>) {
        switch result {
        case .success(let metadata): perShareMetadataBlock?(url, metadata, nil)
        case .failure(let error):
            errors[url] = error
            perShareMetadataBlock?(url, nil, error)
        }
        perShareMetadataResultBlock?(url, result)
    }

    override func conclude(_ failure: CallFailure?) {
        fetchShareMetadataCompletionBlock?(
            failure.map { CKError($0) } ?? CKError.partial(errors, operation: "fetch some share metadata"))
        fetchShareMetadataResultBlock?(failure.map { .failure(CKError($0)) } ?? .success(()))
    }
}

extension CKOperation {
    /// Returns the requests of the operation's container, for calls that concern none of its databases.
    final func containerRequests() -> DatabaseRequests {
        DatabaseRequests(connection: connection, scope: .public, settings: callSettings())
    }
}
