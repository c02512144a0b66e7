import Foundation

/// The segments that lead from a moment to a later time.
package struct ChangePlan: Hashable, Sendable {
    /// The moment.
    package var moment: String
    /// The segments, in order.
    var objects: [ChangeObject] = []
    /// The digest that the first one names.
    var digest: String
    /// Everything that was committed until then is in the state: the time of the last segment, or of the moment. Milliseconds since 1970.
    package var time: Int64
    /// The time of the moment.
    var momentTime: Int64
    /// The number of the segment before the first one.
    var after: Int
    /// The number of the segment that has to be reached, if any is applied.
    var through: Int
    /// A fixed sentence about what is missing behind the last segment; nil: nothing is known to be.
    package var damage: String?

    /// The number of segments.
    package var count: Int { objects.count }

    /// Whether the state of the moment is reached.
    var reachesState: Bool { after + objects.count >= through }
}

extension Backup {
    /// Finds the way to the newest state that is not later than a time.
    ///
    /// - Parameters:
    ///   - time: Milliseconds since 1970; nil: the newest state.
    ///   - acceptsDamage: Whether to end before the first segment that is missing or damaged; without it that is an error, of a damaged one when it is applied.
    /// - Throws: `noSuchMoment`, `damaged`, and the errors of the place.
    package func plan(until time: Int64?, acceptsDamage: Bool = false) throws -> ChangePlan {
        let objects = try changeObjects()
        var fallback: (plan: ChangePlan, series: String)?
        for name in try momentNames().reversed() {
            let manifest = try manifest(name)
            if let time, manifest.time > time { continue }
            // Those of an earlier series end before this moment.
            if let fallback, manifest.changes?.series != fallback.series { break }
            var plan = try self.plan(from: manifest, objects, until: time)
            if acceptsDamage { plan = try whole(plan) }
            if let damage = plan.damage, !acceptsDamage { throw BackupError.brokenChanges(damage, until: plan.time) }
            guard let series = manifest.changes?.series, !plan.reachesState else { return plan }
            // Fewer segments would lead to a state between two commits. Those behind the moment before may lead to the time.
            plan.objects = []
            plan.time = manifest.time
            guard fallback == nil else { break }
            fallback = (plan, series)
            if time == nil { break }
        }
        if let fallback { return fallback.plan }
        throw BackupError.noSuchMoment(
            time.map { "at or before " + BackupManifest.name(of: $0) } ?? "newest", path: address)
    }

    /// Lists the segments behind a moment.
    func plan(from manifest: BackupManifest, _ objects: [ChangeObject], until time: Int64?) throws -> ChangePlan {
        let position = manifest.changes
        var plan = ChangePlan(
            moment: manifest.name, digest: position?.digest ?? "", time: manifest.time, momentTime: manifest.time,
            after: position?.after ?? 0,
            through: position?.through ?? 0)
        guard let position else { return plan }
        let following = objects.filter { $0.series == position.series && $0.number > position.after && $0.time != nil }
            .sorted { $0.number < $1.number }
        for object in following {
            let number = position.after + plan.objects.count + 1
            guard object.number == number else {
                plan.damage = "segment \(number) of the changes is missing"
                break
            }
            if let time, let end = object.time, end > time { break }
            plan.objects.append(object)
        }
        if time == nil, plan.damage == nil, !plan.reachesState {
            plan.damage = "segments up to \(position.through) of the changes are missing"
        }
        plan.time = plan.objects.last?.time ?? manifest.time
        return plan
    }

    /// Cuts a plan before the first segment that is damaged.
    private func whole(_ plan: ChangePlan) throws -> ChangePlan {
        var plan = plan
        let verified = try ApplyChanges(backup: self, storePath: "").verify(plan)
        if let damage = verified.damage {
            plan.damage = damage
            plan.objects = Array(plan.objects.prefix(verified.count))
            plan.time = plan.objects.last?.time ?? plan.momentTime
        }
        return plan
    }
}

extension BackupError {
    static func brokenChanges(_ problem: String, until time: Int64) -> Self {
        Self(
            .damaged, reason: "the changes behind the moment are damaged",
            remedy: "restore what is whole with --accept-damage, or an earlier time with --at",
            details: ["problem": problem, "wholeUntil": BackupManifest.name(of: time)])
    }
}

