import CloudKitClient
import CloudKitModel
import Foundation

/// Takes part in shares of one container (B-ACP-03 to B-ACP-05).
// Restates what `Operation` declares, see `CKOperation`.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
    /// All of the operation's container.
    open var shareMetadatas: [CKShare.Metadata]?

    /// The closure called with the result of each share.
    open var perShareResultBlock: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var acceptSharesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for one share.
    open var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
    /// The older block for the whole.
    open var acceptSharesCompletionBlock: (((any Error)?) -> Void)?

    private var errors: [AnyHashable: any Error] = [:]

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that accepts shares.
    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init()
        self.shareMetadatas = shareMetadatas
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = containerRequests()
        let metadatas = shareMetadatas ?? []
        return {
            let results = try await requests.acceptShares(metadatas.map(\.offer))
            await self.deliver {
                for (metadata, result) in zip(metadatas, results) { self.report(metadata, result.asShare()) }
            }
        }
    }

    private func report(_ metadata: CKShare.Metadata, _ result: Result<CKShare, any Error>) {
        switch result {
        case .success(let share): perShareCompletionBlock?(metadata, share, nil)
        case .failure(let error):
            errors[metadata.share.recordID] = error
            perShareCompletionBlock?(metadata, nil, error)
        }
        perShareResultBlock?(metadata, result)
    }

    override func conclude(_ failure: CallFailure?) {
        acceptSharesCompletionBlock?(
            failure.map { CKError($0) } ?? CKError.partial(errors, operation: "accept some shares"))
        acceptSharesResultBlock?(failure.map { .failure(CKError($0)) } ?? .success(()))
    }
}
