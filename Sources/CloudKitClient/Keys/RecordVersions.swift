import CloudKitDevice
import CloudKitEncryption
import Foundation
import Synchronization

/// The version of a record as its statement names it.
package struct StatedVersion: Hashable, Sendable {
    /// The number of the version.
    var number: UInt64
    /// 23 bits of the statement's tag, which differs where two versions have one number.
    var tag: UInt32
    /// A Boolean value that indicates whether sealed values are listed.
    var holdsValues: Bool

    init(_ statement: RecordStatement) {
        self.init(
            number: statement.version,
            tag: statement.tag.prefix(3).reduce(0) { $0 << 8 | UInt32($1) } & 0x7F_FFFF,
            holdsValues: !statement.values.isEmpty)
    }

    /// The version of a share without sealed values of its own: statements are ordered by epoch, then by number.
    init(_ statement: SealedShareStatement) {
        self.init(
            number: UInt64(min(statement.epoch, Self.partMax)) << 24 | min(statement.counter, UInt64(Self.partMax)),
            tag: statement.bytes.suffix(16).prefix(3).reduce(0) { $0 << 8 | UInt32($1) } & 0x7F_FFFF,
            holdsValues: false)
    }

    private static let partMax: UInt32 = 0xFF_FFFF

    init(number: UInt64, tag: UInt32, holdsValues: Bool) {
        self.number = number
        self.tag = tag
        self.holdsValues = holdsValues
    }
}

/// The highest versions of a zone's records that this device has seen: in memory, and in a file of the profile, so that a
/// cloud which shows an older version is found out after a restart, too.
///
/// Takes 16 bytes a record, of the 65,536 newest versions of a zone. Processes of one profile append to the same file.
final class RecordVersions: Sendable {
    /// A record of a zone, as the file names it: 7 bytes of a hash of its name.
    private struct Seen {
        var version: StatedVersion
        /// A Boolean value that indicates whether the record was deleted after this version.
        var isDeleted: Bool
        /// The position among everything that was learned in this process.
        var order: UInt64
        /// A Boolean value that indicates whether the version is one of a zone that was deleted and made again since.
        var isOfEarlierZone = false
    }

    private struct Zone {
        var seen: [UInt64: Seen] = [:]
        var stamp: FileStamp?
        /// Bytes of the file that were read or written.
        var read = 0
    }

    private struct State {
        var zones: [String: Zone] = [:]
        var order: UInt64 = 0
    }

    private let folder: String?
    private let state = Mutex(State())

    static let recordsMax = 65_536
    private static let entryBytes = 16
    /// Seconds by which the times of files may be behind the clock.
    private static let clockTick = 0.02

    /// - Parameter folder: The profile's; nil: nothing is written.
    init(folder: String?) { self.folder = folder.map { $0 + "/" + DeviceProfile.recordVersionsFolder } }

    /// The moment before a request: its answer is compared with versions that were known then.
    struct Mark: Sendable {
        fileprivate var order: UInt64
        /// Seconds since 1970.
        fileprivate var time: Double
    }

    /// The present moment.
    var mark: Mark { Mark(order: state.withLock { $0.order }, time: Double(DeviceProfile.now) / 1000) }

