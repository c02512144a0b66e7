import HTTPTypes

/// What a browser is told about pages of other origins (docs/web-services.md §1.2).
struct CrossOrigin {
    /// The origin of the page that asks; nil for anything but a page of another origin.
    var origin: String?

    /// - Parameters:
    ///   - ownOrigin: This cloud's own, when it is configured.
    ///   - authority: The host the request names: its own pages are no strangers.
    init(_ headers: HTTPFields, ownOrigin: String?, authority: String?) {
        guard let origin = headers[.origin], origin != ownOrigin else { return }
        if let authority, origin == "https://\(authority)" || origin == "http://\(authority)" { return }
        self.origin = origin
    }

    /// Lets the page read the answer, whatever it is.
    func permit(in headers: inout HTTPFields) {
        guard let origin else { return }
        headers[.accessControlAllowOrigin] = origin
        headers[.accessControlExposeHeaders] = HeaderName.exposed
        headers[.vary] = "Origin"
    }

    /// The answer to what a browser asks before the request itself.
    func preflight(_ verbs: Endpoint.Verbs) -> HTTPFields {
        var headers: HTTPFields = [.allow: verbs.allow]
        guard origin != nil else { return headers }
        permit(in: &headers)
        headers[.accessControlAllowMethods] = verbs.allow
        headers[.accessControlAllowHeaders] = HeaderName.allowed
        headers[.accessControlMaxAge] = "600"
        return headers
    }
}
