import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// A request for a page, from an operator who is signed in and may see the page.
struct PageRequest {
    /// What pages work with.
    let services: SiteServices
    /// The request as it came.
    let incoming: IncomingRequest
    /// The session of the operator's browser.
    let session: ConsoleSession
    /// The operator.
    let `operator`: ConsoleOperator
    /// The token that forms send back.
    let formToken: String
    /// The values of the parameters in the path.
    let parameters: [String: String]
    /// The container and environment of the path; nil for pages without.
    let containerPath: ContainerPath?
    /// The fields of the address.
    let query: FormFields
    /// The fields of the form that was sent; none for GET.
    let form: FormFields

    /// The rules and the store behind them.
    var cloud: Cloud { services.cloud }

    /// The container and environment of the page.
    ///
    /// - Throws: `endpointNotFound` for a page without.
    var place: ContainerPath {
        get throws(RequestFailure) {
            guard let containerPath else { throw .endpointNotFound }
            return containerPath
        }
    }

    /// Returns the address of a page of the request's container and environment.
    ///
    /// - Parameters:
    ///   - segments: What follows `containers/{container}/{environment}`.
    ///   - query: Names and values; those without a value are left out.
    func containerAddress(
        _ segments: String..., query: KeyValuePairs<String, String?> = [:]
    ) throws(RequestFailure) -> Address {
        let place = try place
        return Address(
            segments: ["containers", place.container.name, place.environment.rawValue] + segments,
            query: query.map { ($0.key, $0.value) })
    }

    /// Carries an order out and reports it to the operator's log, also when it failed. Whatever changes something passes here.
    ///
    /// - Parameters:
    ///   - order: What is ordered, such as `zones/purge`.
    ///   - details: Identifiers that the order concerns; no secrets and no field values.
    ///   - records: The pseudonyms of the records that the order names.
    func order<Value>(
        _ order: String, details: [String: String] = [:], records: [UInt64] = [], _ body: () async throws -> Value
    ) async throws -> Value {
        try await services.operatorLog.report(
            order, by: `operator`.id, in: containerPath, details: details, records: records, body)
    }

    static let noForms = RequestFailure(.methodNotAllowed, "method not allowed for this page")
}
