/// The newest changes of a zone that an engine has sent or fetched: what a cloud that is restored from a backup may have lost, and has to be
/// offered again (B-SYN-17).
struct RecentChanges: Hashable, Sendable {
    /// The times of the newest changes of records, in milliseconds since 1970 by the cloud's clock.
    private(set) var saved: [String: Int64] = [:]
    /// The times of deletions by this engine, by the device's clock.
    private(set) var deleted: [String: Int64] = [:]
    /// The newest of all times of changes of records that the engine has met, by the cloud's clock.
    private(set) var newest: Int64
    /// The time at which this engine saved the zone, by the device's clock.
    var zoneSaved: Int64?

    /// The most changes that are remembered of a zone.
    static let changesMax = 10_000
    /// The time for which they are, in milliseconds: a week.
    static let age: Int64 = 7 * 86_400_000
    /// The time in milliseconds by which a change may be older than the moment of a backup that lacks it: a save gets its time before it is
    /// committed, and clocks are not quite right.
    private static let slack: Int64 = 5 * 60_000

    /// Creates the value from its stored form.
    init(saved: [String: Int64] = [:], deleted: [String: Int64] = [:], newest: Int64 = 0, zoneSaved: Int64? = nil) {
        self.saved = saved
        self.deleted = deleted
        self.newest = newest
        self.zoneSaved = zoneSaved
    }

    mutating func noteSaved(_ name: String, at time: Int64) {
        deleted[name] = nil
        saved[name] = time
        newest = max(newest, time)
        trim(time)
    }

    mutating func noteDeleted(_ name: String, at time: Int64) {
        saved[name] = nil
        deleted[name] = time
        trim(time)
    }

    /// Notes a page of the zone's feed; old changes are in every backup.
    mutating func noteFetched(_ changes: [(name: String, time: Int64)], deleted names: [String], now: Int64) {
        for (name, time) in changes {
            if !deleted.isEmpty { deleted[name] = nil }
            saved[name] = time > now - Self.age ? time : nil
            newest = max(newest, time)
        }
        // The device that deleted them remembers that.
        for name in names { saved[name] = nil }
        trim(now)
    }

    private mutating func trim(_ now: Int64) {
        guard saved.count + deleted.count > Self.changesMax else { return }
        // A tenth more than needed, so that not every change sorts them.
        let times = (Array(saved.values) + deleted.values).sorted()
        let bound = max(now - Self.age, times[times.count - Self.changesMax * 9 / 10])
        // In place: the others need not be hashed again.
        for name in saved.compactMap({ $0.value < bound ? $0.key : nil }) { saved[name] = nil }
        for name in deleted.compactMap({ $0.value < bound ? $0.key : nil }) { deleted[name] = nil }
    }

    /// The records whose newest change a cloud may lack that was restored to a moment.
    func saved(since moment: Int64) -> [String] {
        saved.filter { $0.value >= moment - Self.slack }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
    }

    /// The deletions that such a cloud may lack.
    func deleted(since moment: Int64) -> [String: Int64] { deleted.filter { $0.value >= moment - Self.slack } }

    func isZoneSaved(since moment: Int64) -> Bool { (zoneSaved ?? .min) >= moment - Self.slack }
}

/// The state of a zone whose cloud was restored, until it has been read from the beginning.
struct ZoneRestoration: Hashable, Sendable {
    /// The time of the state to which the cloud was restored; where it is not known, that of the newest change before.
    var moment: Int64
    /// The records that this engine deleted since, with the times by the device's clock.
    var deleted: [String: Int64]

    /// - Parameters:
    ///   - moment: The time of the state; 0 if it is not known.
    ///   - recent: What the engine remembers of the zone.
    ///   - earlier: The state of the zone before; nil: it was whole.
    init(to moment: Int64, _ recent: RecentChanges, after earlier: ZoneRestoration?) {
        self.moment = moment == 0 ? max(recent.newest, earlier?.moment ?? 0) : moment
        deleted = recent.deleted(since: moment).merging(earlier?.deleted ?? [:]) { newer, _ in newer }
    }

    /// Creates the value from its stored form.
    init(moment: Int64, deleted: [String: Int64]) {
        self.moment = moment
        self.deleted = deleted
    }

    /// Returns whether a record that the restored cloud has is one that this engine had deleted; one that was saved after the restoration is another.
    func isDeleted(_ name: String, changed time: Int64?) -> Bool {
        guard deleted[name] != nil, let time else { return false }
        // By the cloud's clock alone: that of a device may be ahead.
        return time <= moment
    }
}

extension CKRecord {
    /// The time of the newest change by the cloud's clock, in milliseconds since 1970.
    var modificationTime: Int64? {
        modificationDate.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
    }
}
