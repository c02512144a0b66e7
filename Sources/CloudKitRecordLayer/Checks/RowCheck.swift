import CloudKitModel
import OrderedStore

/// A row that is not what it has to be.
package struct RowFinding: Hashable, Sendable {
    /// The kind of the row, such as `record`.
    package let kind: String
    /// The zone's number and the name of a record or file, as far as they are known; never the value of a field.
    package let place: String
    /// A fixed sentence.
    package let problem: String

    /// Creates a finding.
    package init(kind: String, place: String, problem: String) {
        self.kind = kind
        self.place = place
        self.problem = problem
    }

    init(_ subspace: Subspace, _ place: String, _ problem: String) {
        self.init(kind: String(describing: subspace), place: place, problem: problem)
    }

    /// The finding for a key of no known kind.
    package static let unknownKind = RowFinding(
        kind: "unknown", place: "a key", problem: "the kind of the row is unknown")
    /// The problem of a value that cannot be decoded.
    package static let malformedValue = "the value is not of its kind's form"
    /// The problem of a row whose damage shows in another one.
    package static let damagedNeighbour = "a row that belongs to it is damaged"
}

/// A file that a row says is there.
package struct ExpectedFile: Hashable, Sendable {
    /// The file.
    package let id: AssetFileID
    /// Bytes.
    package let size: Int64
    /// The checksum by which web services name the file.
    package let checksum: String
}

/// Checks the rows of one database against each other, row by row, in one state of the store.
///
/// Each row is read once, and others that it points to by their keys; what is held in memory grows with the zones only.
package struct RowCheck: Sendable {
    /// The number of rows checked so far.
    package private(set) var rowCount = 0
    /// The file of the row that was checked last, if it names one.
    package private(set) var file: ExpectedFile?
    private var findings: [RowFinding] = []
    private var header = DatabaseHeader()
    private(set) var zones: [UInt32: ZoneHeader] = [:]
    private var recordCounts: [UInt32: UInt64] = [:]
    /// Bytes of assets by zone: as they are counted, and as their references add up.
    var assetBytes: [UInt32: UInt64] = [:]
    private var referencedBytes: [UInt32: UInt64] = [:]
    var subscriptionCount = 0
    /// The numbers of the zones' shares. Rows of the feeds of shares that have ended may stay; no read comes to them.
    var shares: [UInt32: Set<UInt64>] = [:]
    var queue: NotificationQueueHeader?
    var notificationCount = 0
    var joinedVersion: UInt64 = 0

    /// Creates the check of a database without rows.
    package init() {}

    /// Checks a row.
    ///
    /// - Returns: Problems of the row; a value without any is decoded and agrees with the rows that it points to.
    package mutating func check(_ key: [UInt8], _ value: [UInt8], _ view: ReadTransaction) async throws -> [RowFinding]
    {
        findings = []
        file = nil
        rowCount += 1
        guard let subspace = key.first.flatMap(Subspace.init(rawValue:)) else {
            return [.unknownKind]
        }
        do {
            try await check(Entry(key: key, value: value), in: subspace, view)
        } catch is DamagedValue {
            note(subspace, Self.place(key, in: subspace), RowFinding.malformedValue)
        } catch let error as StoreError where error.code == .corrupt {
            note(subspace, "a key", "the key is not of its kind's form")
        } catch let error as StoreError where error.code == .damagedValue {
            note(subspace, Self.place(key, in: subspace), "a row that it points to is damaged")
        }
        return findings
    }

    /// Compares the counters with the rows that were checked. Called after the last row.
    package func finish() -> [RowFinding] {
        var findings: [RowFinding] = []
        for (number, zone) in zones.sorted(by: { $0.key < $1.key }) where zone.state == .live {
            if zone.recordCount != recordCounts[number] ?? 0 {
                findings.append(
                    RowFinding(
                        .zone, "zone \(number)",
                        "it counts \(zone.recordCount) records and holds \(recordCounts[number] ?? 0)"))
            }
            if zone.latestVersion > header.version {
                findings.append(RowFinding(.zone, "zone \(number)", "it has a later version than its database"))
            }
        }
        for (number, zone) in zones.sorted(by: { $0.key < $1.key }) where zone.state == .live {
            let counted = assetBytes[number] ?? 0
            if counted != referencedBytes[number] ?? 0 {
                findings.append(
                    RowFinding(
                        .assetBytes, "zone \(number)",
                        "it counts \(counted) bytes of assets and refers to \(referencedBytes[number] ?? 0)"))
            }
        }
        let count = recordCounts.values.reduce(0, +)
        if header.recordCount != count {
            findings.append(
                RowFinding(
                    .databaseHeader, "the database", "it counts \(header.recordCount) records and holds \(count)"))
        }
        if Int(header.subscriptionCount) != subscriptionCount {
            findings.append(
                RowFinding(
                    .databaseHeader, "the database",
                    "it counts \(header.subscriptionCount) subscriptions and holds \(subscriptionCount)"))
        }
        if Int(queue?.count ?? 0) != notificationCount {
            findings.append(
                RowFinding(
                    .notificationQueue, "the queue",
                    "it counts \(queue?.count ?? 0) notifications and holds \(notificationCount)"))
        }
        return findings
    }

    mutating func note(_ subspace: Subspace, _ place: String, _ problem: String) {
        findings.append(RowFinding(subspace, place, problem))
    }

    /// The zone number of a key, as far as it can be read.
    private static func place(_ key: [UInt8], in subspace: Subspace) -> String {
        var reader = KeyReader(key, in: subspace)
        guard subspace.isZoned, let zone = try? reader.readInteger() else { return "the database" }
        guard subspace == .record, let name = try? reader.readString() else { return "zone \(zone)" }
        return "zone \(zone), record \(name)"
    }
}

