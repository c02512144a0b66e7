import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The database that a page is about: the public one, or a user's private one.
struct DatabaseChoice {
    /// The container and environment.
    let place: ContainerPath
    /// The user of the private database; nil for the public one.
    let user: UserID?
    /// The user's permission to see values; nil for none.
    let consent: ConsoleConsent?

    /// Reads the choice from the field `user` of the form or the address.
    init(_ request: PageRequest) async throws {
        place = try request.place
        guard let name = request.form["user"] ?? request.query["user"] else {
            user = nil
            consent = nil
            return
        }
        let user = UserID(name)
        self.user = user
        let accounts = request.cloud.accountStore
        guard let account = try await accounts.userNames.owner(of: user, in: place.container) else {
            consent = nil
            return
        }
        consent = try await accounts.consoleConsents.current(
            in: request.session, account: account, container: place.container, environment: place.environment)
    }

    /// The address of the database for the operations of the API.
    var address: DatabaseAddress {
        DatabaseAddress(
            container: place.container, environment: place.environment, scope: user == nil ? .public : .private)
    }

    /// The caller as whom operators see values; nil where they see the structure alone.
    var caller: Caller? {
        guard let user else { return .cloudOperator }
        return consent == nil ? nil : Caller(user: user)
    }

    /// Whether operators may change records.
    var allowsChanges: Bool { user == nil || consent?.allowsChanges == true }

    /// Returns the caller as whom operators see values.
    ///
    /// - Throws: `accessDenied` without the user's permission.
    func requiredCaller() throws(RequestFailure) -> Caller {
        guard let caller else {
            throw RequestFailure(
                .accessDenied, "values of a private database are shown with the consent of its user alone",
                remedy: "Ask the person for a token: welkin consent create")
        }
        return caller
    }

    /// Checks that operators may change records.
    ///
    /// - Throws: `accessDenied`.
    func checkChanges() throws(RequestFailure) {
        guard allowsChanges else {
            throw RequestFailure(
                .accessDenied, "the consent of the user is for reading, or there is none",
                remedy: "Ask the person for a token: welkin consent create --allow-changes")
        }
    }

    /// The name of the database on pages.
    var title: String { user.map { "Private database of \($0.recordName)" } ?? "Public database" }

    /// Returns the address of a page about this database.
    func page(
        _ segments: String..., query: KeyValuePairs<String, String?> = [:]
    ) -> Address {
        Address(
            segments: ["containers", place.container.name, place.environment.rawValue] + segments,
            query: [("user", user?.recordName)] + query.map { ($0.key, $0.value) })
    }

    /// Returns the field of forms that names the user.
    var hiddenField: HTML? { user.map { Input.hidden("user", $0.recordName) } }

    /// The link to the database's first page.
    var trail: TrailLink { TrailLink(title, page("data")) }

    /// Returns the inspection of structure.
    func inspection(_ cloud: Cloud) -> InspectDatabases {
        InspectDatabases(cloud, place.container, place.environment)
    }

    /// The identifiers for the log.
    func details(_ more: KeyValuePairs<String, String?> = [:]) -> [String: String] {
        var details: [String: String] = [:]
        details["user"] = user?.recordName
        details["consent"] = consent?.id
        for (name, value) in more { details[name] = value }
        return details
    }
}
