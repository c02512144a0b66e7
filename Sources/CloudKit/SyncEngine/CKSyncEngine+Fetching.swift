import CloudKitClient
import CloudKitModel
import Foundation

extension CKSyncEngine {
    /// One fetch from the first event to the last. From a cloud that was restored it fetches after a send, which offers again what the cloud
    /// lost (B-SYN-17).
    func fetch(_ context: FetchChangesContext) async throws {
        try await checkAccount()
        await subscribe()
        guard let moment = try await fetchUnlessRestored(context) else { return }
        try await offerAgain(since: moment, context)
        _ = try await fetchUnlessRestored(context, startsOver: true)
    }

    /// - Parameter startsOver: Whether the database's feed is read from the beginning.
    /// - Returns: The time of the state to which the cloud was restored since the last fetch, if it was: then nothing was fetched.
    private func fetchUnlessRestored(
        _ context: FetchChangesContext, startsOver: Bool = false
    ) async throws -> Int64? {
        await post(.willFetchChanges(Event.WillFetchChanges(context: context)))
        let result = await Result(catching: { () async throws(CKError) in
            try await fetchAll(context, startsOver: startsOver)
        })
        await post(.didFetchChanges(Event.DidFetchChanges(context: context)))
        return try result.get()
    }

    private func fetchAll(_ context: FetchChangesContext, startsOver: Bool) async throws(CKError) -> Int64? {
        if let moment = try await fetchDatabaseChanges(context, startsOver: startsOver) { return moment }
        // First what a feed that is read from the beginning does not report (B-CHG-08).
        let outcome = await Result(catching: { () async throws(CKError) in try await fetchZones(context) })
        guard await beginWithheldZones() else {
            try outcome.get()
            return nil
        }
        try await fetchZones(context)
        return nil
    }

    /// Begins again with the zones of which the app did not get all records before the user accepted the state of a restored cloud, or before
    /// new keys came.
    ///
    /// - Returns: Whether there are some.
    private func beginWithheldZones() async -> Bool {
        let isAccepted = !database.connection.cloud.hasOpenRestoration
        let zones = state.value.withholdingZones(isAccepted: isAccepted)
        guard !zones.isEmpty else { return false }
        for zone in zones {
            await post(.willFetchRecordZoneChanges(Event.WillFetchRecordZoneChanges(zoneID: zone)))
            let error = CKError.failure(
                .changeTokenExpired, reason: "Records of the zone can be read that could not be read before",
                remedy: "What does not come again is gone")
            await post(
                .didFetchRecordZoneChanges(Event.DidFetchRecordZoneChanges(zoneID: zone, error: error)),
                then: { state in
                    state.readAgain(zone)
                    return true
                })
        }
        return true
    }

    // MARK: Which zones have changed

    /// - Returns: The time of the state to which the cloud was restored since the last fetch, if it was.
    private func fetchDatabaseChanges(
        _ context: FetchChangesContext, startsOver: Bool
    ) async throws(CKError) -> Int64? {
        // The state keeps the old token until a page has come: an engine that dies offers its changes again.
        var token = startsOver ? nil : state.value.databaseToken
        // Read from the beginning, the feed does not report deleted zones (B-CHG-08): a zone that it does not name was
        // deleted.
        var unseen = token == nil ? Set(state.value.zones.keys) : []
        while true {
            let options = await nextOptions(context)
            do {
                let page = try await verifiedDatabase(options.operationGroup).databaseChanges(
                    since: token.map { CKServerChangeToken($0) })
                if token == nil, !startsOver, let moment = momentOfUnreadRestoration { return moment }
                unseen.subtract(page.modifications.map(\.zoneID))
                unseen.subtract(page.deletions.map(\.zoneID))
                // A zone that a restored cloud lost was not deleted by anyone.
                if startsOver { unseen.subtract(state.value.zonesToMake) }
                // It has no entry in the feed (B-CHG-04).
                unseen.remove(.default)
                let gone = page.moreComing ? [] : unseen.sorted { $0.zoneName < $1.zoneName }
                await report(
                    page.modifications, page.deletions + gone.map { .init(zoneID: $0, reason: .deleted) },
                    token: page.changeToken.token)
                token = page.changeToken.token
                guard page.moreComing else { return nil }
            } catch {
                let error = CKError.any(error)
                guard error.code == .changeTokenExpired, token != nil else { throw error }
                if let moment = error.restoredTo { return moment }
                token = nil
                unseen = Set(state.value.zones.keys)
            }
        }
    }

    private func report(
        _ modifications: [CKDatabase.DatabaseChange.Modification], _ deletions: [CKDatabase.DatabaseChange.Deletion],
        token: String
    ) async {
        let isEmpty = modifications.isEmpty && deletions.isEmpty
        await post(
            isEmpty
                ? nil
                : .fetchedDatabaseChanges(
                    Event.FetchedDatabaseChanges(modifications: modifications, deletions: deletions)),
            then: {
                $0.noteDatabaseChanges(
                    modified: modifications.map(\.zoneID), deleted: deletions.map(\.zoneID), token: token)
            })
    }