extension RowCheck {
    private mutating func check(_ entry: Entry, in subspace: Subspace, _ view: ReadTransaction) async throws {
        switch subspace {
        case .databaseHeader: header = try DatabaseHeader(decoding: entry.value)
        case .zone: try await checkZone(entry, view)
        case .databaseFeed: try await checkDatabaseFeed(entry, view)
        case .record: try await checkRecord(entry, view)
        case .feed: try await checkFeed(entry, view)
        case .backReference: try await checkBackReference(entry, view)
        case .index: try await checkIndex(entry, view)
        case .rememberedRequest: _ = try RememberedRequest(decoding: entry.value)
        case .rememberedRequestPeriod: _ = try RequestMemory.period(decoding: entry.value)
        case .zoneState: _ = try StoredZoneState(entry)
        case .asset: try checkAsset(entry)
        case .assetReference: try await checkAssetReference(entry, view)
        case .share: try await checkShare(entry, view)
        case .shareMember: try await checkShareMember(entry, view)
        case .shareMembership: try await checkShareMembership(entry, view)
        case .shareFeed: try await checkShareFeed(entry, view)
        case .shareLeaving: try await checkShareLeaving(entry, view)
        case .shareLoss: _ = try ShareLoss(entry)
        case .shareKey: try checkShareKey(entry)
        case .zoneShareGUID: try checkZoneShareGUID(entry)
        case .ownerCount: try await checkOwnerCount(entry, view)
        case .assetBytes: try checkAssetBytes(entry)
        case .joinedHeader: joinedVersion = try JoinedHeader(decoding: entry.value).version
        case .joinedZone: try await checkJoinedZone(entry, view)
        case .joinedFeed: try await checkJoinedFeed(entry, view)
        case .outbox: _ = try CascadeJob(entry)
        case .subscription: try await checkSubscription(entry, view)
        case .subscribedType: try await checkSubscribedType(entry, view)
        case .crossPartitionNotification: _ = try CrossPartitionNotification(entry)
        case .deliveredVersion: _ = try CrossPartitionNotification.delivered(entry.value)
        case .notificationQueue: queue = try NotificationQueueHeader(decoding: entry.value)
        case .notification: try await checkNotification(entry, view)
        case .notificationKey: try await checkNotificationKey(entry, view)
        case .pushToken: try await checkPushToken(entry, view)
        case .recordType, .schemaVersion, .schemaRole, .knownPartition, .pendingOutbox, .pushedPartition,
            .newlyPushedPartition, .shareDirectory:
            note(subspace, "the database", "a row of this kind is not a database's")
        }
    }

