import CloudKitModel
import CloudKitRecordLayer

/// One page of a zone's feed as a member reads it: the feeds of the trees that the member accepted, merged by version
/// (B-SHF-03 to B-SHF-06).
///
/// Accepting a share has a version of its own; all records that the share held then have that one position in the
/// merged feed, and so do all records that were lost with a share. A token therefore also says how far it went within
/// such a position. Only the entries that are returned are read, whatever else the zone holds.
struct MemberFeed {
    private let request: ZoneChangesRequest
    private let place: DatabaseContext
    private let tokens: SyncTokenSeal
    private let sent: SentSyncToken?
    private let access: CallerAccess
    private let member: ShareMember
    /// The newest version of the owner's database: everything up to it is reported when a page is not full.
    private let newest: UInt64
    private var position: Position
    private let baseline: UInt64
    private let isCaughtUp: Bool
    private var page: FeedPage

    /// The position up to which the feed was read: everything before `version`, and of the entries at it those up to `within`.
    private struct Position {
        var version: UInt64
        /// 0: all records at `version`.
        var within: UInt64
    }

    /// A position of the feed that many records share.
    private enum Block {
        /// The records of a share when it was accepted.
        case joined(ShareMember.Slot)
        /// The records that were lost with a share.
        case lost(UInt64)

        var version: UInt64 {
            switch self {
            case .joined(let slot): slot.joined
            case .lost(let version): version
            }
        }
    }

    /// - Throws: `zoneNotFound` for a non-member; `changeTokenExpired` for a token of an earlier stay
    ///   (B-CHG-09, B-CHG-10); `badRequest` for a token of another kind, or a reversed feed.
    init(
        _ request: ZoneChangesRequest, in place: DatabaseContext, tokens: SyncTokenSeal, limits: Limits, bytesLeft: Int,
        _ view: StorageReader
    ) async throws {
        let name = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        let headers = try await view.headers(zoneNamed: name)
        access = try await CallerAccess(headers.zone, in: place, view)
        guard let member = access.member else { throw RequestFailure.zoneNotFound }
        self.member = member
        self.request = request
        self.place = place
        self.tokens = tokens
        newest = headers.database.version
        if request.reverse {
            throw RequestFailure(
                .badRequest, "the feed of a shared zone is read forward only", remedy: "Leave out 'reverse'.")
        }
        isCaughtUp = request.syncToken == ""
        sent = try tokens.openSent(request.syncToken, for: place.tokenPartition, kinds: [.member])
        if let token = sent?.token {
            if token.zone == access.zone.number, max(token.version, token.baseline) > newest {
                throw RequestFailure.tokenAhead
            }
            guard Self.isCurrent(token, zone: access.zone, member: member, newest: newest) else {
                throw RequestFailure.tokenExpired
            }
            position = Position(version: token.version, within: token.floor)
            baseline = token.baseline
        } else {
            position = Position(version: 0, within: 0)
            baseline = newest
        }
        page = FeedPage(
            of: request, by: place.caller, limits: limits, silentDeletions: baseline, bytesLeft: bytesLeft)
    }

    private static func isCurrent(
        _ token: SyncToken, zone: ZoneHeader, member: ShareMember, newest: UInt64
    ) -> Bool {
        // Of a zone that is shared as a whole members read the zone's own feed.
        let horizon = zone.sharing.wholeShare == nil ? zone.memberHorizon : zone.horizon
        return token.zone == zone.number && token.version <= newest && token.baseline <= newest
            // A page that took nothing ends just before the place where the stay began.
            && token.version + 1 >= member.since && max(token.version, token.baseline) >= horizon
    }

    var bytesTaken: Int { page.bytesTaken }

    mutating func page(_ view: StorageReader) async throws -> ZoneChangesPage {
        if isCaughtUp {
            position = Position(version: newest, within: 0)
        } else {
            try await fill(view)
            if !page.isFull { position = Position(version: max(position.version, newest), within: 0) }
        }
        let entries = try await settled(page.picked, view)
        let token = SyncToken(
            .member, zone: access.zone.number, version: position.version, baseline: baseline, floor: position.within)
        return ZoneChangesPage(
            zoneID: place.zoneID(access.zone.name),
            events: try await view.events(entries, of: access.zone, in: place, desiredKeys: request.desiredKeys),
            syncToken: tokens.seal(token, for: place.tokenPartition, repeating: sent), moreComing: page.isFull)
    }

    /// Removes deletions of records that the member still sees through another tree: their own entry reports
    /// them.
    private func settled(_ entries: [FeedEntry], _ view: StorageReader) async throws -> [FeedEntry] {
        let gone = entries.filter(\.isTombstone).map(\.recordName)
        guard !gone.isEmpty, access.zone.sharing.wholeShare == nil else { return entries }
        let visible = try await access.visible(gone, view)
        return entries.filter { !($0.isTombstone && visible.contains($0.recordName)) }
    }

    // MARK: Reading

