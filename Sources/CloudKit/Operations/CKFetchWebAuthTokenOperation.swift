import CloudKitClient
import CloudKitModel
import Foundation

/// Fetches a token with which web pages and servers act for the user, together with an API token (B-ACC-09).
///
/// The token goes into `ckWebAuthToken`, the API token into `ckAPIToken`. It becomes invalid when this device is signed
/// out.
// Restates what `Operation` declares, see `CKOperation`.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Of the same container; made with `welkin token create`.
    open var apiToken: String?

    /// The closure called at the end with the token.
    open var fetchWebAuthTokenResultBlock: ((Result<String, any Error>) -> Void)?
    /// The older block.
    open var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)?

    private var token: String?

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that fetches a web authentication token.
    public convenience init(apiToken APIToken: String) {
        self.init()
        apiToken = APIToken
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        guard let apiToken, !apiToken.isEmpty else { throw .invalidArguments("The operation has no apiToken") }
        return {
            let token = try await requests.webAuthToken(beside: apiToken)
            await self.deliver { self.token = token }
        }
    }

    override func conclude(_ failure: CallFailure?) {
        let error = failure.map { CKError($0) }
        fetchWebAuthTokenCompletionBlock?(error == nil ? token : nil, error)
        fetchWebAuthTokenResultBlock?(error.map { .failure($0) } ?? .success(token ?? ""))
    }
}
