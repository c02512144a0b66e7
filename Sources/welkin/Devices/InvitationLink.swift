/// The link of an invitation: the address of the cloud's page, and the code behind the `#`, which no server's log gets.
struct InvitationLink: Hashable {
    /// The address of the cloud; nil where only the code is known.
    var endpoint: String?
    /// The code.
    var code: String

    private static let page = "/invitation#"

    /// Creates the link of an invitation.
    ///
    /// - Parameter endpoint: The address of the cloud, without a slash at the end.
    init(endpoint: String, code: String) {
        self.endpoint = endpoint
        self.code = code
    }

    /// Reads a link, or a code alone.
    init(_ text: String) {
        let text = text.filter { !$0.isWhitespace }
        guard let place = text.firstRange(of: Self.page) else {
            code = text
            return
        }
        endpoint = String(text[..<place.lowerBound])
        code = String(text[place.upperBound...])
    }

    /// The text of the link; the code where the address is not known.
    var text: String { (endpoint.map { $0 + Self.page } ?? "") + code }
}
