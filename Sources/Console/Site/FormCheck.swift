import CloudKitHTTP
import CloudKitModel
import HTTPTypes

/// Decides whether a form was sent from a page of the Console: by its token, and by what browsers say of its origin.
enum FormCheck {
    private static let fetchSite = HTTPField.Name("Sec-Fetch-Site")!  // a valid name

    /// Checks the origin alone, for the form that signs in.
    ///
    /// - Throws: `accessDenied`.
    static func checkOrigin(_ request: IncomingRequest) throws(RequestFailure) {
        // "none" is a form that the browser itself sends again.
        let site = request.headers[fetchSite] ?? "none"
        guard !request.isOfOtherOrigin, site == "same-origin" || site == "none" else { throw refused }
    }

    /// Checks the origin and the token.
    ///
    /// - Parameter isOwn: Returns whether a token is that of the session.
    /// - Throws: `accessDenied`.
    static func check(
        _ request: IncomingRequest, _ form: FormFields, isOwn: (String) -> Bool
    ) throws(RequestFailure) {
        try checkOrigin(request)
        guard isOwn(form[PageRequest.formTokenField] ?? "") else { throw refused }
    }

    private static let refused = RequestFailure(
        .accessDenied, "the form does not come from a page of this sign-in",
        remedy: "Load the page again, and send the form from there.")
}
