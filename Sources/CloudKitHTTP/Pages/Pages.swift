import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import HTTPTypes

/// The pages of the cloud, their scripts and their style sheet. Their text is in `Content`, built into the program.
enum Pages {
    /// The app that a page is for.
    struct App {
        /// As the app sent it; the page signs in with it.
        var apiToken: String
        var row: APIToken

        var values: [String: String?] {
            [
                "container": row.container, "environment": row.environment, "token": apiToken,
                "callback": row.callback ?? "", "origins": row.allowedOrigins.joined(separator: " "),
            ]
        }
    }

    /// The place of a share whose page shows what is shared.
    struct SharedPlace {
        var container: ContainerID
        var environment: Environment
        /// The page's own API token.
        var token: String
    }

    /// The container in which people sign in to the page of their account. It is no app's: it has no data, and no list shows it.
    static let accountContainer = ContainerID("welkin.account")

    /// Describes this cloud and its paths.
    static func landing() -> EndpointResponse {
        let scripts = ScriptLibrary.shared
        return html(
            landingPage.filled(with: [
                "library": scripts.library.path, "libraryIntegrity": scripts.library.integrity,
                "encryption": scripts.encryption.path, "encryptionIntegrity": scripts.encryption.integrity,
            ]))
    }

    /// Shows people their account: devices, storage, shares; everything as a file, another password, the deletion.
    ///
    /// - Parameters:
    ///   - token: The page's own API token in `accountContainer`, production.
    ///   - provider: The name of the provider of identities; nil: the cloud has none.
    static func account(token: String, provider: String?) -> EndpointResponse {
        let scripts = ScriptLibrary.shared
        let named: [(String, ScriptLibrary.Script)] = [
            ("library", scripts.library), ("encryption", scripts.encryption), ("archive", scripts.accountArchive),
            ("approval", scripts.accountApproval), ("databases", scripts.accountDatabases),
            ("devices", scripts.accountDevices), ("elements", scripts.elements), ("passkeys", scripts.passkeys),
            ("protocol", scripts.keyApproval), ("providerScript", scripts.provider), ("words", scripts.recoveryWords),
            ("account", scripts.account),
        ]
        var values: [String: String?] = [
            "container": accountContainer.name, "environment": Environment.production.rawValue, "token": token,
            "provider": provider,
        ]
        for (name, script) in named {
            values[name] = script.path
            values[name + "Integrity"] = script.integrity
        }
        return html(accountPage.filled(with: values))
    }

    /// Signs a browser in (docs/web-services.md §2.3).
    ///
    /// - Parameters:
    ///   - signUpQuery: The query of the sign-up page; nil when sign-up is closed.
    ///   - isStrict: Whether the cloud has no additions to web services, and so no passkeys.
    ///   - provider: The name of the provider of identities; nil: the cloud has none.
    static func signIn(_ app: App, signUpQuery: String?, isStrict: Bool, provider: String?) -> EndpointResponse {
        let values: [String: String?] = [
            "signUpQuery": signUpQuery, "encryption": ScriptLibrary.shared.encryption.path,
            "passkeys": isStrict ? nil : ScriptLibrary.shared.passkeys.path,
            "provider": provider, "providerScript": ScriptLibrary.shared.provider.path,
        ]
        return html(signInPage.filled(with: app.values.merging(values) { $1 }))
    }

    /// Creates an account; the browser is then signed in.
    ///
    /// - Parameters:
    ///   - signInQuery: The query of the sign-in page.
    ///   - rounds: Rounds of the new password's derivation.
    static func signUp(_ app: App, signInQuery: String, rounds: Int) -> EndpointResponse {
        let values: [String: String?] = ["signInQuery": signInQuery, "rounds": String(rounds)]
        return html(signUpPage.filled(with: app.values.merging(values) { $1 }))
    }

    /// Creates the account of a person whom the operator has invited. The code of the invitation is behind the `#` of the link, so that
    /// no server's log has it; the page works with it.
    ///
    /// - Parameters:
    ///   - token: The page's own API token in `accountContainer`, production.
    ///   - rounds: Rounds of the new password's derivation.
    static func invitation(token: String, rounds: Int) -> EndpointResponse {
        html(
            invitationPage.filled(with: [
                "container": accountContainer.name, "environment": Environment.production.rawValue, "token": token,
                "rounds": String(rounds),
            ]))
    }

    /// Takes a browser back from the provider of identities, and leads it to the page where the person began.
    ///
    /// - Parameter token: The page's own API token in `accountContainer`, production.
    static func provider(token: String) -> EndpointResponse {
        let script = ScriptLibrary.shared.provider
        return html(
            providerPage.filled(with: [
                "container": accountContainer.name, "environment": Environment.production.rawValue, "token": token,
                "script": script.path, "integrity": script.integrity,
            ]))
    }

