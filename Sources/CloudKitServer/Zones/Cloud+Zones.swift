import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

extension Cloud {
    /// Creates and deletes zones, one after the other; each operation succeeds or fails on its own.
    ///
    /// Rules B-ZN-05 to B-ZN-12, B-LIM-06, B-LIM-11.
    ///
    /// - Returns: An outcome for each operation, in their order.
    package func modifyZones(
        _ operations: [ZoneOperation], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ZoneOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .writeZones)
        try checkCount(operations.count, caller)
        if place.scope == .shared { return try await modifySharedZones(operations, in: place) }
        try await registry.enter(place.partition)
        let now = serverEnvironment.now()
        if operations.contains(where: \.isDeletion) {
            try await registry.promiseWorkAnew(in: place.partition, now: now)
        }
        let limits = limits
        let sink = NoticeSink()
        let outcomes = try await store.write(place.partition) { transaction in
            sink.begin()
            var writing = ZoneWriting(header: try await transaction.databaseHeader(), now: now)
            var outcomes: [ZoneOutcome] = []
            for operation in operations {
                let outcome = try await writing.apply(operation, in: place, limits, &transaction)
                outcomes.append(outcome.sealed(by: tokens, in: place))
            }
            let notices = NoticeWriting(place: place, schema: Schema(), limits: limits, now: now, sink: sink)
            try await writing.writeNotices(notices, &transaction)
            if writing.isChanged { transaction.set(writing.header) }
            return outcomes
        }
        noticeBoard.tell(sink)
        return outcomes
    }

    /// Every zone of a database: the default zone first, then the custom ones by name (B-ZN-13).
    package func listZones(in address: DatabaseAddress, by caller: Caller) async throws -> [Zone] {
        let place = try DatabaseAccess.place(address, for: caller, to: .readZones)
        switch place.scope {
        case .public: return [ZoneHeader.implicitDefault.zone(in: place, tokens)]
        case .shared: return try await listSharedZones(in: place)
        case .private: break
        }
        let zones = try await store.read(place.partition) { view in
            try await view.zones(limit: .max)
        }
        let custom = zones.filter { $0.isCustom && $0.state == .live }
        let standard = zones.first(where: \.isDefaultZone) ?? .implicitDefault
        return ([standard] + custom).map { $0.zone(in: place, tokens) }
    }

    /// The zones asked for, each found or not on its own.
    package func lookupZones(
        _ ids: [ZoneID], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ZoneOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .readZones)
        try checkCount(ids.count, caller)
        if place.scope == .shared { return try await lookupSharedZones(ids, in: place) }
        let zones = try await store.read(place.partition) { view in
            try await view.zones(named: ids.map(\.zoneName))
        }
        return zip(ids, zones).map { id, zone in
            do throws(RequestFailure) {
                _ = try ZoneAccess.zoneName(of: id, in: place)
                return .zone(try ZoneAccess.live(zone).zone(in: place, tokens))
            } catch {
                return .failed(id, error)
            }
        }
    }

    /// Refuses more items than a request of this caller may have (B-LIM-01, B-LIM-03).
    func checkCount(_ count: Int, _ caller: Caller) throws(RequestFailure) {
        let max = caller.surface.itemsMax
        guard count <= max else {
            throw RequestFailure(
                .itemLimitExceeded,
                "Your request contains \(count) items which is more than the maximum number of items in a single "
                    + "request (\(max))", remedy: "Send the halves.")
        }
    }
}

extension ZoneHeader {
    /// The zone as answers carry it.
    func zone(in place: DatabasePlace, _ tokens: SyncTokenSeal) -> Zone {
        let id = place.zoneID(name)
        guard isCustom else { return Zone(id: id, capabilities: [], keyEpoch: keyEpoch) }
        let token = SyncToken.zone(number, at: latestVersion)
        return Zone(
            id: id, capabilities: .custom(encryptionScope), encryptionScope: encryptionScope,
            syncToken: tokens.seal(token, for: place.partition), keyEpoch: keyEpoch, share: zoneWideShare)
    }
}

/// Zones of one request on their way into the store.
private struct ZoneWriting {
    var header: DatabaseHeader
    let now: Int64
    var isChanged = false
    /// Zones that came or went, with the version of that.
    private var observed: [(name: String, version: UInt64)] = []
    /// What those will hear of with whom the zones were shared that went.
    private var sharedChanges: [SharedZoneChange] = []

