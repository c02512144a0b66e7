import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import HTTPTypes

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
        case ("/sign-in", _):
            if signedIn != nil { return Console.redirect(to: Address()) }
            let query = FormFields(request.target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())
            return page(next: query["next"], failure: nil, request)
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
            let token = (form["token"] ?? "").filter { !$0.isWhitespace }
            let cookie = try await sessions.open(token: token, address: request.address)
            request.responseHeaders[.setCookie] = SessionCookie.header(cookie, isSecure: request.isSecure)
            services.logger.notice(
                "operator signed in", metadata: ["operator": .string(String(APIToken.hash(of: token).prefix(12)))])
            return Console.redirect(to: form["next"].flatMap { Address(requested: $0) } ?? Address())
        } catch let failure as RequestFailure {
            return page(next: form["next"], failure: failure, request)
        }
    }

    private func page(next: String?, failure: RequestFailure?, _ request: IncomingRequest) -> EndpointResponse {
        let body = HTML([
            failure.map { Part.failure($0, requestUUID: request.uuid) } ?? HTML(),
            Tag.form(.method("post"), .action(Address("sign-in")), .class("sign-in")) {
                next.flatMap { Address(requested: $0) }.map { Input.hidden("next", $0.text) }
                Input.text(
                    "Operator's token", name: "token", hint: "64 digits, from: welkin admin token create",
                    isRequired: true, isAutofocused: true, isSecret: true, lengthMax: 200)
                Input.submit("Sign in")
            },
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
}
