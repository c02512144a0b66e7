import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import Foundation
import Synchronization

/// What this device knows of a zone when a request begins, and what it asks and tells the cloud about the account's devices.
struct ZoneExchange: Sendable {
    /// The part of the request.
    var request: ZoneStatesRequest
    /// The zone's incarnation; empty: no answer has named it yet.
    var incarnation: String
    /// Incarnations that have ended.
    var ended: [String]
    /// The numbers of other devices' states that were seen.
    var others: [String: UInt64]
    /// The number of this device's newest state that the cloud has listed.
    var confirmed: UInt64
    /// The name of this device in the zone.
    var device: String
}

/// The memory of zones: their incarnations, the states that other devices of the account wrote, and this device's own newest
/// changes, which it writes for them.
///
/// In memory, and in a small file of the profile for each zone. Changes are written to the file with the next feed.
final class ZoneMemories: Sendable {
    /// The stored part.
    private struct Memory: Codable, Equatable {
        var incarnation = ""
        var ended: [String] = []
        var device = ""
        var number: UInt64 = 0
        var confirmed: UInt64 = 0
        var others: [String: UInt64] = [:]
        /// Three numbers for each change.
        var changes: [UInt64] = []
    }

    private struct Zone {
        var memory = Memory()
        var changes: [StatedChange] = []
        /// The number of changes that were noted in this process, and how many of them a listed state has.
        var noted = 0
        var confirmed = 0
        /// Changes that were judged by what the whole feed holds.
        var settled: Set<StatedChange> = []
        var stamp: FileStamp?
        /// The state that was sent last: when, in milliseconds, its number, and how many of the noted changes it has.
        var sent: (time: Int64, number: UInt64, noted: Int) = (0, 0, 0)
    }

    private let folder: String?
    private let zones = Mutex<[String: Zone]>([:])

    private static let endedMax = 16
    private static let settledMax = 4096
    /// Milliseconds between two states that are sent with saves, or again with feeds; a feed takes a new one at once.
    private static let pause: Int64 = 10_000

    /// - Parameter folder: The profile's; nil: nothing is written.
    init(folder: String?) { self.folder = folder.map { $0 + "/" + DeviceProfile.zoneStatesFolder } }

    /// Returns the present incarnation of a zone; empty: no answer has named it yet.
    func incarnation(of zone: ZoneSalt) -> String { zones.withLock { refreshed(zone, &$0).memory.incarnation } }

    /// Returns the name of this device in a zone; empty: it has none yet.
    func deviceName(in zone: ZoneSalt) -> String { zones.withLock { refreshed(zone, &$0).memory.device } }

    /// Begins a request.
    ///
    /// - Parameters:
    ///   - key: Seals this device's state.
    ///   - epoch: The highest key epoch of the zone that the device has seen.
    ///   - now: Milliseconds since 1970.
    ///   - isFeed: Whether the answer will list all devices' states; a save takes a state now and then only.
    func begin(
        _ zone: ZoneSalt, key: ZoneStateKey, epoch: UInt32, now: Int64, isFeed: Bool
    ) -> ZoneExchange {
        zones.withLock { zones in
            var known = refreshed(zone, &zones)
            if known.memory.device.isEmpty { known.memory.device = key.newDevice().text }
            var exchange = ZoneExchange(
                request: ZoneStatesRequest(known: known.memory.others), incarnation: known.memory.incarnation,
                ended: known.memory.ended, others: known.memory.others, confirmed: known.memory.confirmed,
                device: known.memory.device)
            exchange.request.update = update(&known, key: key, epoch: epoch, now: now, isFeed: isFeed)
            zones[zone.file] = known
            return exchange
        }
    }

    private func update(
        _ known: inout Zone, key: ZoneStateKey, epoch: UInt32, now: Int64, isFeed: Bool
    ) -> ZoneStateUpdate? {
        guard !known.memory.incarnation.isEmpty, known.noted > known.confirmed, !known.changes.isEmpty,
            isFeed && known.noted > known.sent.noted || now - known.sent.time >= Self.pause,
            let device = ZoneStateDevice(text: known.memory.device)
        else { return nil }
        let others = known.memory.others.compactMap { name, number in
            ZoneStateDevice(text: name).map { ($0, number) }
        }
        let state = ZoneState(
            epoch: epoch, others: Dictionary(others.prefix(ZoneState.devicesMax)) { max($0, $1) },
            changes: known.changes)
        let number = max(known.memory.number + 1, UInt64(clamping: now))
        guard let bytes = try? key.seal(state, of: device, number: number, incarnation: known.memory.incarnation)
        else { return nil }
        known.memory.number = number
        known.sent = (now, number, known.noted)
        return ZoneStateUpdate(
            incarnation: known.memory.incarnation,
            state: ZoneDeviceState(device: known.memory.device, number: number, bytes: bytes))
    }

    /// Remembers changes that the cloud has confirmed to this device.
    ///
    /// - Parameter incarnation: The zone's when the request began: changes in another one are forgotten.
    func note(_ changes: [StatedChange], in zone: ZoneSalt, incarnation: String) {
        guard !changes.isEmpty, !incarnation.isEmpty else { return }
        zones.withLock { zones in
            var known = refreshed(zone, &zones)
            guard known.memory.incarnation == incarnation else { return }
            known.changes = Self.merged(known.changes, with: changes)
            known.noted += changes.count
            zones[zone.file] = known
        }
    }