    init(header: DatabaseHeader, now: Int64) {
        self.header = header
        self.now = now
    }

    /// What became of one operation, before tokens are made.
    enum Outcome {
        case zone(ZoneHeader)
        case deleted(ZoneID)
        case failed(ZoneID, RequestFailure)

        func sealed(by tokens: SyncTokenSeal, in place: DatabasePlace) -> ZoneOutcome {
            switch self {
            case .zone(let zone): .zone(zone.zone(in: place, tokens))
            case .deleted(let id): .deleted(id)
            case .failed(let id, let failure): .failed(id, failure)
            }
        }
    }

    mutating func apply(
        _ operation: ZoneOperation, in place: DatabasePlace, _ limits: Limits, _ transaction: inout StorageWriter
    ) async throws -> Outcome {
        let name: String
        do throws(RequestFailure) {
            name = try ZoneAccess.zoneName(of: operation.zoneID, in: place)
        } catch {
            return .failed(operation.zoneID, error)
        }
        let held = try await transaction.zone(named: name)
        switch decision(on: operation, held, in: place, limits) {
        case .create(let scope):
            return .zone(create(name, scope, in: &transaction, replacing: held))
        case .keep:
            return held.map(Outcome.zone) ?? .failed(operation.zoneID, .zoneNotFound)
        case .delete:
            if var held { try await end(&held, as: .deleted(.deleted), in: &transaction) }
            return .deleted(place.zoneID(name))
        case .acknowledge(let reason):
            if var held {
                // Other devices learn from the feed why the zone went; it went then, not now.
                held.state = .deleted(reason)
                transaction.set(held)
            }
            return .deleted(place.zoneID(name))
        case .raise(var zone):
            zone.beginKeyEpoch()
            transaction.set(zone)
            return .zone(zone)
        case .refuse(let failure):
            return .failed(operation.zoneID, failure)
        }
    }

    private func decision(
        on operation: ZoneOperation, _ held: ZoneHeader?, in place: DatabasePlace, _ limits: Limits
    ) -> ZoneDecision {
        switch operation {
        case .create(let id, let scope):
            ZoneDecision(
                creating: id, scope, held: held, zoneCount: Int(header.zoneCount), zonesMax: limits.zonesMax)
        case .delete(let id): ZoneDecision(deleting: id, held: held)
        case .raiseKeyEpoch(_, let epoch):
            ZoneDecision(raisingKeyEpochTo: epoch, held: held, surface: place.caller.surface)
        }
    }

    private mutating func create(
        _ name: String, _ scope: ZoneEncryptionScope, in transaction: inout StorageWriter, replacing held: ZoneHeader?
    ) -> ZoneHeader {
        isChanged = true
        let version = header.takeVersions(1)
        var zone = ZoneHeader(name: name, number: header.nextZoneNumber, since: now, encryptionScope: scope)
        zone.latestVersion = version
        zone.feedVersion = held?.feedVersion ?? 0
        zone.keyEpoch = held?.keyEpoch ?? header.keyEpochFloor
        transaction.moveInDatabaseFeed(&zone, to: version)
        transaction.set(zone)
        header.nextZoneNumber += 1
        header.zoneCount += 1
        observed.append((name, version))
        return zone
    }

    /// Ends a live zone: what it held is cleared, its header says why.
    mutating func end(
        _ zone: inout ZoneHeader, as state: ZoneHeader.State, in transaction: inout StorageWriter
    ) async throws {
        isChanged = true
        if zone.sharing != .none {
            var change = SharedZoneChange(zone: zone.number)
            change.users = Set(try await transaction.shareMembers(zone: zone.number).map(\.user))
            sharedChanges.append(change)
        }
        transaction.clearContents(ofZone: zone.number)
        header.zoneCount -= 1
        header.recordCount -= min(header.recordCount, zone.recordCount)
        header.recordBytes -= min(header.recordBytes, zone.recordBytes)
        zone.state = state
        zone.since = now
        zone.recordCount = 0
        zone.recordBytes = 0
        zone.clientChangeToken = nil
        // A later zone of this name shares nothing with those who had keys of this one (B-TM-05).
        if zone.sharing != .none { zone.beginKeyEpoch() }
        zone.sharing = .none
        let version = header.takeVersions(1)
        transaction.moveInDatabaseFeed(&zone, to: version)
        transaction.set(zone)
        observed.append((zone.name, version))
    }

