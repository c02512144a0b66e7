import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Logging

/// The endpoints below `/admin/1/{container}/{environment}/`: the faults of `welkin fault`, over HTTP (docs/admin-api.md).
struct OperatorEndpoints {
    var cloud: Cloud
    var authenticator: Authenticator
    var logger: Logger

    func listFaults(_ request: IncomingRequest) async throws -> EndpointResponse {
        let faults = try await ListFaults(cloud).run(in: try request.place.container)
        return try .json(FaultListBody(faults: faults.map { FaultItem($0) }))
    }

    func listDevices(_ request: IncomingRequest) async throws -> EndpointResponse {
        // Devices are the account's, in every container.
        guard case .operator(let token) = request.sender else { throw RequestFailure.endpointNotFound }
        try token.requireWholeCloud()
        let person = try FaultOrderBody(request.body, allowing: []).requiredPerson()
        let (account, sessions) = try await ListDevices(cloud).run(of: person, in: try request.place.container)
        return try .json(DeviceListBody(devices: sessions.map { SessionLine($0, of: account) }))
    }

    /// Carries an order out and reports it to the operator's log, also when it failed.
    func execute(_ request: IncomingRequest) async throws -> EndpointResponse {
        let place = try request.place
        guard let endpoint = request.endpoint?.name, case .operator(let token) = request.sender else {
            throw RequestFailure.endpointNotFound
        }
        let order = try FaultOrderBody(request.body, of: endpoint).order(of: endpoint)
        request.subject.attributes["order"] = String(endpoint.rawValue.dropFirst("admin/".count))
        var metadata: Logger.Metadata = [
            "order": .string(String(endpoint.rawValue.dropFirst("admin/".count))), "operator": .string(token.id),
            "container": .string(place.container.name), "environment": .string(place.environment.rawValue),
        ]
        do {
            if order.concernsAccount { try token.requireWholeCloud() }
            let receipt = try await RunFaultOrder(cloud).run(order, in: place.container, place.environment)
            if let account = receipt.account { authenticator.forget(account: account) }
            metadata["user"] = receipt.user.map { .string($0.recordName) }
            metadata["fault"] = receipt.fault.map { .string($0.id) }
            metadata["kind"] = receipt.fault.map { .string($0.kind.rawValue) }
            request.subject.user = receipt.user?.recordName
            request.subject.attributes["fault"] = receipt.fault?.id
            request.subject.attributes["kind"] = receipt.fault?.kind.rawValue
            metadata["outcome"] = "done"
            logger.notice("operator's order", metadata: metadata)
            return try .json(FaultReceiptBody(receipt))
        } catch {
            metadata["outcome"] = .string((error as? RequestFailure)?.code.rawValue ?? "failed")
            logger.notice("operator's order", metadata: metadata)
            throw error
        }
    }
}