    /// Remembers what an answer listed, after it was found to agree with what this device has seen.
    ///
    /// - Returns: Whether the zone is another one than before: it was deleted and made again.
    @discardableResult
    func take(_ states: ZoneStates, for exchange: ZoneExchange, in zone: ZoneSalt) -> Bool {
        zones.withLock { zones in
            var known = refreshed(zone, &zones)
            let before = known.memory
            if known.memory.incarnation != states.incarnation {
                // Answers may overtake one another.
                guard known.memory.incarnation == exchange.incarnation else { return false }
                if !known.memory.incarnation.isEmpty {
                    known.memory.ended = (known.memory.ended + [known.memory.incarnation]).suffix(Self.endedMax)
                }
                known.memory.incarnation = states.incarnation
                known.memory.others = [:]
                known.memory.confirmed = 0
                (known.changes, known.settled) = ([], [])
                known.confirmed = known.noted
            }
            for state in states.states {
                if state.device == known.memory.device {
                    known.memory.confirmed = max(known.memory.confirmed, state.number)
                    known.memory.number = max(known.memory.number, state.number)
                } else {
                    known.memory.others[state.device] = max(known.memory.others[state.device] ?? 0, state.number)
                }
            }
            if known.sent.number > 0, known.memory.confirmed >= known.sent.number {
                known.confirmed = max(known.confirmed, known.sent.noted)
            }
            if known.memory != before || known.changes != Self.changes(before.changes) { write(&known, of: zone) }
            zones[zone.file] = known
            return !before.incarnation.isEmpty && before.incarnation != known.memory.incarnation
        }
    }

    /// Returns those changes that were not judged before.
    func unsettled(_ changes: [StatedChange], in zone: ZoneSalt) -> [StatedChange] {
        zones.withLock { zones in changes.filter { !(zones[zone.file]?.settled.contains($0) ?? false) } }
    }

    /// Remembers that changes were judged.
    func settle(_ changes: [StatedChange], in zone: ZoneSalt) {
        zones.withLock { zones in
            if zones[zone.file]?.settled.count ?? 0 > Self.settledMax { zones[zone.file]?.settled = [] }
            zones[zone.file]?.settled.formUnion(changes)
        }
    }

    // MARK: - The file

    /// Returns the memory of a zone, with what other processes have written since.
    private func refreshed(_ zone: ZoneSalt, _ zones: inout [String: Zone]) -> Zone {
        var known = zones[zone.file] ?? Zone()
        guard let folder, let stamp = FileStamp(path: folder + "/" + zone.file), stamp != known.stamp else {
            return known
        }
        // A file that cannot be read leaves what this process has seen.
        guard let bytes = try? PrivateFile.read(folder + "/" + zone.file),
            let read = try? JSONDecoder().decode(Memory.self, from: Data(bytes))
        else { return known }
        let own = known.memory.incarnation == read.incarnation ? known.changes : []
        let number = max(known.memory.number, read.number)
        known.memory = read
        known.memory.number = number
        known.changes = Self.merged(Self.changes(read.changes), with: own)
        known.stamp = stamp
        zones[zone.file] = known
        return known
    }

    private func write(_ known: inout Zone, of zone: ZoneSalt) {
        known.memory.changes = known.changes.flatMap(\.numbers)
        guard let folder else { return }
        let (file, memory) = (folder + "/" + zone.file, known.memory)
        // A memory that cannot be written, for example on a full disk, still holds while this process runs.
        try? PrivateFile.makeFolder(folder)
        try? FileLock.hold(file + ".lock") {
            try PrivateFile.replace(file, with: Array(JSONEncoder().encode(memory)), isForced: false)
        }
        known.stamp = FileStamp(path: file)
    }

    private static func merged(_ changes: [StatedChange], with newer: [StatedChange]) -> [StatedChange] {
        let newer = newer.suffix(ZoneState.changesMax)
        let renewed = Set(newer.map(\.record))
        return (changes.filter { !renewed.contains($0.record) } + newer).suffix(ZoneState.changesMax)
    }

    private static func changes(_ numbers: [UInt64]) -> [StatedChange] {
        stride(from: 0, to: numbers.count - numbers.count % 3, by: 3).map { StatedChange(numbers[$0..<$0 + 3]) }
    }
}

extension StatedChange {
    fileprivate var numbers: [UInt64] {
        [record, version, UInt64(created) << 32 | UInt64(tag & 0x7F_FFFF) | (isDeletion ? 0x80_0000 : 0)]
    }

    fileprivate init(_ numbers: ArraySlice<UInt64>) {
        let last = numbers[numbers.startIndex + 2]
        self.init(
            record: numbers[numbers.startIndex], version: numbers[numbers.startIndex + 1],
            tag: UInt32(truncatingIfNeeded: last & 0x7F_FFFF), isDeletion: last & 0x80_0000 != 0,
            created: UInt32(truncatingIfNeeded: last >> 32))
    }
}
