import HTTPTypes

/// The headers that the cloud looks at in every request, found in one pass.
///
/// A look-up by name makes a dictionary of all names first, which costs more than all of these together.
struct KnownHeaders {
    private(set) var client, forwardedProtocol, host, origin: String?
    private(set) var keyID, signedDate, signature: String?
    /// Bytes of the body, as the client announces them.
    private(set) var contentLength: Int?
    /// Whether the body comes in chunks.
    private(set) var hasTransferEncoding = false

    init(_ headers: HTTPFields) {
        for field in headers {
            switch field.name {
            case .contentLength: contentLength = Int(field.value)
            case HeaderName.host: host = field.value
            case .origin: origin = field.value
            case .transferEncoding: hasTransferEncoding = true
            case HeaderName.signedDate: signedDate = field.value
            case HeaderName.keyID: keyID = field.value
            case HeaderName.signature: signature = field.value
            case HeaderName.forwardedProtocol:
                // Proxies one after the other may add a header each.
                forwardedProtocol = forwardedProtocol.map { "\($0), \(field.value)" } ?? field.value
            case HeaderName.client: client = field.value
            default: break
            }
        }
    }
}