    // MARK: Which records have changed

    /// Fetches every zone with news; one that fails does not stop the others (B-CHG-13).
    private func fetchZones(_ context: FetchChangesContext) async throws(CKError) {
        var done: Set<CKRecordZone.ID> = []
        var errors: [AnyHashable: any Error] = [:]
        while true {
            let options = await nextOptions(context)
            guard let zone = state.value.zonesToFetch(options, except: done).first else { break }
            done.insert(zone)
            guard let error = await fetch(zone, context) else { continue }
            if error.endsSync { throw error }
            errors[zone] = error
        }
        if !errors.isEmpty { throw CKError.partialFailure(errors, operation: "fetch some record zone changes") }
    }

    /// Fetches one zone, twice if its token has expired.
    ///
    /// - Returns: Why the zone was not fetched.
    private func fetch(_ zone: CKRecordZone.ID, _ context: FetchChangesContext) async -> CKError? {
        while true {
            await post(.willFetchRecordZoneChanges(Event.WillFetchRecordZoneChanges(zoneID: zone)))
            let hadToken = state.value.zones[zone]?.token != nil
            var undelivered: [AnyHashable: any Error] = [:]
            var failure: CKError?
            do throws(CKError) {
                try await fetchPages(of: zone, context, &undelivered)
            } catch {
                failure = error
            }
            let isExpired = failure?.code == .changeTokenExpired && hadToken
            let isGone = failure?.code == .zoneNotFound || failure?.code == .userDeletedZone
            let reported = failure ?? CKError.partial(undelivered, operation: "fetch some records")
            let moment = isExpired ? failure?.restoredTo : nil
            await post(
                .didFetchRecordZoneChanges(Event.DidFetchRecordZoneChanges(zoneID: zone, error: reported)),
                then: { state in
                    if let moment, state.zones[zone]?.restoration == nil { state.offerAgain(since: moment, in: zone) }
                    if isExpired { state.forgetToken(of: zone) }
                    if isGone { state.setAside(zone) }
                    return isExpired || isGone
                })
            guard isExpired else { return isGone ? nil : failure }
        }
    }

    private func fetchPages(
        of zone: CKRecordZone.ID, _ context: FetchChangesContext, _ undelivered: inout [AnyHashable: any Error]
    ) async throws(CKError) {
        // Before the first page the question was which zone; from then on it is how to go on.
        var options = context.options
        var ahead: SealedChanges?
        var fetchesAhead = true
        var unreported = 0
        while true {
            do {
                let token = state.value.zones[zone]?.token
                let requests = verifiedDatabase(options.operationGroup).requests()
                if ahead?.previousToken != token { ahead = nil }
                let page: SealedChanges
                if let ahead {
                    page = ahead
                } else {
                    page = try await requests.sealedChanges(
                        ZoneChangesRequest(zoneID: zone.model, syncToken: token))
                }
                // The next page comes while this one is opened and handled. It is compared with what this device knew before it was
                // asked for.
                let later = fetchesAhead ? verifiedDatabase(options.operationGroup).requests() : nil
                async let following = later?.sealedChanges(after: page)
                let opened = try await requests.opened(page)
                var changes = ReportedChanges()
                for event in try await requests.withFiles(opened.events) {
                    // A record is reported only here: with its files, once there is room for them.
                    if let failure = event.failureForWantOfRoom { throw failure }
                    changes.add(event, in: zone)
                }
                undelivered.merge(changes.errors) { $1 }
                unreported += opened.events.count
                let isLast = !page.moreComing
                let isReported = isLast || unreported * Self.entriesPerRecord >= state.value.entryCount
                if isReported { unreported = 0 }
                // Until the user has accepted its state, a restored cloud has records that this device does not take.
                let withholds = !changes.errors.isEmpty && database.connection.cloud.hasOpenRestoration
                await report(
                    changes.modifications.oldestFirst, changes.deletions, lost: changes.lost, withholds: withholds,
                    page: opened, in: zone, isLast: isLast, reportsState: isReported)
                if isLast { return }
                let group = options.operationGroup
                options = await nextOptions(context)
                // A delegate with another group for each request has it so.
                fetchesAhead = fetchesAhead && options.operationGroup === group
                ahead = fetchesAhead ? try await following : nil
                if let next = ahead, next.repeats(page) { ahead = nil }
            } catch {
                throw CKError.any(error)
            }
        }
    }

    /// The entries of a state that are stored for each fetched record, at most: a state that remembers many is not stored with each
    /// page, but when as much as it covers has come again.
    private static let entriesPerRecord = 2

