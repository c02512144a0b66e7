import CloudKitHTTP
import CloudKitModel

/// The part of pages that says whether a person lets operators see values.
enum ConsentPart {
    /// Returns the state, and the form for a token.
    static func state(of database: DatabaseChoice, _ request: PageRequest) -> HTML {
        guard let user = database.user else { return HTML() }
        if let consent = database.consent {
            return Part.status(
                "Shown with the consent of the user, \(consent.allowsChanges ? "with changes, " : "for reading, ")"
                    + "until \(TimeText.text(consent.expires)) UTC.")
        }
        return Tag.details {
            Tag.summary("Values are not shown. Enter the user's consent…")
            request.postForm(to: database.page("data", "consent"), label: "Consent") {
                Input.hidden("user", user.recordName)
                Input.text(
                    "Token of the consent", name: "token",
                    hint: "The person makes it with: welkin consent create --for 1h",
                    isRequired: true, isSecret: true, lengthMax: 200)
                Input.submit("Show values")
            }
        }
    }
}

/// Takes the token with which a person lets operators see values.
struct ConsentPage: ConsolePage {
    let path = "containers/{container}/{environment}/data/consent"
    let title = "Consent"

    func show(_ request: PageRequest) async throws -> PageResponse {
        .redirect(try await DatabaseChoice(request).page("data"), notice: nil)
    }

    func submit(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        let accounts = request.cloud.accountStore
        guard let user = database.user,
            let account = try await accounts.userNames.owner(of: user, in: database.place.container)
        else { throw RequestFailure(.itemNotFound, "there is no such user") }
        let token = (request.form["token"] ?? "").filter { !$0.isWhitespace }
        try await request.order("data/consent", details: database.details()) {
            let consent = try await accounts.consoleConsents.show(
                token, in: request.session, container: database.place.container,
                environment: database.place.environment)
            guard consent.account == account else {
                throw RequestFailure(.accessDenied, "the consent is of another person")
            }
        }
        return .redirect(database.page("data"), notice: "The values of this database are shown to you.")
    }
}