    /// Decides who will be notified of the zones that came or went.
    mutating func writeNotices(_ notices: NoticeWriting, _ transaction: inout StorageWriter) async throws {
        for var change in sharedChanges {
            change.origin = notices.place.caller.deviceID
            transaction.set(change, &header)
        }
        guard header.subscriptionCount > 0 else { return }
        for (name, version) in observed {
            let commit = NoticeDecision.Commit(
                zoneName: name, isCustomZone: true, changes: [], isZoneChange: true, version: version)
            try await notices.write(commit, database: &header, &transaction)
        }
    }
}

// MARK: What the operator, on behalf of a user, does to zones

extension Cloud {
    /// Removes a zone with the app's data, as when the user does so in the settings (B-ZN-10): until a client deletes or
    /// saves the zone, whatever uses it fails with `zonePurged`.
    package func purgeZone(
        _ name: String, of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        try await end(name, of: user, in: container, environment, as: .purged)
    }

    /// Removes a zone the keys of which were lost (B-ZN-12).
    package func resetKeys(
        ofZone name: String, of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        try await end(name, of: user, in: container, environment, as: .keysReset)
    }

    /// Removes every custom zone that may hold what lost keys sealed (B-ZN-12), and begins a key epoch in the default zone; where
    /// the schema has nothing that is sealed, zones stay and begin anew with keys.
    ///
    /// - Parameter reset: Of the user's keychain, after which nothing is done that is not due any more; nil: an operator's order.
    /// - Returns: How many zones it concerned.
    @discardableResult
    func resetKeys(
        ofZonesOf user: UserID, in container: ContainerID, _ environment: Environment, for reset: KeyReset? = nil
    ) async throws -> Int {
        let schema = try await schemas.current(.schema(container, environment))
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        guard let place = DatabasePlace(partition: partition) else { return 0 }
        guard schema.hasSealedValues else { return try await renewKeys(in: place, for: reset) }
        let now = serverEnvironment.now()
        let limits = limits
        let sink = NoticeSink()
        try await registry.promiseWorkAnew(in: partition, now: now)
        let count = try await store.write([partition, keyResetBook]) { transaction in
            sink.begin()
            guard try await isDue(reset, transaction) else { return 0 }
            let zones = try await transaction.zones(limit: .max).filter { $0.state == .live && $0.recordCount > 0 }
            guard !zones.isEmpty else { return 0 }
            var writing = ZoneWriting(header: try await transaction.databaseHeader(), now: now)
            for var zone in zones {
                if zone.isCustom {
                    try await writing.end(&zone, as: .keysReset, in: &transaction)
                } else {
                    // A record's old sealed values cannot stay beside new ones.
                    zone.beginKeyEpoch()
                    transaction.set(zone)
                }
            }
            let notices = NoticeWriting(place: place, schema: Schema(), limits: limits, now: now, sink: sink)
            try await writing.writeNotices(notices, &transaction)
            if writing.isChanged { transaction.set(writing.header) }
            return zones.count
        }
        noticeBoard.tell(sink)
        return count
    }

    private func end(
        _ name: String, of user: UserID, in container: ContainerID, _ environment: Environment,
        as state: ZoneHeader.State
    ) async throws {
        let now = serverEnvironment.now()
        let limits = limits
        let sink = NoticeSink()
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        guard let place = DatabasePlace(partition: partition) else { throw RequestFailure.zoneNotFound }
        try await registry.promiseWorkAnew(in: partition, now: now)
        try await store.write(partition) { transaction in
            sink.begin()
            var zone = try ZoneAccess.live(try await transaction.zone(named: name))
            guard zone.isCustom else { throw RequestFailure(.badRequest, "The default zone cannot be deleted") }
            var writing = ZoneWriting(header: try await transaction.databaseHeader(), now: now)
            try await writing.end(&zone, as: state, in: &transaction)
            let notices = NoticeWriting(place: place, schema: Schema(), limits: limits, now: now, sink: sink)
            try await writing.writeNotices(notices, &transaction)
            transaction.set(writing.header)
        }
        noticeBoard.tell(sink)
    }
}