    /// Compares versions of an answer with those seen before, and remembers higher ones.
    ///
    /// - Parameters:
    ///   - records: The records of an answer by name; nil: without statement and sealed values.
    ///   - zone: The name of the zone's file, and the salt of the hashes in it.
    ///   - mark: The moment before the request was sent.
    ///   - claimed: What the cloud said about having been restored.
    func see(
        _ records: [(name: String, version: StatedVersion?)], in zone: ZoneSalt, since mark: Mark,
        claimed: RestorationFollower.Claimed = .init()
    ) -> Comparison {
        withZone(zone, since: mark) { known, order in
            var result = Comparison(claimed: claimed)
            var learned: [UInt64: Seen] = [:]
            learned.reserveCapacity(records.count)
            for (name, version) in records {
                if version == nil, known.seen.isEmpty { continue }
                let hash = zone.recordHash(name)
                let held = known.seen[hash]
                let expected = held.flatMap { $0.isDeleted || $0.order > mark.order ? nil : $0.version }
                guard let version else {
                    if let expected, expected.holdsValues {
                        result.refuse(name, .notAsStated(.noStatement), insteadOf: expected)
                    }
                    continue
                }
                if let held, held.isDeleted, version.number <= held.version.number {
                    result.noteReturned(name, held.version)
                }
                if let expected, version.number < expected.number {
                    result.refuse(name, .wentBack(.olderVersion), insteadOf: expected)
                } else if let expected, version.number == expected.number, version != expected {
                    result.refuse(name, .wentBack(.otherBranch), insteadOf: expected)
                } else if held.map({ version.number > $0.version.number || $0.isDeleted }) ?? true {
                    order += 1
                    learned[hash] = Seen(version: version, isDeleted: false, order: order)
                }
            }
            append(learned, to: &known, of: zone)
            return result
        }
    }

    /// The outcome of a comparison.
    struct Comparison {
        /// The refused records by name.
        private(set) var failures: [String: EncryptionError] = [:]
        /// The refused records whose newer version a cloud has lost that says it was restored.
        private(set) var lost: Set<String> = []
        /// The records that such a cloud shows again although they were deleted.
        private(set) var returned: [String] = []
        private let claimed: RestorationFollower.Claimed

        fileprivate init(claimed: RestorationFollower.Claimed) { self.claimed = claimed }

        fileprivate mutating func refuse(_ name: String, _ error: EncryptionError, insteadOf expected: StatedVersion) {
            // The user has decided that the cloud's versions count.
            if expected.number <= claimed.acceptedUntil { return }
            failures[name] = error
            if expected.number <= claimed.lostUntil { lost.insert(name) }
        }

        fileprivate mutating func noteReturned(_ name: String, _ deleted: StatedVersion) {
            if deleted.number <= claimed.lostUntil { returned.append(name) }
        }
    }

    /// Remembers that records were deleted: they may be created again.
    ///
    /// - Returns: The deletions of those that were known in the zone as it is now, and before the request: one that was deleted with an
    ///   earlier zone has no trace in this one, and a version that was learned meanwhile may be younger than the deletion.
    @discardableResult
    func forget(_ names: [String], in zone: ZoneSalt, since mark: Mark) -> [StatedChange] {
        withZone(zone, since: mark) { known, order in
            guard !known.seen.isEmpty else { return [] }
            var learned: [UInt64: Seen] = [:]
            var deletions: [StatedChange] = []
            for name in names {
                let hash = zone.recordHash(name)
                guard var seen = known.seen[hash], !seen.isDeleted else { continue }
                if !seen.isOfEarlierZone, seen.order <= mark.order {
                    deletions.append(
                        StatedChange(
                            record: hash, version: seen.version.number, tag: seen.version.tag, isDeletion: true,
                            created: 0))
                }
                order += 1
                (seen.isDeleted, seen.order) = (true, order)
                learned[hash] = seen
            }
            append(learned, to: &known, of: zone)
            return deletions
        }
    }

    /// Remembers that a zone was deleted and made again: what was seen in it before a request belongs to the earlier zone.
    func noteNewZone(_ zone: ZoneSalt, since mark: Mark) {
        withZone(zone, since: mark) { known, _ in
            for (hash, seen) in known.seen where seen.order <= mark.order { known.seen[hash]?.isOfEarlierZone = true }
            guard let folder, !known.seen.isEmpty else { return }
            let file = folder + "/" + zone.file
            try? FileLock.hold(file + ".lock") {
                let isComplete = FileStamp(path: file).map { Int($0.size) == known.read } ?? false
                try PrivateFile.append(Self.newZoneEntry, to: file)
                if isComplete { known.read += Self.entryBytes }
            }
            let stamp = FileStamp(path: file)
            if let stamp, Int(stamp.size) == known.read { known.stamp = stamp }
        }
    }

