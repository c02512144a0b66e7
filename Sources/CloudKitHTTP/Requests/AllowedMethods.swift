import HTTPTypes

/// The methods that an endpoint takes besides OPTIONS (docs/web-services.md §1.2).
package enum AllowedMethods: Hashable, Sendable {
    case post, getOrPost, get, upload
    /// The pages of a site, whose forms are sent by POST.
    case page

    /// The value of the header `Allow`.
    var header: String {
        switch self {
        case .post: "POST, OPTIONS"
        case .getOrPost: "GET, POST, OPTIONS"
        case .get: "GET, HEAD, OPTIONS"
        case .upload: "POST, PATCH, HEAD, OPTIONS"
        case .page: "GET, HEAD, POST, OPTIONS"
        }
    }

    func contains(_ method: HTTPRequest.Method) -> Bool {
        switch self {
        case .post: method == .post
        case .getOrPost: method == .get || method == .post
        case .get: method == .get || method == .head
        case .upload: method == .post || method == .patch || method == .head
        case .page: method == .get || method == .head || method == .post
        }
    }
}