/// Reads the segments behind a moment, and names what cannot be applied.
package struct VerifyChanges {
    private let backup: Backup

    /// Creates the operation on a backup.
    package init(_ backup: Backup) { self.backup = backup }

    /// Verifies the segments behind a moment.
    ///
    /// - Parameters:
    ///   - name: The name of the moment.
    ///   - isNewest: Whether all segments are verified; otherwise those before the next moment of the same series.
    package func run(from name: String, isNewest: Bool) throws -> [VerifyMoment.Finding] {
        try backup.requireContents("verified")
        guard let manifest = try? backup.manifest(name), let position = manifest.changes else { return [] }
        var plan = try backup.plan(from: manifest, backup.changeObjects(), until: nil)
        if !isNewest {
            let later = try backup.momentNames().drop { $0 <= name }.first.flatMap { try? backup.manifest($0) }
            if let next = later?.changes, next.series == position.series {
                plan.objects = plan.objects.filter { $0.number <= next.after }
            }
        }
        let verified = try ApplyChanges(backup: backup, storePath: "").verify(plan)
        return (verified.damage ?? plan.damage).map { [VerifyMoment.Finding(part: "changes", problem: $0)] } ?? []
    }
}

/// Applies segments to a restored moment.
struct ApplyChanges {
    let backup: Backup
    let storePath: String

    /// The outcome.
    struct Outcome {
        /// The segments that were applied.
        var count = 0
        /// The time of the last one.
        var time: Int64?
        /// Files that never change, by their folders.
        var folders: [String: [BackupFile]] = [:]
        /// All further files, if any changed.
        var files: [BackupFile]?
    }

    /// Applies segments.
    ///
    /// - Throws: `damaged` for a segment, and the errors of the disk and the place.
    func run(_ plan: ChangePlan) throws(BackupError) -> Outcome {
        var outcome = Outcome()
        if plan.objects.isEmpty { return outcome }
        let descriptor = open(storePath, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw BackupError(system: errno, "open a file", path: storePath) }
        defer { close(descriptor) }
        do throws(BackupError) {
            try forEach(plan) { (segment, files) throws(BackupError) in
                try write(segment.changes, to: descriptor)
                for (folder, new) in files?.folders ?? [:] { outcome.folders[folder, default: []] += new }
                if let others = files?.files { outcome.files = others }
                outcome.count += 1
                outcome.time = segment.header.time
            }
        } catch {
            guard error.code == .damaged else { throw error }
            let problem = [error.details["part"], error.details["problem"]].compactMap { $0 }.joined(separator: ": ")
            throw .brokenChanges(problem, until: outcome.time ?? plan.time)
        }
        return outcome
    }

    /// Reads segments up to the first that is damaged.
    func verify(_ plan: ChangePlan) throws(BackupError) -> (count: Int, damage: String?) {
        var count = 0
        do throws(BackupError) {
            try forEach(plan) { (_, files) throws(BackupError) in
                for file in Array((files?.folders ?? [:]).values.joined()) + (files?.files ?? []) {
                    try backup.forEach(try backup.ids(of: file.content)) { _ in }
                }
                count += 1
            }
        } catch {
            guard error.code == .damaged else { throw error }
            return (count, [error.details["part"], error.details["problem"]].compactMap { $0 }.joined(separator: ": "))
        }
        return (count, nil)
    }

    private func forEach(
        _ plan: ChangePlan, _ body: (ChangeSegment, ChangedFiles?) throws(BackupError) -> Void
    ) throws(BackupError) {
        var digest = plan.digest
        for object in plan.objects {
            let (segment, next) = try backup.segment(object, after: digest)
            var files: ChangedFiles?
            if let expected = segment.header.files { files = try backup.files(object, digest: expected) }
            try body(segment, files)
            digest = next
        }
    }

    private func write(_ changes: StoreChanges, to descriptor: Int32) throws(BackupError) {
        if changes.pages.isEmpty { return }
        for (number, bytes) in changes.pages {
            let place = off_t(number - 1) * off_t(changes.pageBytes)
            var done = 0
            while done < bytes.count {
                let result = bytes.withUnsafeBytes {
                    pwrite(descriptor, $0.baseAddress.map { $0 + done }, bytes.count - done, place + off_t(done))
                }
                if result < 0 && errno != EINTR { throw BackupError(system: errno, "write a file", path: storePath) }
                if result > 0 { done += result }
            }
        }
        guard ftruncate(descriptor, off_t(changes.pageCount) * off_t(changes.pageBytes)) == 0 else {
            throw BackupError(system: errno, "cut a file", path: storePath)
        }
    }
}
