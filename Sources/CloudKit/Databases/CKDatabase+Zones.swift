import CloudKitClient
import CloudKitModel
import Foundation

extension CKDatabase {
    /// Fetches every zone: in the private database the default zone too, in the shared one those that others share
    /// with the user (B-ZN-13).
    nonisolated(nonsending) public func allRecordZones() async throws -> [CKRecordZone] {
        try await failing { try await requests().allZones().map { CKRecordZone($0) } }
    }

    /// Fetches one zone.
    ///
    /// - Throws: `CKError.zoneNotFound` when the zone does not exist (B-ZN-07).
    nonisolated(nonsending) public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try await recordZones(for: [zoneID]).only(zoneID)
    }

    /// Fetches zones.
    nonisolated(nonsending) public func recordZones(
        for ids: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        try await failing {
            try RequestLimits.check(items: ids.count)
            var results: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
            for (id, result) in try await requests().zones(ids.map(\.model)) {
                let id = CKRecordZone.ID(id)
                results[id] = result.asZone(id)
            }
            return results
        }
    }

    /// Creates a zone; saving one that exists changes nothing (B-ZN-06).
    @discardableResult
    nonisolated(nonsending) public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        try await modifyRecordZones(saving: [zone], deleting: []).saveResults.only(zone.zoneID)
    }

    /// Deletes a zone with everything in it (B-ZN-08); deleting a zone that does not exist is not an error (B-ZN-07).
    @discardableResult
    nonisolated(nonsending) public func deleteRecordZone(
        withID zoneID: CKRecordZone.ID
    ) async throws -> CKRecordZone.ID {
        try await modifyRecordZones(saving: [], deleting: [zoneID]).deleteResults.only(zoneID)
        return zoneID
    }

    /// Creates and deletes zones.
    nonisolated(nonsending) public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone] = [], deleting recordZoneIDsToDelete: [CKRecordZone.ID] = []
    ) async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    ) {
        try await failing {
            let plan = try ZoneModification(
                saving: recordZonesToSave, deleting: recordZoneIDsToDelete)
            var saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
            var deleteResults: [CKRecordZone.ID: Result<Void, any Error>] = [:]
            for outcome in try await requests().modify(plan) {
                let id = CKRecordZone.ID(outcome.operation.zoneID)
                switch outcome.operation {
                case .create: saveResults[id] = outcome.result.asZone(id, .savingZone(id))
                case .delete: deleteResults[id] = outcome.result.map { _ in () }.asError(.deletingZone(id))
                case .raiseKeyEpoch: break
                }
            }
            return (saveResults, deleteResults)
        }
    }
}