    private mutating func checkZone(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .zone)
        let zone = try ZoneHeader(name: key.readString(), decoding: entry.value)
        zones[zone.number] = zone
        guard zone.feedVersion != 0 else { return }
        let feed = try await view.get(DatabaseFeedEntry.key(zone.feedVersion))
        if feed != Bytes(zone.name.utf8) {
            note(.zone, "zone \(zone.number)", "it has no entry in the feed of its database")
        }
    }

    private mutating func checkDatabaseFeed(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .databaseFeed)
        let version = try key.readVersion()
        let name = String(decoding: entry.value, as: UTF8.self)
        let zone = try await view.get(ZoneHeader.key(named: name)).map { try ZoneHeader(name: name, decoding: $0) }
        if zone?.feedVersion != version {
            note(.databaseFeed, "version \(version)", "no zone has its last change there")
        }
    }

    private mutating func checkRecord(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .record)
        guard let zone = UInt32(exactly: try key.readInteger()) else { throw DamagedValue(.record) }
        let record = try StoredRecord(name: key.readString(), decoding: entry.value)
        _ = try record.fields()
        let place = "zone \(zone), record \(record.name)"
        if record.feedVersion != 0 {
            let feed = try await view.get(FeedEntry.key(zone: zone, version: record.feedVersion))
                .map { try FeedEntry(version: record.feedVersion, value: $0) }
            if feed?.recordName != record.name || feed?.isTombstone != record.isTombstone {
                note(.record, place, "it has no entry in the feed of its zone")
            }
        }
        if record.isTombstone { return }
        recordCounts[zone, default: 0] += 1
        if try await view.get(IndexEntries.extent(of: record, under: IndexKey.zonePrefix(zone))) == nil {
            note(.record, place, "it is missing in the index of its type")
        }
    }

    private mutating func checkFeed(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .feed)
        guard let zone = UInt32(exactly: try key.readInteger()) else { throw DamagedValue(.feed) }
        let feed = try FeedEntry(entry)
        let record = try await record(feed.recordName, zone, view)
        if record?.feedVersion != feed.version {
            note(.feed, "zone \(zone), version \(feed.version)", "no record has its last change there")
        }
    }

    private mutating func checkBackReference(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .backReference)
        guard let zone = UInt32(exactly: try key.readInteger()) else { throw DamagedValue(.backReference) }
        let reference = try BackReference(entry)
        if try await record(reference.holder, zone, view)?.isTombstone ?? true {
            note(
                .backReference, "zone \(zone), record \(reference.holder)",
                "the record that holds the reference is missing")
        }
    }

    private mutating func checkIndex(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .index)
        guard let zone = UInt32(exactly: try key.readInteger()) else { throw DamagedValue(.index) }
        let type = try key.readString()
        guard let kind = IndexKey.Kind(rawValue: try key.readInteger()) else { throw DamagedValue(.index) }
        if kind != .extent { _ = try key.readString() }
        let hit = try IndexKey.read(entry.key, after: entry.key.count - key.rest.count, kind: kind)
        let record = try await record(hit.recordName, zone, view)
        if record?.isTombstone ?? true || record?.recordType != type {
            note(.index, "zone \(zone), record \(hit.recordName)", "an index of \(type) names a record that is missing")
        }
    }

    private mutating func checkAsset(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .asset)
        guard let id = AssetFileID(name: try key.readString()) else { throw DamagedValue(.asset) }
        let asset = try StoredAsset(id, decoding: entry.value)
        file = ExpectedFile(id: id, size: asset.size, checksum: asset.fileChecksum)
    }

    private mutating func checkAssetReference(_ entry: Entry, _ view: ReadTransaction) async throws {
        let reference = try AssetReference(entry)
        // The references of a deleted zone stay.
        guard zones[reference.zone]?.state == .live || reference.zone == DatabaseHeader.defaultZone else { return }
        let place = "zone \(reference.zone), record \(reference.recordName)"
        if try await record(reference.recordName, reference.zone, view)?.isTombstone ?? true {
            note(.assetReference, place, "the record that holds the asset is missing")
        } else if let asset = try await view.assets([reference.id])[0] {
            referencedBytes[reference.zone, default: 0] += UInt64(clamping: asset.size)
        } else {
            note(.assetReference, place, "the asset \(reference.id.name) is missing")
        }
    }

    private mutating func checkShare(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .share)
        guard let zone = UInt32(exactly: try key.readInteger()) else { throw DamagedValue(.share) }
        let share = try StoredShare(name: key.readString(), decoding: entry.value)
        if try await record(share.name, zone, view)?.isTombstone ?? true {
            note(.share, "zone \(zone), record \(share.name)", "the record of the share is missing")
        }
        shares[zone, default: []].insert(share.number)
        try await checkMembers(of: share, zone, view)
    }

    func record(_ name: String, _ zone: UInt32, _ view: ReadTransaction) async throws -> StoredRecord? {
        try await view.get(StoredRecord.key(zone: zone, name: name)).map { try StoredRecord(name: name, decoding: $0) }
    }
}