    /// The changes of a page, as the delegate gets them.
    private struct ReportedChanges {
        var modifications: [CKDatabase.RecordZoneChange.Modification] = []
        var deletions: [CKDatabase.RecordZoneChange.Deletion] = []
        /// The failures of records that cannot be shown.
        var errors: [AnyHashable: any Error] = [:]
        /// The records whose newer version the cloud has lost.
        var lost: [CKRecord.ID] { lostIDs.sorted { $0.recordName < $1.recordName } }
        private var lostIDs: [CKRecord.ID] = []

        mutating func add(_ event: OpenedChanges.Event, in zone: CKRecordZone.ID) {
            switch event {
            case .changed(let item):
                switch item.asRecord() {
                case .success(let record): modifications.append(.init(record: record))
                case .failure(let error):
                    let id = CKRecord.ID(item.id)
                    errors[id] = error
                    if CKError.any(error).isOfLostVersion { lostIDs.append(id) }
                }
            case .deleted(let tombstone): deletions.append(.init(tombstone, in: zone))
            }
        }
    }

    /// - Parameters:
    ///   - lost: The records whose newer version the cloud has lost, which the app is asked for.
    ///   - withholds: Whether the page has records that the app does not get before the user has accepted the state of a restored cloud.
    ///   - page: The page as it was opened.
    ///   - reportsState: Whether the delegate gets the state to store after the page.
    private func report(
        _ modifications: [CKDatabase.RecordZoneChange.Modification],
        _ deletions: [CKDatabase.RecordZoneChange.Deletion], lost: [CKRecord.ID], withholds: Bool,
        page: OpenedChanges, in zone: CKRecordZone.ID, isLast: Bool, reportsState: Bool
    ) async {
        let saved = modifications.map { ($0.record.recordID.recordName, $0.record.modificationTime ?? 0) }
        let deleted = deletions.map(\.recordID.recordName)
        let missed = isLast ? missedDeletions(zone, besides: Set(saved.map(\.0) + deleted)) : []
        let deletions = deletions + missed
        // What a restored cloud has again although this device had deleted it.
        let restoration = state.value.zones[zone]?.restoration
        let again = modifications.map(\.record).filter {
            restoration?.isDeleted($0.recordID.recordName, changed: $0.modificationTime) ?? false
        }.map(\.recordID)
        let modifications = again.isEmpty ? modifications : modifications.filter { !again.contains($0.record.recordID) }
        let isEmpty = modifications.isEmpty && deletions.isEmpty
        let now = now
        await post(
            isEmpty
                ? nil
                : .fetchedRecordZoneChanges(
                    Event.FetchedRecordZoneChanges(modifications: modifications, deletions: deletions)),
            then: { state in
                let isOffered = state.offerAgain(lost)
                if withholds { state.withhold(in: zone) }
                if let keys = page.keys { state.note(keys, in: zone) }
                let isDeletedAgain = state.add(again.map { .deleteRecord($0) })
                let isNew = state.noteZoneChanges(
                    zone, saved: saved, deleted: deleted, token: page.syncToken, isLast: isLast, now: now)
                return isNew || isOffered || isDeletedAgain
            },
            reportsState: reportsState || !lost.isEmpty || withholds || !again.isEmpty
                || page.keys?.areAwaited == true)
        if !again.isEmpty || !lost.isEmpty { automation?.wantSend() }
    }

    /// Returns the records that this engine saved, that other devices deleted, and that a feed read from the beginning
    /// does not report (B-CHG-08).
    private func missedDeletions(
        _ zone: CKRecordZone.ID, besides reported: Set<String>
    ) -> [CKDatabase.RecordZoneChange.Deletion] {
        (state.value.zones[zone]?.savedUnread ?? [:]).filter { !reported.contains($0.key) }
            .sorted { $0.key < $1.key }
            .map { .init(recordID: CKRecord.ID(named: $0.key, in: zone), recordType: $0.value) }
    }

    /// Asks the delegate for the options of the next request (B-SYN-13).
    private func nextOptions(_ context: FetchChangesContext) async -> FetchChangesOptions {
        await events.withLock {
            await asking { await $0.nextFetchChangesOptions(context, syncEngine: self) }
        } ?? context.options
    }
}

extension CKError {
    /// A Boolean value that indicates whether the next request would fail in the same way.
    var endsSync: Bool {
        switch code {
        // The files of another zone may have room.
        case .zoneBusy, .internalError: false
        default: SendFailureHandling(self) == .retry
        }
    }
}

extension [CKDatabase.RecordZoneChange.Modification] {
    /// The usual order of a feed (B-CHG-14).
    fileprivate var oldestFirst: Self {
        map { ($0.record.modificationDate ?? .distantPast, $0.record.recordID.recordName, $0) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
            .map(\.2)
    }
}

extension Result where Failure == CKError {
    init(catching body: nonisolated(nonsending) () async throws(CKError) -> Success) async {
        do throws(CKError) {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
