import CloudKitModel
import CloudKitRecordLayer

extension Cloud {
    /// Runs a write transaction and reports the notifications that it decided once it is committed.
    ///
    /// - Parameter body: Collects what it decides in the buffer; the buffer is emptied before each run, so that only the last
    ///   run counts.
    func writeNotifying<Value: Sendable>(
        _ partitions: [StoragePartition],
        _ body: @Sendable (inout StorageWriter, NotificationBuffer) async throws -> Value
    ) async throws -> Value {
        let pendingNotifications = NotificationBuffer()
        let value = try await store.write(partitions) { transaction in
            pendingNotifications.begin()
            return try await body(&transaction, pendingNotifications)
        }
        notificationMetrics.record(pendingNotifications)
        return value
    }
}