    private mutating func fill(_ view: StorageReader) async throws {
        let blocks = (member.slots.map(Block.joined) + member.losses.map { .lost($0.version) })
            .filter { $0.version > position.version || ($0.version == position.version && position.within > 0) }
            .sorted { $0.version < $1.version }
        for block in blocks {
            if block.version > position.version {
                try await stream(through: block.version - 1, view)
                if page.isFull { return }
                position = Position(version: block.version, within: 0)
            }
            try await read(block, view)
            if page.isFull { return }
            position = Position(version: block.version, within: 0)
        }
        try await stream(through: newest, view)
    }

    /// Reads the records at one position, from the end of the previous page on.
    private mutating func read(_ block: Block, _ view: StorageReader) async throws {
        let chunk = 200
        var within = position.within
        while true {
            let entries: [(order: UInt64, entry: FeedEntry)]
            switch block {
            case .joined(let slot):
                entries = try await self.entries(of: slot, after: within, through: slot.joined, chunk, view)
                    .map { ($0.version, $0) }
            case .lost(let version):
                entries = try await view.shareLosses(
                    zone: access.zone.number, at: version, after: within, limit: chunk
                ).map { loss in
                    let entry = FeedEntry(
                        version: version, recordName: loss.recordName, recordType: loss.recordType, isTombstone: true,
                        size: 0)
                    return (loss.position, entry)
                }
            }
            for (order, entry) in entries {
                // Records that had left before the member joined do not concern the member.
                if case .joined = block, entry.isTombstone {
                    within = order
                    continue
                }
                guard page.take(entry) else {
                    // Nothing taken yet at this place: it is still before it.
                    position = within == 0 ? before(block.version) : Position(version: block.version, within: within)
                    return
                }
                within = order
            }
            if entries.count < chunk { return }
        }
    }

    private func before(_ version: UInt64) -> Position { Position(version: version - 1, within: 0) }

    /// Reads the feeds of all shares accepted by now, merged, up to a version.
    private mutating func stream(through last: UInt64, _ view: StorageReader) async throws {
        let slots = member.slots.filter { $0.joined <= position.version }
        if slots.isEmpty || last <= position.version { return }
        let start = position.version
        var streams = slots.map { ParticipantFeed(slot: $0, last: max(start, $0.joined)) }
        let chunk = max(16, (min(page.resultsMax, 400) + 1) / streams.count)
        while true {
            for index in streams.indices where streams[index].needsMore {
                let entries = try await self.entries(
                    of: streams[index].slot, after: streams[index].last, through: last, chunk, view)
                streams[index].add(entries, isAll: entries.count < chunk)
            }
            guard
                let next = streams.indices.filter({ streams[$0].next != nil })
                    .min(by: { streams[$0].nextVersion < streams[$1].nextVersion }),
                let entry = streams[next].next
            else { break }
            guard page.take(entry) else { return }
            position = Position(version: entry.version, within: 0)
            streams[next].removeFirst()
        }
        position = Position(version: last, within: 0)
    }

    /// Returns entries of the feed of one share; of a zone shared as a whole it is the zone's own.
    private func entries(
        of slot: ShareMember.Slot, after version: UInt64, through last: UInt64, _ limit: Int, _ view: StorageReader
    ) async throws -> [FeedEntry] {
        if access.zone.sharing.wholeShare == nil {
            return try await view.shareFeed(
                zone: access.zone.number, share: slot.share, after: version, through: last, limit: limit)
        }
        return try await view.feed(zone: access.zone.number, after: version, through: last, limit: limit)
    }
}

/// The entries of one share's feed that were read and not yet used.
private struct ParticipantFeed {
    let slot: ShareMember.Slot
    /// The newest entry read.
    var last: UInt64
    private var entries: ArraySlice<FeedEntry> = []
    private var isAll = false

    init(slot: ShareMember.Slot, last: UInt64) {
        self.slot = slot
        self.last = last
    }

    var needsMore: Bool { entries.isEmpty && !isAll }
    var next: FeedEntry? { entries.first }
    var nextVersion: UInt64 { entries.first?.version ?? .max }

    mutating func add(_ entries: [FeedEntry], isAll: Bool) {
        self.entries = entries[...]
        self.isAll = isAll
        last = entries.last?.version ?? last
    }

    mutating func removeFirst() { entries.removeFirst() }
}

extension StorageView {
    /// Returns the newest version that a member sees of a zone: one read at the end of each feed, however long.
    ///
    /// Compacted entries count: a member who missed them has to fetch the zone again (B-BKD-12), and does so only when
    /// the zone is reported as changed.
    func newestVersion(for member: ShareMember, in zone: ZoneHeader) async throws -> UInt64 {
        var newest = max(zone.memberHorizon, member.losses.map(\.version).max() ?? 0)
        for slot in member.slots {
            let latest =
                zone.sharing.wholeShare == slot.share
                ? zone.latestVersion : try await latestShareVersion(zone: zone.number, share: slot.share)
            newest = max(newest, slot.joined, latest)
        }
        return newest
    }
}
