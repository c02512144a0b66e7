import CloudKitAccounts
import CloudKitModel

extension DeviceEndpoints {
    /// Makes or takes back permissions for operators to see the data of the device's person, and lists them.
    func changeConsents(_ call: DeviceCall) async throws -> EndpointResponse {
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        let body = try SmallJSON.decode(ConsentsBody.self, from: call.body)
        let (_, account) = try await store.sessions.owner(of: device, now: store.serverEnvironment.now())
        let consents = store.consoleConsents
        var token: String?
        if body.create == true {
            let seconds = body.seconds ?? 3600
            guard (60...Double(ConsoleConsent.lifetimeMax / 1000)).contains(seconds) else {
                throw RequestFailure(.badRequest, "the time is out of bounds", remedy: "Use one minute to seven days.")
            }
            token = try await consents.create(
                account: account.id, container: call.place.container, environment: call.place.environment,
                lifetime: Int64(seconds * 1000), allowsChanges: body.allowsChanges ?? false
            ).token
        } else if let id = body.revoke {
            let ended = try await consents.revoke(id == "all" ? nil : id, account: account.id)
            guard !ended.isEmpty || id == "all" else {
                throw RequestFailure(
                    .itemNotFound, "no consent, or more than one, begins so", remedy: "List the consents.")
            }
        }
        let lines = try await consents.list(account: account.id).map { ConsentLine($0) }
        return try .json(ConsentsAnswer(token: token, consents: lines))
    }

    private struct ConsentsBody: Decodable {
        var create: Bool?
        var seconds: Double?
        var allowsChanges: Bool?
        var revoke: String?
    }

    private struct ConsentsAnswer: Encodable {
        var token: String?
        var consents: [ConsentLine]
    }

    private struct ConsentLine: Encodable {
        var id: String
        var container: String
        var environment: String
        var created: Int64
        var expires: Int64
        var allowsChanges: Bool

        init(_ consent: ConsoleConsent) {
            id = consent.id
            container = consent.container
            environment = consent.environment
            created = consent.created
            expires = consent.expires
            allowsChanges = consent.allowsChanges
        }
    }
}
