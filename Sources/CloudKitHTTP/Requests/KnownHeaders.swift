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
            switch field.name.canonicalName {
            case "content-length": contentLength = Int(field.value)
            case "host": host = field.value
            case "origin": origin = field.value
            case "transfer-encoding": hasTransferEncoding = true
            case "x-apple-cloudkit-request-iso8601date": signedDate = field.value
            case "x-apple-cloudkit-request-keyid": keyID = field.value
            case "x-apple-cloudkit-request-signaturev1": signature = field.value
            case "x-forwarded-proto":
                // Proxies one after the other may add a header each.
                forwardedProtocol = forwardedProtocol.map { "\($0), \(field.value)" } ?? field.value
            case "x-welkin-client": client = field.value
            default: break
            }
        }
    }
}
