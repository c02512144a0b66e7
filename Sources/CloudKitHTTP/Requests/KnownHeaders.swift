/// The headers that the cloud looks at in every request, found in one pass.
struct KnownHeaders {
    private(set) var attempt, client, forwardedProtocol, origin: String?
    /// The first header `Host`.
    private(set) var host: String?
    /// Whether there is a header `Host` besides the first one.
    private(set) var hasFurtherHost = false
    private(set) var keyID, signedDate, signature: String?
    /// Bytes of the body, as the client announces them.
    private(set) var contentLength: Int?
    /// Whether the body comes in chunks.
    private(set) var hasTransferEncoding = false
    /// The labels of the operation; nil for a client that names none.
    private(set) var labels: OperationLabels?

    init(_ headers: RequestHeaders) {
        var (labels, hasLabels) = (OperationLabels(), false)
        for field in headers {
            if field.isNamed("host") {
                if host == nil { host = field.value } else { hasFurtherHost = true }
            } else if field.isNamed("content-length") {
                contentLength = Int(field.value)
            } else if field.isNamed("x-welkin-client") {
                client = field.value
            } else if field.isNamed("x-welkin-request") {
                attempt = field.value
            } else if field.isNamed("origin") {
                origin = field.value
            } else if field.isNamed("transfer-encoding") {
                hasTransferEncoding = true
            } else if field.isNamed("x-forwarded-proto") {
                // Proxies one after the other may add a header each.
                forwardedProtocol = forwardedProtocol.map { "\($0), \(field.value)" } ?? field.value
            } else if field.isNamed("x-apple-cloudkit-request-keyid") {
                keyID = field.value
            } else if field.isNamed("x-apple-cloudkit-request-iso8601date") {
                signedDate = field.value
            } else if field.isNamed("x-apple-cloudkit-request-signaturev1") {
                signature = field.value
            } else if labels.take(field) {
                hasLabels = true
            }
        }
        if hasLabels { self.labels = labels }
    }
}
