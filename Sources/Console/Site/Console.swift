import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import CloudKitWire
import HTTPTypes
import Logging

/// The Console: pages on which operators look after a cloud (docs/console.md).
///
/// Each request passes, in this order: whether there are operators at all, the host name, the origin and the form's token, the session,
/// the page's path, the operator's scope; then the page runs.
package struct Console: MountedSite {
    /// The path of the Console.
    package var path: String { Address.root }
    private let pages = ConsolePages()
    private let files = ConsoleFiles()
    private let notices = Notices()

    /// Creates the Console.
    package init() {}

    /// Responds to a request for one of the Console's paths.
    ///
    /// - Throws: `endpointNotFound` while no one could sign in, so that strangers cannot tell that there is a Console.
    package func respond(to request: IncomingRequest, with services: SiteServices) async throws -> EndpointResponse {
        request.responseHeaders[.accessControlAllowOrigin] = nil
        let sessions = ConsoleSessions(store: services.cloud.accountStore, limiter: services.proofLimiter)
        guard try await sessions.isOn() else { throw RequestFailure.endpointNotFound }
        if let file = files.response(at: request.path) { return file }
        let path = request.endpoint?.parameter ?? ""
        var signedIn: SignedIn?
        do {
            guard services.isForOperators(request) else { throw Self.hostRefused }
            let cookie = SessionCookie.value(in: request)
            if let current = try await sessions.current(cookie), let cookie {
                signedIn = SignedIn(
                    cookie: cookie, session: current.session, operator: current.operator,
                    formToken: sessions.formToken(of: current.session))
            }
            let signIn = ConsoleSignIn(sessions: sessions, services: services, files: files)
            if let response = try await signIn.response(to: request, at: path, signedIn: signedIn) { return response }
            guard let signedIn else { return signIn.invitation(to: request) }
            return try await respond(to: request, at: path, from: signedIn, sessions, services)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return response(to: failure(error, request, services), of: request, signedIn)
        }
    }

    private func respond(
        to request: IncomingRequest, at path: Substring, from signedIn: SignedIn, _ sessions: ConsoleSessions,
        _ services: SiteServices
    ) async throws -> EndpointResponse {
        let match = try pages.match(path)
        let place = try match.containerPath()
        // Not "access denied": an operator of one container does not learn which others there are.
        guard PageScope(scope: signedIn.operator.scope).admits(match.page, in: place) else {
            throw RequestFailure.endpointNotFound
        }
        var form = FormFields()
        if request.method == .post {
            try await services.readBody(of: request, bytesMax: match.page.formBytesMax, isKnown: true)
            form = FormFields(request.body)
            try FormCheck.check(request, form, isOwn: { sessions.isFormToken($0, of: signedIn.session) })
        }
        let page = PageRequest(
            services: services, incoming: request, session: signedIn.session, operator: signedIn.operator,
            formToken: signedIn.formToken, parameters: match.parameters, containerPath: place,
            query: FormFields(request.target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()), form: form)
        let response =
            request.method == .post ? try await match.page.submit(page) : try await match.page.show(page)
        switch response {
        case .response(let response): return response
        case .redirect(let address, let notice):
            if let notice { notices.put(notice, for: signedIn.session) }
            return Self.redirect(to: address)
        case .page(let content):
            return document(content, title: match.page.title, match: match, place: place, signedIn, request)
        }
    }

    /// Returns a page in its frame.
    private func document(
        _ content: PageContent, title: String, match: ConsolePages.Match?, place: ContainerPath?, _ signedIn: SignedIn?,
        _ request: IncomingRequest
    ) -> EndpointResponse {
        var frame = PageFrame(style: files.style, script: files.script)
        var trail: [TrailLink] = []
        if let signedIn {
            frame.operatorName = signedIn.operator.name
            frame.signOut = ConsoleSignIn.signOutForm(formToken: signedIn.formToken)
            frame.notice = notices.take(for: signedIn.session)
            let scope = PageScope(scope: signedIn.operator.scope)
            frame.cloudLinks = pages.cloudLinks(for: scope, current: match?.page.path)
            if let place, let match {
                frame.container = containerFrame(place, match)
                trail.append(TrailLink("Containers", Address("containers")))
                let home = pages.containerHome(place)
                if match.path.address(match.parameters) != home { trail.append(TrailLink(place.container.name, home)) }
            }
        }
        let document = frame.document(
            title: content.title ?? title, trail: trail + content.trail, body: content.body)
        return EndpointResponse(
            status: content.status, contentType: "text/html; charset=UTF-8", body: document.document,
            headers: ConsoleHeaders.all)
    }

    private func containerFrame(_ place: ContainerPath, _ match: ConsolePages.Match) -> PageFrame.ContainerFrame {
        let other = place.other
        let parameters = match.parameters.merging(other.parameters) { $1 }
        // Other parameters name things that the other environment need not have.
        let isSame = parameters.count == 2
        return PageFrame.ContainerFrame(
            container: place.container, environment: place.environment,
            otherEnvironment: PageFrame.Link(
                title: other.environment.rawValue,
                address: (isSame ? match.path.address(parameters) : nil) ?? pages.containerHome(other),
                isCurrent: false),
            links: pages.containerLinks(place, current: match.page.path), home: pages.containerHome(place))
    }

    private func failure(
        _ error: any Error, _ request: IncomingRequest, _ services: SiteServices
    ) -> RequestFailure {
        if let known = error as? RequestFailure { return known }
        // The details stay in the operator's log.
        services.logger.error(
            "unexpected error",
            metadata: ["error": .string(String(describing: error)), "uuid": .string(request.uuid)])
        return RequestFailure(storage: error) ?? RequestFailure(.internalError, "internal error")
    }

    /// Returns the page of an error.
    private func response(
        to failure: RequestFailure, of request: IncomingRequest, _ signedIn: SignedIn?
    ) -> EndpointResponse {
        let isMissing = failure.code == .endpointNotFound
        let content = PageContent(
            status: HTTPResponse.Status(code: failure.code.httpStatus),
            body: isMissing
                ? Tag.p("There is no such page, or it is not one of yours.")
                : Part.failure(failure, requestUUID: request.uuid))
        var response = document(
            content, title: isMissing ? "Page not found" : "Not done", match: nil, place: nil, signedIn, request)
        response.code = failure.code
        if let wait = failure.retryAfter { response.headers[.retryAfter] = String(Int(wait.rounded(.up))) }
        return response
    }

    static func redirect(to address: Address) -> EndpointResponse {
        var headers = ConsoleHeaders.all
        headers[.location] = address.text
        return EndpointResponse(status: .seeOther, contentType: "text/plain", body: [], headers: headers)
    }

    private static let hostRefused = RequestFailure(
        .accessDenied, "the Console is not shown under this host name, nor to pages of other origins",
        remedy: "Use 127.0.0.1, or name the host with welkin serve --operator-host.")
}

extension ConsolePages {
    /// Returns the address of a container's first page.
    func containerHome(_ place: ContainerPath) -> Address {
        Address("containers", place.container.name, place.environment.rawValue)
    }
}

/// A browser in which an operator is signed in.
struct SignedIn {
    /// The cookie.
    var cookie: String
    /// The session of the cookie.
    var session: ConsoleSession
    /// The operator.
    var `operator`: ConsoleOperator
    /// The token that forms send back.
    var formToken: String
}
