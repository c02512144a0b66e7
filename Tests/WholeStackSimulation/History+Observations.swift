import CloudKit
import Foundation

// What is checked of every answer, while others write.
extension History {
    /// Checks a record that a device has read.
    ///
    /// - Parameters:
    ///   - keys: The fields that were asked for; nil: all.
    ///   - hasContents: Whether the contents of files were fetched.
    func observe(_ record: CKRecord, at place: Place, keys: [String]?, hasContents: Bool = true) {
        guard ["Item", "Post"].contains(record.recordType), !Place.isRoot(record.recordID.recordName) else {
            return
        }
        let cell = place.cell(record.recordID.recordName)
        guard let stamp = record["stamp"] as? Int else { return violated("\(cell) has no stamp") }
        if let objection = ledger.objection(to: stamp, in: cell) { violated("\(cell): \(objection)") }
        if place.losesRecords, !ledger.isShared(stamp, by: place.owner) {
            violated("a guest sees \(cell) with \(stamp), which is not in the share")
        }
        let differences = Content(stamp: stamp).differences(
            from: record, at: place, keys: keys, hasContents: hasContents)
        if !differences.isEmpty { violated("\(cell) with \(stamp) shows \(differences.joined(separator: ", "))") }
    }

    /// Checks the record that answers a save; it can be one that others have saved since, whose files were not fetched.
    func observe(saved record: CKRecord, with stamp: Int, at place: Place) {
        observe(record, at: place, keys: nil, hasContents: record["stamp"] as? Int == stamp)
    }

    /// Returns name and stamp of the records that a query finds.
    func stamps(
        _ question: Content.Question, ofType type: String? = nil, at place: Place, in database: CKDatabase,
        keys: [String]? = nil, pageMax: Int = 100
    ) async throws -> [String: Int] {
        let query = CKQuery(
            recordType: type ?? place.recordType,
            predicate: NSPredicate(format: question.format, argumentArray: question.arguments))
        if question.format != "FALSEPREDICATE" {
            query.sortDescriptors = [NSSortDescriptor(key: "stamp", ascending: true)]
        }
        var found: [String: Int] = [:]
        var (results, cursor) = try await database.records(
            matching: query, inZoneWith: place.zoneID, desiredKeys: keys.map { $0 + ["stamp"] }, resultsLimit: pageMax)
        while true {
            for (id, result) in results {
                let record: CKRecord
                do {
                    record = try result.get()
                    observe(record, at: place, keys: keys)
                } catch let error as CKError where mayHaveLostKeys(place) && error.code == .internalError {
                    guard let plain = try await plainRecord(id, in: database) else { continue }
                    record = plain
                    observe(record, at: place, keys: Content.keys)
                }
                found[id.recordName] = record["stamp"] as? Int ?? 0
            }
            guard let next = cursor else { return found }
            (results, cursor) = try await database.records(
                continuingMatchFrom: next, desiredKeys: keys.map { $0 + ["stamp"] }, resultsLimit: pageMax)
        }
    }

    // MARK: Feeds

    /// An app that follows a feed.
    struct Follower: Hashable {
        var device: String
        var life: Int
        /// The number of the second process; 0: the first one.
        var process = 0
        var owner: String
        var zone: String
    }

    /// What an app knows of a zone.
    struct Followed {
        var token: CKServerChangeToken?
        var stamps: [String: Int] = [:]
    }

    /// Brings an app up to date with a feed.
    func follow(
        _ follower: Follower, _ place: Place, _ database: CKDatabase, usesOperation: Bool = false, pageMax: Int? = nil
    ) async throws {
        // One at a time; another one has begun from the same position otherwise.
        guard isFollowing.value.insert(follower).inserted else { return }
        defer { isFollowing.value.remove(follower) }
        var known = followed.value[follower] ?? Followed()
        let name = deletedName.value
        do {
            if usesOperation {
                known = try await followed(known, place, database, pageMax: pageMax)
            } else {
                var hasMore = true
                while hasMore {
                    let page = try await database.recordZoneChanges(
                        inZoneWith: place.zoneID, since: known.token, resultsLimit: pageMax)
                    for (id, result) in page.modificationResultsByID {
                        take(try result.get().record, id, place, &known)
                    }
                    for deletion in page.deletions { known.stamps[deletion.recordID.recordName] = nil }
                    known.token = page.changeToken
                    hasMore = page.moreComing
                }
            }
            // Tokens are of no use to the user who has come back.
            if name == deletedName.value { followed.value[follower] = known }
        } catch let error as CKError
            where [.changeTokenExpired, .zoneNotFound, .userDeletedZone].contains(error.code)
        {
            followed.value[follower] = nil
            throw error
        }
    }

    private func take(_ record: CKRecord, _ id: CKRecord.ID, _ place: Place, _ known: inout Followed) {
        observe(record, at: place, keys: nil)
        guard record.recordType == "Item", !Place.isRoot(id.recordName) else { return }
        known.stamps[id.recordName] = record["stamp"] as? Int ?? 0
    }

