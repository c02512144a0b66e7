import CloudKitModel
import CloudKitServer
import Logging

/// Everything below `/admin/1/{container}/{environment}/`: the faults of `welkin fault`, over HTTP (docs/admin-api.md).
///
/// Whoever asks shows an operator's token as `Authorization: Bearer`. Without one in use there are no such endpoints.
final class OperatorEndpoints: Sendable {
    private let cloud: Cloud
    private let authenticator: Authenticator
    private let tokens: OperatorTokens
    private let logger: Logger

    /// Bytes of a body: orders are short.
    private static let bodyBytesMax = 16_384

    init(cloud: Cloud, authenticator: Authenticator, logger: Logger) {
        self.cloud = cloud
        self.authenticator = authenticator
        self.logger = logger
        tokens = OperatorTokens(book: .accounts(in: cloud.store), surroundings: cloud.surroundings)
    }

    func answer(
        _ endpoint: Endpoint, _ place: Route.Place, _ exchange: Exchange, _ body: [UInt8]
    ) async throws -> Answer {
        // Checked in this order: whether there is such a thing, who asks, where, what.
        let token: OperatorToken
        switch try await tokens.standing(of: exchange.bearerToken) {
        case .off: throw Route.notFound
        case .refused: throw Self.refused
        case .good(let row): token = row
        }
        guard place.environment == .development else { throw Self.developmentOnly }
        guard body.count <= Self.bodyBytesMax else { throw Self.tooLarge }
        switch endpoint {
        case .adminFaultsList:
            return try answer(
                FaultList(faults: try await ListFaults(cloud).run(in: place.container).map { FaultLine($0) }))
        case .adminDevicesList:
            let person = try FaultBody(body, allowing: []).somebody()
            let (account, sessions) = try await ListDevices(cloud).run(of: person, in: place.container)
            return try answer(DeviceList(devices: sessions.map { SessionLine($0, of: account) }))
        default:
            let order = try FaultBody(body, of: endpoint).order(endpoint)
            return try answer(ReceiptBody(try await carryOut(order, endpoint, place, token)))
        }
    }

    /// Metrics are for the machine's own processes, and for who shows an operator's token. A wrong token is refused wherever it
    /// comes from.
    func checkMetrics(_ exchange: Exchange) async throws {
        if exchange.bearerToken == nil, exchange.isFromThisMachine { return }
        guard case .good = try await tokens.standing(of: exchange.bearerToken) else { throw Self.metricsRefused }
    }

    /// Carries an order out and tells the operator's log, whatever came of it.
    private func carryOut(
        _ order: FaultOrder, _ endpoint: Endpoint, _ place: Route.Place, _ token: OperatorToken
    ) async throws -> FaultOutcome {
        var metadata: Logger.Metadata = [
            "order": .string(String(endpoint.rawValue.dropFirst("admin/".count))), "operator": .string(token.id),
            "container": .string(place.container.name), "environment": .string(place.environment.rawValue),
        ]
        do {
            let receipt = try await RunFaultOrder(cloud).run(order, in: place.container, place.environment)
            if let account = receipt.account { authenticator.forget(account: account) }
            metadata["user"] = receipt.user.map { .string($0.recordName) }
            metadata["fault"] = receipt.fault.map { .string($0.id) }
            metadata["kind"] = receipt.fault.map { .string($0.kind.rawValue) }
            metadata["outcome"] = "done"
            logger.notice("operator's order", metadata: metadata)
            return receipt
        } catch {
            metadata["outcome"] = .string((error as? RequestFailure)?.code.rawValue ?? "failed")
            logger.notice("operator's order", metadata: metadata)
            throw error
        }
    }

    private func answer(_ body: some Encodable) throws -> Answer { Answer(body: try SmallJSON.encode(body)) }

    private static let refused = RequestFailure(
        .authenticationFailed, "an operator's token is needed",
        remedy: "Make one with welkin admin token create and send it as Authorization: Bearer.")
    private static let metricsRefused = RequestFailure(
        .authenticationFailed, "metrics are for this machine and for operators",
        remedy: "Send an operator's token as Authorization: Bearer; welkin admin token create makes one.")
    private static let developmentOnly = RequestFailure(
        .accessDenied, "faults are ordered in the development environment only")
    private static let tooLarge = RequestFailure(
        .sizeLimitExceeded, "request too large", remedy: "An order has at most \(bodyBytesMax) bytes.")
}
