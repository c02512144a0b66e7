import CloudKitModel
import CloudKitServer
import CloudKitWire
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Answers every request: finds what is asked, reads the body, establishes who asks, lets an endpoint answer, and tells
/// the log and the metrics.
///
/// A class: copies of all it holds made up half of what a waiting request kept in memory.
package final class CloudResponder: HTTPResponder {
    package typealias Context = CloudContext

    let configuration: CloudConfiguration
    let authenticator: Authenticator
    let databases: DatabaseEndpoints
    let devices: DeviceEndpoints
    let users: UserEndpoints
    let uploads: AssetUploadEndpoint
    let downloads: AssetDownloadEndpoint
    let tokens: TokenEndpoints
    let courier: CourierEndpoint
    let operators: OperatorEndpoints
    let health: HealthCheck
    let metrics: RequestMetrics
    let logger: Logger

    init(
        configuration: CloudConfiguration, authenticator: Authenticator, databases: DatabaseEndpoints,
        devices: DeviceEndpoints, users: UserEndpoints, uploads: AssetUploadEndpoint, downloads: AssetDownloadEndpoint,
        tokens: TokenEndpoints, courier: CourierEndpoint, operators: OperatorEndpoints, health: HealthCheck,
        metrics: RequestMetrics, logger: Logger
    ) {
        self.configuration = configuration
        self.authenticator = authenticator
        self.databases = databases
        self.devices = devices
        self.users = users
        self.uploads = uploads
        self.downloads = downloads
        self.tokens = tokens
        self.courier = courier
        self.operators = operators
        self.health = health
        self.metrics = metrics
        self.logger = logger
    }

    package func respond(to request: Request, context: CloudContext) async throws -> Response {
        let start = ContinuousClock.now
        let uuid = RequestUUID.random()
        let exchange = Exchange(request.head, configuration: configuration, channel: context.channel)
        var report = RequestReport(
            method: request.method, surface: exchange.surface == .native ? "sdk" : "web", uuid: uuid)
        var headers = HTTPFields()
        headers[HeaderName.requestUUID] = uuid
        exchange.crossOrigin.permit(in: &headers)

        let outcome: AssetDownloadEndpoint.Outcome
        if let route = AssetRoute(path: exchange.path) {
            outcome = await transfer(route, exchange, request, context.channel, &report)
        } else {
            outcome = .answer(await answer(exchange, request.body, &report, &headers))
        }
        switch outcome {
        case .answer(let answer): return response(answer, to: request, headers, report, since: start)
        case .file(let sending): return response(sending, to: request, headers, report, since: start, context.channel)
        }
    }

    private func response(
        _ answer: Answer, to request: Request, _ common: HTTPFields, _ made: RequestReport,
        since start: ContinuousClock.Instant
    ) -> Response {
        var headers = common
        for field in answer.headers { headers[field.name] = field.value }
        if headers[.contentType] == nil { headers[.contentType] = answer.contentType }
        // Without content there is no length either (RFC 9110 §8.6).
        if answer.status != .noContent, answer.status != .notModified {
            headers[.contentLength] = String(answer.body.count)
        }
        var report = made
        report.status = answer.status.code
        report.code = answer.code?.rawValue
        report.itemsIn = answer.itemsIn
        report.itemsOut = answer.itemsOut
        report.itemsFailed = answer.itemsFailed
        report.bytesOut = answer.body.count
        tell(report, request, since: start)
        return Response(
            status: answer.status, headers: headers,
            body: ResponseBody(byteBuffer: request.method == .head ? ByteBuffer() : ByteBuffer(bytes: answer.body)))
    }

    /// The report of a file is made when it is sent.
    private func response(
        _ sending: AssetDownloadEndpoint.Sending, to request: Request, _ common: HTTPFields, _ made: RequestReport,
        since start: ContinuousClock.Instant, _ channel: any Channel
    ) -> Response {
        var headers = common
        for field in sending.headers { headers[field.name] = field.value }
        headers[.contentLength] = String(sending.range.count)
        var report = made
        report.status = sending.status.code
        if request.method == .head {
            tell(report, request, since: start)
            return Response(status: sending.status, headers: headers)
        }
        report.itemsOut = 1
        let body = downloads.body(sending, channel) { [report] count in
            var report = report
            report.bytesOut = count
            self.metrics.assetBytesSent(count)
            self.tell(report, request, since: start)
        }
        return Response(status: sending.status, headers: headers, body: body)
    }

    private func tell(_ made: RequestReport, _ request: Request, since start: ContinuousClock.Instant) {
        var report = made
        report.milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        metrics.record(report)
        logger.log(level: level(of: report), "request", metadata: report.metadata(OperationLabels(request.headers)))
    }

    /// Files on their way in and out: here the body is not read before, and nobody has to say who asks.
    private func transfer(
        _ route: AssetRoute, _ exchange: Exchange, _ request: Request, _ channel: any Channel,
        _ report: inout RequestReport
    ) async -> AssetDownloadEndpoint.Outcome {
        let verbs = route.endpoint.verbs
        report.endpoint = route.endpoint
        do {
            if exchange.method == .options {
                return .answer(
                    Answer(status: .noContent, body: [], headers: exchange.crossOrigin.preflight(verbs)))
            }
            guard verbs.take(exchange.method) else {
                throw RequestFailure(.methodNotAllowed, "method not allowed for this endpoint")
            }
            switch route {
            case .upload(let token):
                return .answer(try await uploads.answer(token, exchange, request, channel, &report))
            case .download(let token):
                return try await downloads.outcome(token, request)
            }
        } catch {
            var answer = failed(error, exchange, uuid: report.uuid)
            if answer.code == .methodNotAllowed { answer.headers[.allow] = verbs.allow }
            return .answer(answer)
        }
    }

    /// Whoever watches a cloud asks the first two all the time, and devices that wait the third.
    private func level(of report: RequestReport) -> Logger.Level {
        if report.status >= 500 { return .error }
        return [.health, .metrics, .courier].contains(report.endpoint) ? .debug : .info
    }

    /// Anything that fails on the way becomes an error object here.
    private func answer(
        _ exchange: Exchange, _ body: RequestBody, _ report: inout RequestReport, _ headers: inout HTTPFields
    ) async -> Answer {
        do {
            let read = await configuration.bodyReader.read(body, announced: exchange.announcedBytes)
            switch read {
            case .body(let bytes):
                report.bytesIn = bytes.count
                return try await answer(exchange, bytes, &report, &headers)
            case .tooLarge:
                throw Self.tooLarge
            case .abandoned:
                headers[.connection] = "close"
                throw Self.tooLarge
            case .broken:
                headers[.connection] = "close"
                throw RequestFailure(.badRequest, "the request's body did not arrive")
            }
        } catch {
            var answer = failed(error, exchange, uuid: report.uuid)
            if let route = report.route, answer.code == .methodNotAllowed {
                answer.headers[.allow] = route.endpoint.verbs.allow
            }
            if answer.code == .authenticationFailed, report.route?.isForOperators == true {
                answer.headers[.wwwAuthenticate] = "Bearer"
            }
            return answer
        }
    }

    private func answer(
        _ exchange: Exchange, _ body: [UInt8], _ report: inout RequestReport, _ headers: inout HTTPFields
    ) async throws -> Answer {
        let route = try Route(path: exchange.path)
        report.endpoint = route.endpoint
        report.route = route
        if exchange.method == .options {
            return Answer(
                status: .noContent, body: [], headers: exchange.crossOrigin.preflight(route.endpoint.verbs))
        }
        guard route.endpoint.verbs.take(exchange.method) else {
            throw RequestFailure(.methodNotAllowed, "method not allowed for this endpoint")
        }
        guard let place = route.place else {
            if let path = route.courierPath { return try await courier.answer(path, exchange) }
            if let guid = route.shareGUID { return try await databases.sharePage(ofLink: guid, exchange) }
            if route.endpoint == .metrics { try await operators.checkMetrics(exchange) }
            return try await page(route.endpoint, exchange)
        }
        if route.isForOperators { return try await operators.answer(route.endpoint, place, exchange, body) }
        if [.tokensCreate, .tokensRegister, .tokensDelete, .tokensServices].contains(route.endpoint) {
            return try await tokenAnswer(route.endpoint, place, exchange, body, &headers)
        }
        guard let scope = route.scope else {
            return try await devices.answer(try await deviceCall(route.endpoint, place, exchange, body, &headers))
        }
        let admission = try await authenticator.admit(
            exchange.credentials, container: place.container, environment: place.environment, target: exchange.target,
            body: body)
        if let next = admission.nextWebAuthToken { headers[HeaderName.webAuthToken] = next }
        let call = Call(
            endpoint: route.endpoint, place: place, scope: scope, query: exchange.query, body: body,
            admission: admission, surface: exchange.surface, uuid: report.uuid, baseURL: exchange.baseURL ?? "")
        guard !admission.isServerKey || scope == .public else { throw Self.serverKeyOutsidePublic }
        try await strike(admission, place)
        return try await databases.answer(call, users: users)
    }

    /// Lets a fault that an operator ordered have its way with a request of an app.
    private func strike(_ admission: Admission, _ place: Route.Place) async throws {
        try await databases.cloud.faults.check(admission.user, in: place.container, place.environment)
    }

    /// A call below `/device`: most show what they come with in the body; those of a signed-in user bring tokens.
    private func deviceCall(
        _ endpoint: Endpoint, _ place: Route.Place, _ exchange: Exchange, _ body: [UInt8], _ headers: inout HTTPFields
    ) async throws -> DeviceCall {
        let apiToken = try await authenticator.apiToken(
            exchange.query.apiToken, container: place.container, environment: place.environment,
            origin: exchange.crossOrigin.origin)
        var call = DeviceCall(
            endpoint: endpoint,
            place: DeviceSignIn.Place(container: place.container, environment: place.environment, apiToken: apiToken),
            body: body, address: exchange.address)
        if exchange.query.webAuthToken != nil {
            let admission = try await authenticator.admit(
                exchange.credentials, container: place.container, environment: place.environment,
                target: exchange.target, body: body)
            if let next = admission.nextWebAuthToken { headers[HeaderName.webAuthToken] = next }
            // The rest below `/device` is signing in, and looking after one's account.
            if endpoint == .identitiesLookup { try await strike(admission, place) }
            call.user = admission.user
        }
        return call
    }

    private func tokenAnswer(
        _ endpoint: Endpoint, _ place: Route.Place, _ exchange: Exchange, _ body: [UInt8], _ headers: inout HTTPFields
    ) async throws -> Answer {
        let admission = try await authenticator.admit(
            exchange.credentials, container: place.container, environment: place.environment, target: exchange.target,
            body: body)
        if let next = admission.nextWebAuthToken { headers[HeaderName.webAuthToken] = next }
        try await strike(admission, place)
        let caller = Caller(
            user: admission.user, deviceID: admission.deviceID, surface: exchange.surface,
            isServerKey: admission.isServerKey)
        guard let baseURL = exchange.baseURL else {
            throw RequestFailure(.badRequest, "the request does not name its host")
        }
        return try await tokens.answer(
            endpoint, place: place, body: body, caller: caller, sessionID: admission.sessionID, baseURL: baseURL)
    }

    private func page(_ endpoint: Endpoint, _ exchange: Exchange) async throws -> Answer {
        switch endpoint {
        case .landingPage: return Pages.landing()
        case .signInScript: return Pages.script(SignInScript.text)
        case .shareScript: return Pages.script(ShareScript.text)
        case .notificationsScript: return Pages.script(NotificationsScript.text)
        case .notificationsWorker: return Pages.script(NotificationsWorker.text)
        case .styleSheet: return Pages.styleSheet()
        case .notificationsPage: return await forApp(exchange.query) { app, _ in Pages.notifications(app) }
        case .signInPage:
            return await forApp(exchange.query) { Pages.signIn($0, signUpURL: devices.isSignUpOpen ? $1 : nil) }
        case .signUpPage:
            guard devices.isSignUpOpen else { return Pages.signUpClosed() }
            return await forApp(exchange.query) { Pages.signUp($0, signInURL: $1, rounds: devices.rounds) }
        case .health: return await health.answer()
        case .metrics:
            return Answer(
                contentType: "text/plain; version=0.0.4; charset=utf-8",
                body: Array(metrics.exposition(notices: databases.cloud.notificationMetrics.counts).utf8))
        default: throw Route.notFound
        }
    }

    /// A page for people of an app, whose API token stands in the address.
    ///
    /// - Parameter page: Takes the app, and the query with which its other pages are reached.
    private func forApp(_ query: RequestQuery, _ page: (Pages.App, String) -> Answer) async -> Answer {
        guard let token = query.apiToken, let container = query.container,
            let environment = query.environment.flatMap({ Environment(rawValue: $0) }),
            let row = try? await authenticator.apiToken(
                token, container: ContainerID(container), environment: environment, origin: nil)
        else { return Pages.signInRefused() }
        return page(Pages.App(apiToken: token, row: row), query.ofApp)
    }

    /// The error object of a whole request (web-services.md §5.1).
    private func failed(_ error: any Error, _ exchange: Exchange, uuid: String) -> Answer {
        let failure: RequestFailure
        if let known = error as? RequestFailure {
            failure = known
        } else if error is CancellationError {
            failure = RequestFailure(.tryAgainLater, "the cloud is shutting down", retryAfter: 1)
        } else {
            // What went wrong stays in the operator's log.
            logger.error(
                "unexpected error", metadata: ["error": .string(String(describing: error)), "uuid": .string(uuid)])
            failure = RequestFailure(storage: error) ?? RequestFailure(.internalError, "internal error")
        }
        return Answer(failure: failure, exchange, uuid: uuid)
    }

    private static let tooLarge = RequestFailure(
        .sizeLimitExceeded, "request too large", remedy: "Send at most 2 MB in a request; send the halves.")
    private static let serverKeyOutsidePublic = RequestFailure(
        .authenticationFailed, "a server-to-server key reaches the public database only")
}

extension Endpoint.Verbs {
    func take(_ method: HTTPRequest.Method) -> Bool {
        switch self {
        case .post: method == .post
        case .getOrPost: method == .get || method == .post
        case .get: method == .get || method == .head
        case .upload: method == .post || method == .patch || method == .head
        }
    }
}
