import HTTPTypes

/// The rules for browsers about pages of other origins (docs/web-services.md §1.2).
struct CrossOrigin {
    /// The origin of the page that sends the request; nil for anything but a page of another origin.
    var origin: String?

    /// - Parameters:
    ///   - origin: The header `Origin`.
    ///   - ownOrigin: This cloud's own, when it is configured.
    ///   - authority: The host that the request names: its own pages are not of another origin.
    init(_ origin: String?, ownOrigin: String?, authority: String?) {
        guard let origin, origin != ownOrigin else { return }
        if let authority, origin == "https://\(authority)" || origin == "http://\(authority)" { return }
        self.origin = origin
    }

    /// Lets the page read the response, whatever it is.
    func addResponseHeaders(to headers: inout HTTPFields) {
        guard let origin else { return }
        headers[.accessControlAllowOrigin] = origin
        headers[.accessControlExposeHeaders] = HeaderName.exposed
        headers[.vary] = "Origin"
    }

    /// Returns the headers of a response to OPTIONS, which a browser sends before the request itself.
    func preflightHeaders(allowing methods: AllowedMethods) -> HTTPFields {
        var headers: HTTPFields = [.allow: methods.header]
        guard origin != nil else { return headers }
        addResponseHeaders(to: &headers)
        headers[.accessControlAllowMethods] = methods.header
        headers[.accessControlAllowHeaders] = HeaderName.allowed
        headers[.accessControlMaxAge] = "600"
        return headers
    }
}
