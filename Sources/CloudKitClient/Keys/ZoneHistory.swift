import CloudKitEncryption
import CloudKitModel

/// Compares what a cloud shows of a zone with what the account's other devices wrote about it.
struct ZoneHistory: Sendable {
    let salt: ZoneSalt
    let key: ZoneStateKey
    let memories: ZoneMemories
    let versions: RecordVersions
    /// The moment before the request.
    let mark: RecordVersions.Mark

    /// The way in which the cloud shows this device another history than the account's other devices.
    enum Mismatch: Error, Hashable, CustomStringConvertible {
        case statesWithheld, stateWithheld
        case stateUnreadable(EncryptionError)
        case incarnationCameBack
        /// With the name of the record, if it is shown.
        case newerVersion(record: String?)
        case deletion(record: String?)

        var description: String {
            switch self {
            case .statesWithheld: "what the account's devices wrote about the zone is withheld"
            case .stateWithheld: "the newest state of one of the account's devices is withheld"
            case .stateUnreadable(let error): "\(error)"
            case .incarnationCameBack: "the zone is shown as it was before it was made again"
            case .newerVersion(let record):
                "another device has a newer version of \(Self.name(record)) than is shown here"
            case .deletion(let record):
                "another device was shown the deletion of \(Self.name(record)), and this one is not"
            }
        }

        private static func name(_ record: String?) -> String { record.map { "record '\($0)'" } ?? "a record" }
    }

    /// What the states of an answer say.
    struct Claims: Sendable {
        /// The changes that do not agree with what this device has seen so far.
        var disagreeing: [StatedChange] = []
        /// The highest key epoch that another device has seen.
        var epoch: UInt32 = 0
    }

    /// Checks the states of an answer, and compares the changes in them with what this device has seen.
    ///
    /// - Parameter states: nil: the answer had none.
    /// - Returns: nil: the cloud has never given any.
    func claims(_ states: ZoneStates?, for exchange: ZoneExchange) throws(Mismatch) -> Claims? {
        guard let states else {
            if exchange.incarnation.isEmpty { return nil }
            throw .statesWithheld
        }
        if exchange.ended.contains(states.incarnation) { throw .incarnationCameBack }
        var numbers: [String: UInt64] = [:]
        for state in states.states { numbers[state.device] = state.number }
        if states.incarnation == exchange.incarnation {
            for (device, number) in exchange.others where numbers[device] ?? 0 < number { throw .stateWithheld }
            if numbers[exchange.device] ?? 0 < exchange.confirmed { throw .stateWithheld }
        }
        var claims = Claims()
        var changes: [StatedChange] = []
        for state in states.states where state.device != exchange.device {
            // States under earlier keys of the account are no longer readable.
            guard let device = ZoneStateDevice(text: state.device), key.isOwn(device) else { continue }
            if state.bytes.isEmpty {
                guard exchange.others[state.device] == state.number else { throw .stateWithheld }
                continue
            }
            let opened: ZoneState
            do throws(EncryptionError) {
                opened = try key.open(state.bytes, of: device, number: state.number, incarnation: states.incarnation)
            } catch {
                throw .stateUnreadable(error)
            }
            for (other, number) in opened.others where numbers[other.text] ?? 0 < number { throw .stateWithheld }
            claims.epoch = max(claims.epoch, opened.epoch)
            changes += opened.changes
        }
        claims.disagreeing = memories.unsettled(versions.disagreeing(with: changes, in: salt), in: salt)
        return claims
    }

    /// Remembers the states of an answer with which everything agrees.
    func accept(_ states: ZoneStates, for exchange: ZoneExchange) {
        if memories.take(states, for: exchange, in: salt) { versions.noteNewZone(salt, since: mark) }
    }

    /// Judges the changes that did not agree by all that the zone's feed holds, and remembers the states.
    func judge(
        _ changes: [StatedChange], by evidence: FeedEvidence, _ states: ZoneStates, for exchange: ZoneExchange
    ) throws(Mismatch) {
        guard let last = evidence.states else { throw .statesWithheld }
        guard last.incarnation == states.incarnation else {
            // The zone was made again meanwhile; after that, no answer shows the earlier one.
            let renewed = ZoneStates(incarnation: last.incarnation, forgetsDeletions: false, states: [])
            accept(renewed, for: exchange)
            return
        }
        var settled: [StatedChange] = []
        for change in changes {
            if try evidence.agrees(with: change) { settled.append(change) }
        }
        accept(states, for: exchange)
        memories.settle(settled, in: salt)
        // The device that wrote a record learns that it is said to be deleted.
        let ended = settled.filter { !$0.isDeletion && evidence.deleted.contains($0.record) }
        memories.note(ended.map(\.deletion), in: salt, incarnation: states.incarnation)
    }
}

/// All that a zone's feed holds, as far as it is compared with the changes of other devices.
struct FeedEvidence: Sendable {
    private struct Alive {
        var name: String
        var version: StatedVersion?
        var created: UInt32
        var isReadable: Bool
    }

    private var alive: [UInt64: Alive] = [:]
    /// Hashes of the names of deleted records.
    private(set) var deleted: Set<UInt64> = []
    /// The states that came with the last page.
    var states: ZoneStates?

    /// Adds a record. It can follow its own deletion: the pages of a feed are read one after the other, and it was made again meanwhile.
    ///
    /// - Parameters:
    ///   - version: nil: it has no statement.
    ///   - isReadable: false: its statement was not checked; the record is an error of its own.
    mutating func add(_ record: Record, version: StatedVersion?, isReadable: Bool, in zone: ZoneSalt) {
        let name = record.id.recordName
        let hash = zone.recordHash(name)
        alive[hash] = Alive(name: name, version: version, created: record.createdMark, isReadable: isReadable)
        deleted.remove(hash)
    }

    /// Adds a deletion, which can follow the record.
    mutating func add(deleted name: String, in zone: ZoneSalt) {
        let hash = zone.recordHash(name)
        deleted.insert(hash)
        alive[hash] = nil
    }

    /// - Returns: false: the feed does not show whether it agrees.
    fileprivate func agrees(with change: StatedChange) throws(ZoneHistory.Mismatch) -> Bool {
        guard let record = alive[change.record] else {
            if deleted.contains(change.record) { return true }
            if states?.forgetsDeletions ?? false { return false }
            throw change.isDeletion ? .deletion(record: nil) : .newerVersion(record: nil)
        }
        guard record.isReadable else { return false }
        let isSame = record.version.map { $0.number == change.version && $0.tag == change.tag } ?? false
        if change.isDeletion {
            if isSame { throw .deletion(record: record.name) }
            return true
        }
        if isSame || record.version.map({ $0.number > change.version }) ?? false { return true }
        // Another creation: deleted and created again, by a device with another clock or by a client without keys.
        if record.created == change.created { throw .newerVersion(record: record.name) }
        return true
    }
}

extension StatedChange {
    /// The saved version of a record.
    init(_ version: StatedVersion, of record: Record, in zone: ZoneSalt) {
        self.init(
            record: zone.recordHash(record.id.recordName), version: version.number, tag: version.tag, isDeletion: false,
            created: record.createdMark)
    }

    /// The deletion of the record in this version.
    fileprivate var deletion: StatedChange {
        var change = self
        (change.isDeletion, change.created) = (true, 0)
        return change
    }
}

extension Record {
    /// The part of the record's creation by which its lives are told apart.
    fileprivate var createdMark: UInt32 { UInt32(truncatingIfNeeded: created.timestamp) }
}
