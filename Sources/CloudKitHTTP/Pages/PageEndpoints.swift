import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// The pages that depend on the request's query alone.
struct PageEndpoints {
    var authenticator: Authenticator
    var isSignUpOpen: Bool
    /// Rounds of a new password's derivation.
    var rounds: Int
    /// The API tokens of the cloud's own pages.
    var pageTokens: PageTokens
    /// Whether the cloud has no additions to web services.
    var isStrict: Bool
    /// The name of the provider of identities; nil: the cloud has none.
    var provider: String?

    func landing(_ request: IncomingRequest) -> EndpointResponse { Pages.landing() }

    func account(_ request: IncomingRequest) -> EndpointResponse {
        Pages.account(
            token: pageTokens.token(container: Pages.accountContainer, environment: .production), provider: provider)
    }

    func provider(_ request: IncomingRequest) -> EndpointResponse {
        Pages.provider(token: pageTokens.token(container: Pages.accountContainer, environment: .production))
    }

    func signIn(_ request: IncomingRequest) async -> EndpointResponse {
        guard let app = await app(request.query) else { return Pages.signInRefused() }
        return Pages.signIn(
            app, signUpQuery: isSignUpOpen ? request.query.ofApp : nil, isStrict: isStrict,
            provider: provider)
    }

    func signUp(_ request: IncomingRequest) async -> EndpointResponse {
        guard isSignUpOpen else { return Pages.signUpClosed() }
        guard let app = await app(request.query) else { return Pages.signInRefused() }
        return Pages.signUp(app, signInQuery: request.query.ofApp, rounds: rounds)
    }

    func address(_ request: IncomingRequest) -> EndpointResponse {
        Pages.address(token: pageTokens.token(container: Pages.accountContainer, environment: .production))
    }

    func invitation(_ request: IncomingRequest) -> EndpointResponse {
        Pages.invitation(
            token: pageTokens.token(container: Pages.accountContainer, environment: .production), rounds: rounds)
    }

    func notifications(_ request: IncomingRequest) async -> EndpointResponse {
        guard let app = await app(request.query) else { return Pages.signInRefused() }
        return Pages.notifications(app)
    }

    /// Returns the app of the API token in the query; nil when this cloud does not know the token.
    private func app(_ query: RequestQuery) async -> Pages.App? {
        guard let token = query.apiToken, let container = query.container,
            let environment = query.environment.flatMap({ Environment(rawValue: $0) }),
            let row = try? await authenticator.apiToken(
                token, container: ContainerID(container), environment: environment, origin: nil)
        else { return nil }
        return Pages.App(apiToken: token, row: row)
    }
}
