import Foundation

/// The place of one record: a zone of one owner's database, and a name.
struct Cell: Hashable, Comparable, CustomStringConvertible {
    /// A user, or `public`.
    var owner: String
    var zone: String
    var name: String

    var description: String { "\(owner)/\(zone)/\(name)" }

    static func < (a: Cell, b: Cell) -> Bool { (a.owner, a.zone, a.name) < (b.owner, b.zone, b.name) }
}

/// Everything that the users have tried to write, with its outcome as far as they know it.
final class Ledger: Sendable {
    enum Outcome {
        /// It has not been answered.
        case open
        case done
        case refused
        /// No answer arrived, or one that does not say.
        case unknown
    }

    /// One attempt to save or delete records.
    struct Attempt {
        /// The cells that it concerns.
        var matches: @Sendable (Cell) -> Bool
        /// The stamp that it writes; nil: it deletes.
        var stamp: Int?
        var start: Int64
        var end: Int64?
        var outcome = Outcome.open
        /// The change tag that the save was made from.
        var base: String?
        /// The device that makes it.
        var device = ""

        /// The time until which it may take effect.
        var last: Int64 { outcome == .done ? end ?? .max : .max }
    }

    private let all = Shared<[Attempt]>([])
    private let byCell = Shared<[Cell: [Int]]>([:])
    private let sweeping = Shared<[Int]>([])
    private let groups = Shared<[[Cell]]>([])
    private let parents = Shared<[Cell: Cell]>([:])
    private let stamps = Shared<[Int: Int]>([:])
    private let nextStamp = Shared(1)
    /// What was begun before and acknowledged may be lost.
    private let lostUntil = Shared(Int64.min)

    /// The number of attempts that were begun.
    var count: Int { all.value.count }
    /// All cells that were written.
    var cells: [Cell] { byCell.value.keys.sorted() }
    /// Cells that one atomic batch created, and that nobody else writes.
    var atomicGroups: [[Cell]] { groups.value }
    /// The record that a record goes with when it is deleted.
    var owners: [Cell: Cell] { parents.value }

    func makeStamp() -> Int {
        defer { nextStamp.value += 1 }
        return nextStamp.value
    }

    func note(atomicGroup cells: [Cell]) { groups.value.append(cells) }
    func note(_ child: Cell, goesWith parent: Cell) { parents.value[child] = parent }

    /// Notes the begin of an attempt on a cell.
    ///
    /// - Parameter stamp: nil: it deletes.
    func begin(_ cell: Cell, stamp: Int?, base: String? = nil, by device: String, at time: Int64) -> Int {
        all.value.append(Attempt(matches: { $0 == cell }, stamp: stamp, start: time, base: base, device: device))
        let number = all.value.count - 1
        byCell.value[cell, default: []].append(number)
        if let stamp { stamps.value[stamp] = number }
        return number
    }

    /// Notes the begin of a deletion of many cells.
    func begin(deleting matches: @escaping @Sendable (Cell) -> Bool, at time: Int64) -> Int {
        all.value.append(Attempt(matches: matches, start: time))
        sweeping.value.append(all.value.count - 1)
        return all.value.count - 1
    }

    func end(_ number: Int, _ outcome: Outcome, at time: Int64) {
        let isLost = outcome == .done && all.value[number].start < lostUntil.value
        all.value[number].outcome = isLost ? .unknown : outcome
        all.value[number].end = time
    }

    /// Notes that the cloud was restored: what was acknowledged until then may be lost.
    func restored(at time: Int64) {
        lostUntil.value = time
        // An engine may bring back one record of a batch.
        groups.value = []
        for number in all.value.indices where all.value[number].outcome == .done {
            all.value[number].outcome = .unknown
        }
    }