    /// Proves the address of an account with the code of a mailed link, which is behind the `#`.
    ///
    /// - Parameter token: The page's own API token in `accountContainer`, production.
    static func address(token: String) -> EndpointResponse {
        html(
            addressPage.filled(with: [
                "container": accountContainer.name, "environment": Environment.production.rawValue, "token": token,
            ]))
    }

    /// Returns the sign-up page of a cloud whose operator creates the accounts.
    static func signUpClosed() -> EndpointResponse { html(signUpClosedPage.filled(), status: .forbidden) }

    /// Returns the sign-in page for an unknown API token.
    static func signInRefused() -> EndpointResponse { html(signInRefusedPage.filled(), status: .badRequest) }

    /// Turns an app's notifications on and off for the browser that shows the page.
    static func notifications(_ app: App) -> EndpointResponse { html(notificationsPage.filled(with: app.values)) }

    /// Shows the holder of a share's link how to open it.
    ///
    /// - Parameters:
    ///   - place: Where the page's viewer fetches what is shared; nil: the page shows how to open the link alone.
    ///   - thumbnail: Base 64 of an image; shown only if it begins as one.
    static func share(
        container: ContainerID, place: SharedPlace?, title: String?, owner: String?, thumbnail: String?
    ) -> EndpointResponse {
        let scripts = ScriptLibrary.shared
        let page = sharePage.filled(with: [
            "environment": place?.environment.rawValue, "token": place?.token,
            "library": scripts.library.path, "libraryIntegrity": scripts.library.integrity,
            "encryption": scripts.encryption.path, "encryptionIntegrity": scripts.encryption.integrity,
            "elements": scripts.elements.path, "elementsIntegrity": scripts.elements.integrity,
            "viewer": scripts.viewer.path, "viewerIntegrity": scripts.viewer.integrity,
            "linkIntegrity": scripts.link.integrity, "container": container.name,
            "title": title.flatMap { $0.contains { !$0.isWhitespace } ? $0 : nil },
            "owner": owner, "thumbnail": thumbnail.flatMap(imageSource),
        ])
        return html(page, allowsImages: true)
    }

    /// Returns the page of a link that leads to no share.
    static func shareNotFound() -> EndpointResponse { html(shareNotFoundPage.filled(), status: .notFound) }

    static func signInScript() -> EndpointResponse { script(PageFiles.signInScript) }
    static func shareScript() -> EndpointResponse { script(PageFiles.shareScript) }
    static func notificationsScript() -> EndpointResponse { script(PageFiles.notificationsScript) }
    static func notificationsWorker() -> EndpointResponse { script(PageFiles.notificationsWorker) }

    static func styleSheet() -> EndpointResponse {
        EndpointResponse(contentType: "text/css; charset=UTF-8", body: PageFiles.style, headers: headers)
    }

    private static func script(_ text: [UInt8]) -> EndpointResponse {
        EndpointResponse(contentType: "text/javascript; charset=UTF-8", body: text, headers: headers)
    }

    private static func html(
        _ page: [UInt8], status: HTTPResponse.Status = .ok, allowsImages: Bool = false
    ) -> EndpointResponse {
        var headers = headers
        if allowsImages { headers[.contentSecurityPolicy]? += "; img-src data: blob:" }
        return EndpointResponse(
            status: status, contentType: "text/html; charset=UTF-8", body: page, headers: headers)
    }

    /// Returns the image as an address with the data in it, by its first bytes; nil for data that is no image.
    private static func imageSource(_ base64: String) -> String? {
        let kinds = [("iVBORw0KGgo", "png"), ("/9j/", "jpeg"), ("R0lGOD", "gif")]
        let isPlain = base64.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
                true
            default: false
            }
        }
        guard isPlain, let kind = kinds.first(where: { base64.hasPrefix($0.0) }) else { return nil }
        return "data:image/\(kind.1);base64,\(base64)"
    }

    private static let accountPage = Template(PageFiles.accountPage)
    private static let landingPage = Template(PageFiles.landingPage)
    private static let signInPage = Template(PageFiles.signInPage)
    private static let providerPage = Template(PageFiles.providerPage)
    private static let signUpPage = Template(PageFiles.signUpPage)
    private static let addressPage = Template(PageFiles.addressPage)
    private static let invitationPage = Template(PageFiles.invitationPage)
    private static let signUpClosedPage = Template(PageFiles.signUpClosedPage)
    private static let signInRefusedPage = Template(PageFiles.signInRefusedPage)
    private static let notificationsPage = Template(PageFiles.notificationsPage)
    private static let sharePage = Template(PageFiles.sharePage)
    private static let shareNotFoundPage = Template(PageFiles.shareNotFoundPage)

    /// Nothing from elsewhere, nothing inline, no frames; the address, which holds the app's token, is passed on to no other site.
    private static let headers: HTTPFields = [
        .contentSecurityPolicy:
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            + "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
        .xContentTypeOptions: "nosniff",
        HeaderName.frameOptions: "DENY",
        HeaderName.referrerPolicy: "no-referrer",
        .cacheControl: "no-store",
    ]
}
