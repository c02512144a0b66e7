import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Zones of one request on their way into the store.
struct ZoneWriter {
    var header: DatabaseHeader
    let now: Int64
    var isChanged = false
    /// Zones that came or went, with the version of that.
    private var observed: [(name: String, version: UInt64)] = []
    /// The changes as the members of deleted shared zones will be notified of them.
    private var sharedChanges: [SharedZoneChange] = []

    init(header: DatabaseHeader, now: Int64) {
        self.header = header
        self.now = now
    }

    /// The outcome of one operation, before tokens are made.
    enum Outcome {
        case zone(ZoneHeader)
        case deleted(ZoneID)
        case failed(ZoneID, RequestFailure)

        var isFailure: Bool { if case .failed = self { true } else { false } }

        func sealed(by tokens: SyncTokenSeal, in place: DatabaseContext) -> ZoneOutcome {
            switch self {
            case .zone(let zone): .zone(zone.zone(in: place, tokens))
            case .deleted(let id): .deleted(id)
            case .failed(let id, let failure): .failed(id, failure)
            }
        }
    }

    mutating func apply(
        _ operation: ZoneOperation, in place: DatabaseContext, limits: Limits, _ transaction: inout StorageWriter
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
        case .isAbsent:
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

    /// Returns the outcome of an operation that took effect when its request was sent before (B-THR-07).
    ///
    /// A zone that others have deleted since is not made again, and one that they have made is not deleted.
    func repeated(
        _ operation: ZoneOperation, in place: DatabaseContext, _ view: StorageWriter
    ) async throws -> Outcome {
        if operation.isDeletion { return .deleted(place.zoneID(operation.zoneID.zoneName)) }
        guard let zone = try await view.zone(named: operation.zoneID.zoneName), zone.state == .live else {
            return .failed(operation.zoneID, .zoneNotFound)
        }
        return .zone(zone)
    }

    private func decision(
        on operation: ZoneOperation, _ held: ZoneHeader?, in place: DatabaseContext, _ limits: Limits
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
        if let held { zone.take(placeOf: held, now: now) }
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
        // A later zone of this name shares nothing with the holders of this one's keys (B-TM-05).
        if zone.sharing != .none { zone.beginKeyEpoch() }
        zone.sharing = .none
        let version = header.takeVersions(1)
        transaction.moveInDatabaseFeed(&zone, to: version)
        transaction.set(zone)
        observed.append((zone.name, version))
    }

    /// Decides who will be notified of the zones that came or went.
    mutating func writeNotifications(_ pendingNotifications: NotificationWriter, _ transaction: inout StorageWriter)
        async throws
    {
        for var change in sharedChanges {
            change.origin = pendingNotifications.place.caller.deviceID
            transaction.set(change, &header)
        }
        guard header.subscriptionCount > 0 else { return }
        for (name, version) in observed {
            let commit = NotificationMatcher.Commit(
                zoneName: name, isCustomZone: true, changes: [], isZoneChange: true, version: version)
            try await pendingNotifications.write(commit, database: &header, &transaction)
        }
    }
}