    /// The entry between the versions of a zone and those of the one that was made in its place.
    private static let newZoneEntry = [UInt8](repeating: 0, count: entryBytes)

    /// Returns those changes of other devices that do not agree with the versions seen, or concern records that were not seen.
    func disagreeing(with changes: [StatedChange], in zone: ZoneSalt) -> [StatedChange] {
        if changes.isEmpty { return [] }
        return withZone(zone, since: nil) { known, _ in
            changes.filter { change in
                guard let held = known.seen[change.record] else { return !change.isDeletion }
                if held.isDeleted { return !change.isDeletion && held.version.number < change.version }
                // What was deleted with an earlier zone is no part of this one's history.
                if held.isOfEarlierZone { return !change.isDeletion }
                let isSame = held.version.number == change.version && held.version.tag == change.tag
                return change.isDeletion ? isSame : !isSame && held.version.number <= change.version
            }
        }
    }

    /// Returns the highest number of a version that these records had, deleted ones too; 0: none is known.
    func highest(of names: some Sequence<String>, in zone: ZoneSalt, since mark: Mark) -> UInt64 {
        withZone(zone, since: mark) { known, _ in
            guard !known.seen.isEmpty else { return 0 }
            return names.reduce(0) { max($0, known.seen[zone.recordHash($1)]?.version.number ?? 0) }
        }
    }

    /// Returns those of the names of which versions were seen, also of records that were deleted.
    func known(of names: [String], in zone: ZoneSalt, since mark: Mark) -> Set<String> {
        withZone(zone, since: mark) { known, _ in
            guard !known.seen.isEmpty else { return [] }
            return Set(names.filter { (known.seen[zone.recordHash($0)]?.version.number ?? 0) > 0 })
        }
    }

    /// Calls a closure with what is known of a zone, and the position of what was learned last.
    ///
    /// - Parameter mark: nil: everything in the file is older than the caller's request.
    private func withZone<Result: Sendable>(
        _ zone: ZoneSalt, since mark: Mark?, _ body: (inout Zone, inout UInt64) -> Result
    ) -> Result {
        state.withLock { state in
            // Taken out, so that a large zone is changed in place.
            var known = state.zones.removeValue(forKey: zone.file) ?? Zone()
            refresh(&known, zone, since: mark ?? Mark(order: state.order, time: 0), &state.order)
            let result = body(&known, &state.order)
            state.zones[zone.file] = known
            return result
        }
    }

    // MARK: - The file

    /// Reads what other processes have appended since.
    private func refresh(_ known: inout Zone, _ zone: ZoneSalt, since mark: Mark, _ order: inout UInt64) {
        guard let folder, let stamp = FileStamp(path: folder + "/" + zone.file), stamp != known.stamp else { return }
        // A file that cannot be read leaves what this process has seen.
        guard let bytes = try? PrivateFile.read(folder + "/" + zone.file) else { return }
        if stamp.inode != known.stamp?.inode || stamp.size < known.read { known.read = 0 }
        // What another process learned may be younger than a request of this one.
        let isYoung = known.stamp != nil || stamp.time + Self.clockTick >= mark.time
        for (hash, var seen) in Self.entries(bytes[min(known.read, bytes.count)...]) {
            if hash == 0, seen.version.number == 0 {
                for hash in known.seen.keys { known.seen[hash]?.isOfEarlierZone = true }
                continue
            }
            if let held = known.seen[hash], held.version.number > seen.version.number { continue }
            if let held = known.seen[hash], held.version == seen.version, held.isDeleted == seen.isDeleted { continue }
            if isYoung { order += 1 }
            seen.order = isYoung ? order : 0
            known.seen[hash] = seen
        }
        known.read = bytes.count - bytes.count % Self.entryBytes
        known.stamp = stamp
    }