    private func followed(
        _ start: Followed, _ place: Place, _ database: CKDatabase, pageMax: Int?
    ) async throws -> Followed {
        let known = Shared(start)
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        configuration.previousServerChangeToken = start.token
        if let pageMax { configuration.resultsLimit = pageMax }
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [place.zoneID], configurationsByRecordZoneID: [place.zoneID: configuration])
        let failure = Shared<(any Error)?>(nil)
        operation.recordWasChangedBlock = { id, result in
            switch result {
            case .success(let record): self.take(record, id, place, &known.value)
            case .failure(let error): failure.value = error
            }
        }
        operation.recordWithIDWasDeletedBlock = { id, _ in known.value.stamps[id.recordName] = nil }
        operation.recordZoneFetchResultBlock = { _, result in
            switch result {
            case .success(let end): known.value.token = end.serverChangeToken
            case .failure(let error): failure.value = error
            }
        }
        let end: Result<Void, any Error> = await withCheckedContinuation { continuation in
            operation.fetchRecordZoneChangesResultBlock = { continuation.resume(returning: $0) }
            database.add(operation)
        }
        if let failure = failure.value { throw failure }
        try end.get()
        return known.value
    }

    // MARK: Errors

    /// Returns what an answer says of the fate of its request.
    func outcome(_ result: Result<Void, any Error>) -> Ledger.Outcome {
        guard case .failure(let error) = result else { return .done }
        guard let code = (error as? CKError)?.code else { return .unknown }
        switch code {
        case .permissionFailure, .networkUnavailable, .requestRateLimited, .referenceViolation, .limitExceeded,
            .invalidArguments, .quotaExceeded:
            return repeats && (code == .referenceViolation || code == .quotaExceeded) ? .unknown : .refused
        case .serverRecordChanged, .unknownItem, .zoneNotFound, .batchRequestFailed, .serverRejectedRequest,
            .userDeletedZone:
            // The answer to a repeated request tells of the first one's effects.
            return repeats ? .unknown : .refused
        default: return .unknown
        }
    }

    /// Reports an error that this step cannot have.
    func expect(_ error: any Error, of step: String, at place: Place) {
        guard let error = error as? CKError else { return violated("\(step): \(error)") }
        let items = error.partialErrorsByItemID ?? [:]
        guard items.isEmpty else {
            for item in items.values { expect(item, of: step, at: place) }
            return
        }
        trail.note("\(step) \(error.code)")
        let always: Set<CKError.Code> = [
            .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy,
            .serverResponseLost, .operationCancelled,
        ]
        let own: Set<CKError.Code> =
            switch step {
            case "save", "item", "batch", "operation", "grow", "family", "engine":
                [.serverRecordChanged, .unknownItem, .batchRequestFailed, .zoneNotFound]
            case "delete": [.zoneNotFound, .serverRecordChanged]
            case "fetch", "query", "follow": [.unknownItem, .zoneNotFound, .changeTokenExpired]
            case "share": [.serverRecordChanged, .unknownItem, .alreadyShared, .batchRequestFailed]
            case "zone": [.zoneNotFound, .serverRejectedRequest]
            case "subscribe": [.unknownItem, .zoneNotFound, .serverRejectedRequest]
            default: []
            }
        if always.contains(error.code) || own.contains(error.code) { return }
        // Its record has another one by now, and the time for which replaced files stay is short.
        if has(.operators), error.code == .assetNotAvailable, ["fetch", "query", "follow"].contains(step) { return }
        // The time for which uploaded files wait for their record is short, too, and disks fail for long.
        if has(.operators), error.code == .assetNotAvailable,
            ["save", "item", "batch", "operation", "engine"].contains(step)
        {
            return
        }
        if has(.tightLimits), error.code == .limitExceeded, ["batch", "operation", "family", "item"].contains(step) {
            return
        }
        if restoration.value == .open, Self.ofRestorations.contains(error.code) { return }
        if has(.fullDisks), error.code == .internalError, error.isForWantOfRoom { return }
        if has(.sessions), [.notAuthenticated, .accountTemporarilyUnavailable].contains(error.code) { return }
        if has(.endings), error.code == .quotaExceeded, place.scope != .public || step == "grow" { return }
        let ofEndings: Set<CKError.Code> = [.zoneNotFound, .userDeletedZone, .unknownItem, .changeTokenExpired]
        if mayHaveLostKeys(place), error.code == .internalError { return }
        // A server that remembers a session of before a reset answers its reads for some seconds, but no pages of changes.
        if has(.servers), place.scope == .private, keysReset.value.contains(place.owner),
            ["fetch", "query"].contains(step),
            error.code == .internalError
        {
            return
        }
        // The owner has other keys, and the user has not compared fingerprints yet.
        if place.scope == .shared, keysReset.value.contains(place.owner), error.code == .internalError,
            error.localizedDescription.contains("compare fingerprints")
        {
            return
        }
        if mayEnd(place), ofEndings.contains(error.code) { return }
        // The zone was made again, and its root was not yet.
        if mayEnd(place), place.root != nil, error.code == .referenceViolation { return }
        let ofMembers: Set<CKError.Code> = [.permissionFailure, .unknownItem, .zoneNotFound, .changeTokenExpired]
        if place.isContested, ofMembers.contains(error.code) { return }
        if !deletedName.value.isEmpty {
            if place.scope == .shared, ofMembers.contains(error.code) { return }
            // A later page that is asked for as the user who has come back.
            if step == "follow", error.code == .invalidArguments { return }
            // The invitation was for the account that was deleted.
            if step == "accept", error.code == .participantMayNeedVerification { return }
        }
        if error.code == .permissionFailure, place.writes != .all { return }
        // A record that was deleted since it was fetched is made again by a save without its parent, which did not change: outside of the share.
        if error.code == .permissionFailure, place.root != nil, place.scope == .shared,
            error.localizedDescription.contains("would not be in the share")
        {
            return
        }
        // Not its description, which has an address.
        violated("\(step) at \(place.owner)/\(place.zoneID.zoneName): \(error.code) \(error.localizedDescription)")
    }
}

extension CKError {
    /// Whether there was no room on the device's disk.
    var isForWantOfRoom: Bool {
        let cause = userInfo[NSUnderlyingErrorKey] as? NSError
        return cause?.domain == NSPOSIXErrorDomain && cause?.code == Int(ENOSPC)
    }
}
