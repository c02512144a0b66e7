import CloudKitModel
import Logging

/// The log of what operators order.
package struct OperatorLog: Sendable {
    private let logger: Logger

    /// Creates a log that writes to the operator's log.
    package init(logger: Logger) { self.logger = logger }

    /// Carries an order out and reports it, also when it failed.
    ///
    /// - Parameters:
    ///   - order: What is ordered, such as `zones/purge`.
    ///   - operatorID: The id of the operator's token or account.
    ///   - place: The container and environment; nil for an order to the whole cloud.
    ///   - details: Identifiers that the order concerns; no secrets and no field values.
    package func report<Value>(
        _ order: String, by operatorID: String, in place: ContainerPath?, details: [String: String] = [:],
        _ body: () async throws -> Value
    ) async throws -> Value {
        var metadata: Logger.Metadata = details.mapValues { .string($0) }
        metadata["order"] = .string(order)
        metadata["operator"] = .string(operatorID)
        metadata["container"] = place.map { .string($0.container.name) }
        metadata["environment"] = place.map { .string($0.environment.rawValue) }
        do {
            let value = try await body()
            metadata["outcome"] = "done"
            logger.notice("operator's order", metadata: metadata)
            return value
        } catch {
            metadata["outcome"] = .string((error as? RequestFailure)?.code.rawValue ?? "failed")
            logger.notice("operator's order", metadata: metadata)
            throw error
        }
    }
}
