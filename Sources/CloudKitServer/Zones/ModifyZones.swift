import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Creates and deletes zones.
package struct ModifyZones: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Creates and deletes zones, one after the other; each operation succeeds or fails on its own.
    ///
    /// Rules B-ZN-05 to B-ZN-12, B-LIM-06, B-LIM-11.
    ///
    /// - Returns: An outcome for each operation, in their order.
    package func run(
        _ operations: [ZoneOperation], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ZoneOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .writeZones)
        try caller.checkItemCount(operations.count)
        if place.scope == .shared { return try await LeaveSharedZones(cloud).run(operations, in: place) }
        try await cloud.registry.enter(place.partition)
        let now = cloud.serverEnvironment.now()
        if operations.contains(where: \.isDeletion) {
            try await cloud.registry.renewWorkPromise(in: place.partition, now: now)
        }
        return try await cloud.writeNotifying([place.partition]) { transaction, buffer in
            var memory = RequestMemory(of: caller.attempt, by: caller.user, now: now)
            try await memory.read(transaction)
            if memory.isOvertaken { throw RequestFailure.overtakenAttempt }
            var header = try await transaction.databaseHeader()
            try place.checkKeys(header)
            header.begin(after: cloud.storeHistory.versionBeforeFirst(now: now))
            var writer = ZoneWriter(header: header, now: now)
            var outcomes: [ZoneOutcome] = []
            var versions: [Int: UInt64] = [:]
            for (position, operation) in operations.enumerated() {
                let outcome: ZoneWriter.Outcome
                if memory.version(at: position) != nil {
                    outcome = try await writer.repeated(operation, in: place, transaction)
                } else {
                    outcome = try await writer.apply(operation, in: place, limits: cloud.limits, &transaction)
                    if !outcome.isFailure { versions[position] = writer.header.version }
                }
                outcomes.append(outcome.sealed(by: cloud.tokens, in: place))
            }
            memory.keep(versions, &transaction)
            let pendingNotifications = NotificationWriter(
                place: place, schema: .ofTheSystem, limits: cloud.limits, now: now, buffer: buffer)
            try await writer.writeNotifications(pendingNotifications, &transaction)
            if writer.isChanged { transaction.set(writer.header) }
            return outcomes
        }
    }
}
