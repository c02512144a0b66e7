import CloudKitModel

/// A modification of zones before it is sent.
package struct ZoneModification: Sendable {
    /// The operations to send: saves, then deletions, without repetitions.
    package let operations: [ZoneOperation]

    /// - Throws: `CallFailure.limitExceeded`; `.invalidArguments` for a zone that is named twice.
    package init(
        saving zones: [(id: ZoneID, encryptionScope: ZoneEncryptionScope)], deleting ids: [ZoneID]
    ) throws(CallFailure) {
        try RequestLimits.check(items: zones.count + ids.count)
        var seen: Set<ZoneID> = []
        var operations: [ZoneOperation] = []
        for zone in zones {
            guard seen.insert(zone.id).inserted else {
                throw .invalidArguments("You can't save the same record zone twice: \(zone.id.zoneName)")
            }
            operations.append(.create(zone.id, zone.encryptionScope))
        }
        let saved = seen
        for id in ids {
            guard !saved.contains(id) else {
                throw .invalidArguments(
                    "You can't save and delete the same record zone (\(id.zoneName)) in a single operation")
            }
            if seen.insert(id).inserted { operations.append(.delete(id)) }
        }
        self.operations = operations
    }
}

/// The outcome of one zone of a modification.
package struct ZoneItemOutcome: Hashable, Sendable {
    /// The operation that was answered.
    package var operation: ZoneOperation
    /// The saved zone; nil for a deletion.
    package var result: Result<Zone?, CallFailure>
}

extension DatabaseRequests {
    /// Sends the operations in one request.
    package func modify(_ plan: ZoneModification) async throws -> [ZoneItemOutcome] {
        guard !plan.operations.isEmpty else { return [] }
        let before = connection.keys.epochs.seen
        return zip(plan.operations, try await modifyZones(plan.operations)).map { operation, outcome in
            ZoneItemOutcome(
                operation: operation,
                result: outcome.result.flatMap { zone in
                    zone.map { verified($0, since: before).map(Optional.some) } ?? .success(nil)
                })
        }
    }

    /// Fetches zones by identifier, each once.
    package func zones(_ ids: [ZoneID]) async throws -> [(ZoneID, Result<Zone, CallFailure>)] {
        var seen: Set<ZoneID> = []
        let ids = ids.filter { seen.insert($0).inserted }
        guard !ids.isEmpty else { return [] }
        let before = connection.keys.epochs.seen
        return zip(ids, try await lookupZones(ids)).map { id, outcome in
            (id, outcome.zone.flatMap { verified($0, since: before) })
        }
    }

    /// Fetches every zone of the database (B-ZN-13).
    package func allZones() async throws -> [Zone] {
        let before = connection.keys.epochs.seen
        return try await listZones().compactMap { try? $0.zone.get() }.map { try verified($0, since: before).get() }
    }
}

extension ZoneOutcome {
    fileprivate var result: Result<Zone?, CallFailure> {
        switch self {
        case .zone(let zone): .success(zone)
        case .deleted: .success(nil)
        case .failed(_, let refusal): .failure(.refused(refusal))
        }
    }

    fileprivate var zone: Result<Zone, CallFailure> {
        switch self {
        case .zone(let zone): .success(zone)
        case .deleted: .failure(.refused(RequestFailure(.zoneNotFound, "Zone was deleted")))
        case .failed(_, let refusal): .failure(.refused(refusal))
        }
    }
}
