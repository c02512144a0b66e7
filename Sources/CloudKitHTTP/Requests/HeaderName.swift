import HTTPTypes

/// The names of our own headers and Apple's, besides those that every request is searched for (``KnownHeaders``). Each text is a valid name, so unwrapping cannot fail.
package enum HeaderName {
    static let webAuthToken = HTTPField.Name("X-Apple-CloudKit-Web-Auth-Token")!
    /// The identifier of a request.
    package static let requestUUID = HTTPField.Name("X-Apple-Request-UUID")!
    /// The identifier of a request that changes a database, and the number of the attempt.
    package static let attempt = HTTPField.Name("X-Welkin-Request")!
    static let storeEpoch = HTTPField.Name("X-Welkin-Store-Epoch")!
    static let uploadOffset = HTTPField.Name("Upload-Offset")!
    static let uploadLength = HTTPField.Name("Upload-Length")!
    static let uploadComplete = HTTPField.Name("Upload-Complete")!
    /// Says that a client can get a file from an address elsewhere.
    static let directDownload = HTTPField.Name("X-Welkin-Direct-Download")!
    static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
    static let forwardedProtocol = HTTPField.Name("X-Forwarded-Proto")!
    /// Forbids frames for old browsers.
    package static let frameOptions = HTTPField.Name("X-Frame-Options")!
    /// Says which addresses a browser passes on.
    package static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    static let crossOriginResourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy")!

    /// Headers in which proxies name the client of a request.
    static let ofProxies: [HTTPField.Name] = [
        forwardedFor, forwardedProtocol, HTTPField.Name("Forwarded")!, HTTPField.Name("X-Forwarded-Host")!,
        HTTPField.Name("X-Real-IP")!,
        HTTPField.Name("Via")!,
    ]

    /// Headers that a browser's page may send and read across origins.
    static let allowed =
        "content-type, x-apple-cloudkit-request-keyid, x-apple-cloudkit-request-iso8601date, "
        + "x-apple-cloudkit-request-signaturev1, x-welkin-client, "
        + "upload-offset, upload-length, range, if-range, if-none-match"
    static let exposed =
        "X-Apple-CloudKit-Web-Auth-Token, X-Apple-Request-UUID, Retry-After, Upload-Offset, Upload-Complete, "
        + "Content-Range, ETag"
}
