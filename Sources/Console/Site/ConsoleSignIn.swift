import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import HTTPTypes
import JSONBytes
import TextEncodings

/// The pages on which operators sign in and out.
struct ConsoleSignIn {
    var sessions: ConsoleSessions
    var services: SiteServices
    var files: ConsoleFiles

    /// Responds at the paths of signing in and out; nil for other paths.
    func response(
        to request: IncomingRequest, at path: Substring, signedIn: SignedIn?
    ) async throws -> EndpointResponse? {
        switch (path, request.method) {
        case ("/sign-in", .post): return try await signIn(request)
        case ("/sign-in/prepare", .post): return try await prepare(request)
        case ("/sign-in", _):
            if signedIn != nil { return Console.redirect(to: Address()) }
            let query = FormFields(request.target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())
            return try await page(next: query["next"], failure: nil, request)
        case ("/sign-out", .post):
            guard let signedIn else { return Console.redirect(to: Address("sign-in")) }
            try await services.readBody(of: request, bytesMax: 1024, isKnown: true)
            try FormCheck.check(request, FormFields(request.body)) { sessions.isFormToken($0, of: signedIn.session) }
            try await sessions.end(signedIn.cookie)
            request.responseHeaders[.setCookie] = SessionCookie.header(nil, isSecure: request.isSecure)
            return Console.redirect(to: Address("sign-in"))
        case ("/sign-out", _): throw PageRequest.noForms
        default: return nil
        }
    }

    /// Returns the way to the sign-in page for a request without a session.
    func invitation(to request: IncomingRequest) -> EndpointResponse {
        let isRoot = request.target == Address.root || request.target == Address.root + "/"
        let next = request.method == .get && !isRoot ? Address(requested: request.target)?.text : nil
        return Console.redirect(to: Address("sign-in", query: ["next": next]))
    }

    /// Returns the form that signs out.
    static func signOutForm(formToken: String) -> HTML {
        Tag.form(.method("post"), .action(Address("sign-out"))) {
            Input.hidden(PageRequest.formTokenField, formToken)
            Tag.button(.type("submit"), text: "Sign out")
        }
    }

    private func signIn(_ request: IncomingRequest) async throws -> EndpointResponse {
        try FormCheck.checkOrigin(request)
        try await services.readBody(of: request, bytesMax: 8192, isKnown: false)
        let form = FormFields(request.body)
        do {
            let cookie: String
            if let email = form["email"] {
                // A text that is no proof is a wrong one.
                let proof = form["proof"].flatMap { Base64.decode($0) } ?? []
                cookie = try await sessions.open(email: email, proof: proof, address: request.address)
            } else {
                let token = (form["token"] ?? "").filter { !$0.isWhitespace }
                cookie = try await sessions.open(token: token, address: request.address)
            }
            request.responseHeaders[.setCookie] = SessionCookie.header(cookie, isSecure: request.isSecure)
            let id = try await sessions.current(cookie)?.operator.id ?? ""
            services.logger.notice("operator signed in", metadata: ["operator": .string(id)])
            return Console.redirect(to: form["next"].flatMap { Address(requested: $0) } ?? Address())
        } catch let failure as RequestFailure {
            return try await page(next: form["next"], failure: failure, request)
        }
    }

    /// Returns how to derive the proof of an account's password; the script asks for it.
    private func prepare(_ request: IncomingRequest) async throws -> EndpointResponse {
        try FormCheck.checkOrigin(request)
        try await services.readBody(of: request, bytesMax: 8192, isKnown: false)
        let email = FormFields(request.body)["email"] ?? ""
        let derivation = try await DeviceSignIn(store: services.cloud.accountStore, proofGuard: services.proofLimiter)
            .prepare(email: email)
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("salt")
        writer.base64(derivation.salt)
        writer.key("rounds")
        writer.int64(Int64(derivation.rounds))
        writer.endObject()
        return EndpointResponse(body: writer.bytes, headers: ConsoleHeaders.all)
    }

    private func page(
        next: String?, failure: RequestFailure?, _ request: IncomingRequest
    ) async throws -> EndpointResponse {
        let hasAccounts = try await !services.cloud.accountStore.operatorAccounts.list().isEmpty
        let body = HTML([
            failure.map { Part.failure($0, requestUUID: request.uuid) } ?? HTML(),
            Tag.form(.method("post"), .action(Address("sign-in")), .class("sign-in")) {
                next.flatMap { Address(requested: $0) }.map { Input.hidden("next", $0.text) }
                Input.text(
                    "Operator's token", name: "token", hint: "64 digits, from: welkin admin token create",
                    isRequired: true, isAutofocused: true, isSecret: true, lengthMax: 200)
                Input.submit("Sign in")
            },
            hasAccounts ? accountForm(next: next) : HTML(),
        ])
        let frame = PageFrame(style: files.style, script: files.script)
        var status = HTTPResponse.Status.ok
        if let failure { status = failure.code == .throttled ? .tooManyRequests : .forbidden }
        var response = EndpointResponse(
            status: status, contentType: "text/html; charset=UTF-8",
            body: frame.document(title: "Sign in", trail: [], body: body).document, headers: ConsoleHeaders.all,
            code: failure?.code)
        if let wait = failure?.retryAfter { response.headers[.retryAfter] = String(Int(wait.rounded(.up))) }
        return response
    }

    /// Returns the form for an account with the role. The script sends a proof instead of the password, so it needs JavaScript.
    private func accountForm(next: String?) -> HTML {
        HTML([
            Tag.h2("With an account"),
            Tag.form(
                .method("post"), .action(Address("sign-in")), .class("sign-in"),
                .data("data-sign-in", Address("sign-in", "prepare").text)
            ) {
                next.flatMap { Address(requested: $0) }.map { Input.hidden("next", $0.text) }
                Input.hidden("proof", "")
                Input.text("E-mail address", name: "email", isRequired: true)
                Tag.div(.class("field")) {
                    Tag.label(.for("password"), text: "Password")
                    // Without a name: browsers do not send it.
                    Tag.input(
                        .id("password"), .type("password"), .autocomplete("current-password"), .isRequired(true),
                        .describedBy("password-hint"))
                    Tag.small(
                        .id("password-hint"), .class("hint"),
                        text: "It stays in this page, which needs JavaScript to sign in.")
                }
                Tag.p(.role("status"), .class("quiet"))
                Input.submit("Sign in with the account")
            },
        ])
    }
}
