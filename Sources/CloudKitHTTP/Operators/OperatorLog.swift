import CloudKitLogs
import CloudKitModel
import Logging

/// The log of what operators order.
package struct OperatorLog: Sendable {
    private let logger: Logger
    private let log: LogBuffer?
    private let now: @Sendable () -> Int64

    /// Creates a log that writes to the operator's log of lines and to the log of requests.
    ///
    /// - Parameters:
    ///   - log: nil without a log of requests.
    ///   - now: Milliseconds since 1970.
    package init(logger: Logger, log: LogBuffer?, now: @escaping @Sendable () -> Int64) {
        self.logger = logger
        self.log = log
        self.now = now
    }

    /// Carries an order out and reports it, also when it failed.
    ///
    /// - Parameters:
    ///   - order: What is ordered, such as `zones/purge`.
    ///   - operatorID: The id of the operator's token or account.
    ///   - place: The container and environment; nil for an order to the whole cloud.
    ///   - details: Identifiers that the order concerns; no secrets and no field values.
    ///   - records: The pseudonyms of the records that the order names.
    package func report<Value>(
        _ order: String, by operatorID: String, in place: ContainerPath?, details: [String: String] = [:],
        records: [UInt64] = [], _ body: () async throws -> Value
    ) async throws -> Value {
        var metadata: Logger.Metadata = details.mapValues { .string($0) }
        metadata["order"] = .string(order)
        metadata["operator"] = .string(operatorID)
        metadata["container"] = place.map { .string($0.container.name) }
        metadata["environment"] = place.map { .string($0.environment.rawValue) }
        var entry = LogEntry(id: LogID(milliseconds: now()), kind: .operatorAction, operation: order)
        entry.container = place?.container.name
        entry.environment = place?.environment.rawValue
        entry.setRecords(records)
        entry.details = LogDetails(attributes: details.merging(["operator": operatorID]) { $1 })
        do {
            let value = try await body()
            metadata["outcome"] = "done"
            logger.notice("operator's order", metadata: metadata)
            log?.add(entry)
            return value
        } catch {
            metadata["outcome"] = .string((error as? RequestFailure)?.code.rawValue ?? "failed")
            logger.notice("operator's order", metadata: metadata)
            let failure = (error as? RequestFailure).map { LogFailure($0) }
            entry.code = failure?.code ?? RequestFailure.Code.internalError.rawValue
            entry.details?.failures = failure.map { [$0] } ?? []
            log?.add(entry)
            throw error
        }
    }
}