    /// Returns the begin of the latest acknowledged save of certain cells by other devices than one; nil: there is none.
    ///
    /// - Parameter matches: Of the cell and the stamp.
    func latestSave(notBy device: String, where matches: (Cell, Int) -> Bool) -> Int64? {
        byCell.value.flatMap { cell, numbers in
            numbers.map { all.value[$0] }.filter { attempt in
                attempt.outcome == .done && attempt.device != device && attempt.stamp.map { matches(cell, $0) } == true
            }
        }.map(\.start).max()
    }

    /// Whether a save of a cell was acknowledged.
    func wasSaved(_ cell: Cell) -> Bool {
        (byCell.value[cell] ?? []).contains { all.value[$0].outcome == .done && all.value[$0].stamp != nil }
    }

    /// Whether a record with this stamp is in the shared tree, where its owner moves records: others can save no record elsewhere.
    func isShared(_ stamp: Int, by owner: String) -> Bool {
        guard let number = stamps.value[stamp] else { return true }
        return !all.value[number].device.hasPrefix(owner) || SharingLedger.isShared(stamp)
    }

    /// Returns the stamp that an attempt writes; nil: it deletes.
    func stamp(of number: Int) -> Int? { all.value[number].stamp }

    /// Returns why a stamp cannot be the content of a cell; nil: it can.
    func objection(to stamp: Int, in cell: Cell) -> String? {
        guard let number = stamps.value[stamp] else { return "nobody wrote \(stamp)" }
        let attempt = all.value[number]
        if !attempt.matches(cell) { return "\(stamp) was written elsewhere" }
        if attempt.outcome == .refused { return "\(stamp) was refused" }
        return nil
    }

    /// Returns why the present state of a cell contradicts what was acknowledged; nil: it does not.
    ///
    /// - Parameter stamp: The content; nil: there is no record.
    func contradiction(_ cell: Cell, has stamp: Int?) -> String? {
        if let stamp, let objection = objection(to: stamp, in: cell) { return objection }
        let own = (byCell.value[cell] ?? []).map { all.value[$0] }
        var deletions: [Attempt] = []
        var place: Cell? = cell
        while let current = place, deletions.count < 100 {
            deletions += (byCell.value[current] ?? []).map { all.value[$0] }.filter { $0.stamp == nil }
            place = parents.value[current]
        }
        let sweeps = sweeping.value.map { all.value[$0] }.filter { $0.matches(cell) }
        deletions += sweeps
        // The attempt that left the cell as it is: none that was acknowledged may have begun after that one had ended.
        let writers: [Attempt]
        if let stamp {
            writers = own.filter { $0.stamp == stamp }
        } else {
            writers = deletions + [Attempt(matches: { _ in true }, start: -1, end: -1, outcome: .done)]
        }
        let later = own + (stamp == nil ? [] : sweeps)
        for writer in writers where writer.outcome != .refused {
            let isLast = !later.contains { $0.outcome == .done && $0.stamp != stamp && $0.start > writer.last }
            // A deletion takes effect at its end at the latest, with what was saved while it ran; one of the default zone after it.
            if isLast { return nil }
            if stamp == nil, parents.value[cell] != nil, writer.outcome == .done,
                !later.contains(where: { $0.outcome == .done && $0.stamp != nil && $0.start > writer.last + 5_000_000 })
            {
                return nil
            }
        }
        let lost = later.filter { $0.outcome == .done }.map { $0.stamp.map(String.init) ?? "deletion" }
        return "it has \(stamp.map(String.init) ?? "no record"), acknowledged were \(lost.joined(separator: ", "))"
    }

    /// Returns the tags from which two acknowledged saves were made: one of them overwrote the other unseen.
    var overwrittenUnseen: [String] {
        byCell.value.sorted { $0.key < $1.key }.flatMap { cell, numbers in
            let bases = numbers.map { all.value[$0] }.filter { $0.outcome == .done && $0.stamp != nil }.compactMap(
                \.base)
            return Dictionary(grouping: bases) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
                .map { "\(cell): two saves were made from \($0)" }
        }
    }
}