    private func append(_ learned: [UInt64: Seen], to known: inout Zone, of zone: ZoneSalt) {
        if learned.isEmpty { return }
        known.seen.merge(learned) { $1 }
        if known.seen.count > Self.recordsMax + Self.recordsMax / 4 { Self.cutBack(&known.seen) }
        guard let folder else { return }
        let file = folder + "/" + zone.file
        // Versions that cannot be written, for example on a full disk, still hold while this process runs.
        try? PrivateFile.makeFolder(folder)
        try? FileLock.hold(file + ".lock") {
            let size = FileStamp(path: file).map { Int($0.size) } ?? 0
            if size % Self.entryBytes != 0 || size / Self.entryBytes > 2 * known.seen.count + 4096 {
                // Half an entry of a crash, or many that later ones have replaced.
                for (hash, seen) in Self.entries((try PrivateFile.read(file) ?? [])[...])
                where (known.seen[hash]?.version.number ?? 0) < seen.version.number {
                    known.seen[hash] = seen
                }
                let newest = Self.newest(of: known.seen)
                let earlier = newest.filter(\.value.isOfEarlierZone)
                let separator = earlier.isEmpty ? [] : Self.newZoneEntry
                let present = Self.bytes(of: newest.filter { !$0.value.isOfEarlierZone })
                try PrivateFile.replace(file, with: Self.bytes(of: earlier) + separator + present)
            } else {
                try PrivateFile.append(Self.bytes(of: learned), to: file)
                if size == known.read { known.read += learned.count * Self.entryBytes }
            }
        }
        let stamp = FileStamp(path: file)
        if let stamp, Int(stamp.size) == known.read { known.stamp = stamp }
    }

    private static func newest(of seen: [UInt64: Seen]) -> [UInt64: Seen] {
        var seen = seen
        cutBack(&seen)
        return seen
    }

    /// Removes all but the newest versions.
    private static func cutBack(_ seen: inout [UInt64: Seen]) {
        guard seen.count > recordsMax else { return }
        // Only the numbers are sorted: while a large zone is fetched, this is done again and again.
        let kept = seen.values.map(\.version.number).sorted().suffix(recordsMax)
        guard let bound = kept.first else { return }
        var equalLeft = kept.prefix { $0 == bound }.count
        var old: [UInt64] = []
        old.reserveCapacity(seen.count - recordsMax)
        for (hash, seen) in seen where seen.version.number <= bound {
            if seen.version.number == bound { equalLeft -= 1 }
            if seen.version.number < bound || equalLeft < 0 { old.append(hash) }
        }
        // In place: the others need not be hashed again.
        for hash in old { seen[hash] = nil }
    }

    /// 7 bytes hash, 6 bytes version, 3 bytes: whether values are listed, and the tag. A deleted record has no tag.
    private static func bytes(of seen: [UInt64: Seen]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(seen.count * entryBytes)
        func append(_ number: UInt64, _ count: Int) {
            for shift in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * shift))) }
        }
        for (hash, seen) in seen {
            append(hash, 7)
            append(seen.version.number, 6)
            let tag = UInt64(seen.version.tag) | (seen.version.holdsValues ? 0x80_0000 : 0)
            append(seen.isDeleted ? 0 : max(tag, 1), 3)
        }
        return bytes
    }

    private static func entries(_ bytes: ArraySlice<UInt8>) -> [(UInt64, Seen)] {
        stride(from: bytes.startIndex, to: bytes.endIndex - bytes.count % entryBytes, by: entryBytes).map { start in
            func number(_ from: Int, _ count: Int) -> UInt64 {
                bytes[start + from..<start + from + count].reduce(0) { $0 << 8 | UInt64($1) }
            }
            let tag = UInt32(number(13, 3))
            let version = StatedVersion(
                number: number(7, 6), tag: tag & 0x7F_FFFF, holdsValues: tag & 0x80_0000 != 0)
            return (number(0, 7), Seen(version: version, isDeleted: tag == 0, order: 0))
        }
    }
}

extension FileStamp {
    /// Seconds since 1970.
    fileprivate var time: Double { Double(seconds) + Double(nanoseconds) / 1e9 }
}

extension ZoneSalt {
    /// Returns 7 bytes of a hash of a record's name.
    func recordHash(_ name: String) -> UInt64 { number(for: name) >> 8 }
}
