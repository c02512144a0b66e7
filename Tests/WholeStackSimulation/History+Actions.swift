import CloudKit
import Foundation

// What devices do, several things at a time each.
extension History {
    /// Everything that one task of a device does.
    func act(_ device: SimulatedDevice, _ chance: Chance) async {
        await takeSteps(
            of: device, pausingBelow: 3000, chance, at: { chance.one(of: places(of: device)) }, take)
    }

    /// Takes some steps of a device, with pauses before them.
    ///
    /// - Parameters:
    ///   - pauseMax: Milliseconds.
    ///   - place: Returns the place of the next step; nil: there are no further ones.
    func takeSteps(
        of device: SimulatedDevice, pausingBelow pauseMax: Int, _ chance: Chance, at place: () -> Place?,
        _ take: @escaping @Sendable (Step, Chance) async -> Void
    ) async {
        for _ in 0..<chance.number(3..<7) {
            guard let app = device.app else { return }
            try? await Task.sleep(for: .milliseconds(chance.number(0..<pauseMax)))
            guard !app.network.isGone else { return }
            guard !device.isVisited.value else { continue }
            device.steps.value += 1
            defer { device.steps.value -= 1 }
            guard let place = place() else { return }
            await inSomeProcess(of: device, app, chance) { app in
                await take(Step(history: self, device: device, app: app, place: place, chance: chance), chance)
            }
        }
    }

    /// Lets one of the processes of a device do something, and waits until it is done or the process has ended.
    private func inSomeProcess(
        of device: SimulatedDevice, _ app: SimulatedDevice.Booted, _ chance: Chance,
        _ body: @escaping @Sendable (SimulatedDevice.Booted) async -> Void
    ) async {
        guard has(.processes) else { return await body(app) }
        if chance.percent(3) { await restartCompanion(of: device) }
        guard chance.percent(35), let companion = app.inCompanion else { return await body(app) }
        let isOver = Shared(false)
        Task {
            await body(companion)
            isOver.value = true
        }
        while !isOver.value, !companion.network.isGone { try? await Task.sleep(for: .milliseconds(20)) }
    }

    private func restartCompanion(of device: SimulatedDevice) async {
        do {
            try await device.restartCompanion()
        } catch {
            violated("the second process of \(device.name) does not start: \(error)")
        }
    }

    /// Does something at a place, or with one of the apps that have zones of their own.
    @Sendable private func take(_ step: Step, _ chance: Chance) async {
        let (device, app) = (step.device, step.app)
        if mayEnd(step.place), chance.percent(25) {
            if chance.percent(40) { await step.endZone() } else { await step.reopen() }
            return
        }
        if has(.feeds), chance.percent(12) {
            let scope = chance.percent(50) ? CKDatabase.Scope.private : .shared
            _ = await app.feeds.value[scope]?.sync(pageMax: chance.percent(50) ? chance.number(1..<4) : nil)
            return
        }
        if let diary = app.diary?.app, chance.percent(12) {
            await editNotes(of: diary, chance)
            return
        }
        switch chance.number(0..<100) {
        case ..<18: await step.save()
        case ..<28: await step.saveBatch()
        case ..<37: await step.runOperation()
        case ..<43: await step.delete()
        case ..<49: await step.lookUp()
        case ..<55: await step.query()
        case ..<62: await step.follow()
        case ..<68: await step.makeFamily()
        case ..<74: await step.grow()
        case ..<80: await step.subscribe()
        case ..<85: await step.useTemporaryZone()
        case ..<90: await web(device, chance)
        case 99... where has(.endings): await app.notes.removeAll()
        default: await editNotes(of: app.notes, chance)
        }
    }

    /// Lets a user write or remove a note.
    private func editNotes(of app: NotesApp, _ chance: Chance) async {
        let edit = ledger.makeStamp()
        let kind = chance.percent(70) ? "keep" : "drop"
        let name = "\(kind)\(chance.number(0..<4))"
        if kind == "drop", chance.percent(40) {
            await app.remove(name)
        } else {
            await app.write(name, edit: edit)
        }
    }
}

/// One thing that a device does at one place.
struct Step {
    let history: History
    let device: SimulatedDevice
    let app: SimulatedDevice.Booted
    let place: Place
    let chance: Chance

    var ledger: Ledger { history.ledger }
    var database: CKDatabase { place.database(app.container) }
    var now: Int64 { history.trail.time }

    private func anyName() -> String {
        if place.scope == .public { return "\(device.user.name)\(chance.number(0..<3))" }
        return "r\(chance.number(0..<5))"
    }

    // MARK: Single records

    func save() async {
        let isTrespass = place.scope == .public && chance.percent(15)
        let name = isTrespass ? "ada0" : anyName()
        let record: CKRecord
        if isTrespass {
            guard let known = await fetched([name], keys: nil)[name] else { return }
            record = known
        } else if chance.percent(75) {
            guard let known = await fetched([name], keys: nil)[name] else { return await create(name) }
            record = known
        } else {
            return await create(name)
        }
        await save(record, name)
    }

    func create(_ name: String) async {
        await save(newRecord(name), name)
    }

    /// Returns a new record, in the share of the place.
    func newRecord(_ name: String) -> CKRecord {
        let record = CKRecord(recordType: place.recordType, recordID: place.id(name))
        if let root = place.root { record.setParent(root) }
        return record
    }

    private func save(_ record: CKRecord, _ name: String) async {
        let stamp = ledger.makeStamp()
        let base = record.recordChangeTag
        let start = now
        fill(record, with: stamp)
        let attempt = ledger.begin(place.cell(name), stamp: stamp, base: base, by: device.name, at: now)
        do {
            let saved = try await database.save(record)
            settle([attempt], .success(()))
            history.observe(saved: saved, with: stamp, at: place)
            judgePermission(name, since: start)
        } catch {
            settle([attempt], .failure(error))
            history.expect(error, of: "save", at: place)
            if let server = (error as? CKError)?.serverRecord {
                history.observe(server, at: place, keys: nil, hasContents: false)
            }
        }
    }

    func fill(_ record: CKRecord, with stamp: Int) {
        do {
            try Content(stamp: stamp).fill(record, at: place)
            guard place.movesRecords, let root = place.root else { return }
            record.setParent(SharingLedger.isShared(stamp) ? root : history.secondRoot(at: place))
        } catch {
            history.violated("the file of \(stamp) cannot be written: \(error)")
        }
    }

    /// Notes the outcome of attempts.
    func settle(_ attempts: [Int], _ result: Result<Void, any Error>) {
        // The app that would learn of it has ended.
        guard !app.network.isGone else { return }
        let outcome = outcome(of: result)
        for attempt in attempts {
            // A record that has left the share is as good as deleted for a guest.
            let saysNothing = place.losesRecords && ledger.stamp(of: attempt) == nil
            ledger.end(attempt, saysNothing ? .unknown : outcome, at: now)
        }
    }

    /// Returns what an answer says of the fate of a change.
    func outcome(of result: Result<Void, any Error>) -> Ledger.Outcome {
        let outcome = history.outcome(result)
        // The answer to a repeated request may be that of the time after the user lost the right.
        return place.isContested && outcome == .refused ? .unknown : outcome
    }

    /// Reports a write that the access table refuses.
    func judgePermission(_ name: String, since start: Int64) {
        judgeMembership([.hasAccepted, .mayWrite], since: start, "wrote \(name)")
        switch place.writes {
        case .all: break
        case .none: history.violated("\(device.name) wrote \(place.cell(name)), which is read-only")
        case .own where !name.hasPrefix(device.user.name):
            history.violated("\(device.name) wrote \(place.cell(name)) of another user")
        case .own: break
        }
    }

    /// Reports an answer to a guest who cannot have had some rights since the request began.
    func judgeMembership(_ rights: [SharingLedger.Right], since start: Int64, _ what: String) {
        guard place.isContested, let sharing = history.sharing else { return }
        for right in rights where sharing.wasImpossible(right, of: device.user.name, from: start, to: now) {
            history.violated("\(device.name) \(what), although \(right) had ended")
        }
    }

    func delete() async {
        let name = anyName()
        let attempt = ledger.begin(place.cell(name), stamp: nil, by: device.name, at: now)
        do {
            try await database.deleteRecord(withID: place.id(name))
            settle([attempt], .success(()))
        } catch {
            settle([attempt], .failure(error))
            history.expect(error, of: "delete", at: place)
        }
    }

    // MARK: Batches

    /// A batch of changes with the attempts that it makes.
    struct Batch {
        var records: [CKRecord] = []
        var deletions: [CKRecord.ID] = []
        var attempts: [CKRecord.ID: Int] = [:]
        var start: Int64 = 0
    }

    /// - Parameter isFresh: Whether the records have names that nobody else uses.
    private func makeBatch(isFresh: Bool) async -> Batch {
        var batch = Batch()
        let names: [String]
        if isFresh {
            let stamp = ledger.makeStamp()
            names = (0..<chance.number(2..<4)).map {
                place.scope == .public ? "\(device.user.name)-b\(stamp)-\($0)" : "b\(stamp)-\($0)"
            }
        } else {
            names = Array(Set((0..<3).map { _ in anyName() })).sorted()
        }
        let known = isFresh || chance.percent(30) ? [:] : await fetched(names, keys: nil)
        batch.start = now
        for name in names {
            if !isFresh, chance.percent(20) {
                batch.deletions.append(place.id(name))
                batch.attempts[place.id(name)] = ledger.begin(place.cell(name), stamp: nil, by: device.name, at: now)
                continue
            }
            let record = known[name] ?? newRecord(name)
            let stamp = ledger.makeStamp()
            batch.attempts[record.recordID] = ledger.begin(place.cell(name), stamp: stamp, by: device.name, at: now)
            fill(record, with: stamp)
            batch.records.append(record)
        }
        return batch
    }

    func saveBatch() async {
        let isFresh = chance.percent(40)
        let batch = await makeBatch(isFresh: isFresh)
        var policy = chance.one(of: [
            CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys,
        ])
        // A parent that stays is not sent.
        if place.movesRecords { policy = .ifServerRecordUnchanged }
        let isAtomic = chance.percent(60)
        if isFresh, isAtomic, !place.isDefault {
            ledger.note(atomicGroup: batch.records.map { place.cell($0.recordID.recordName) })
        }
        do {
            let results = try await database.modifyRecords(
                saving: batch.records, deleting: batch.deletions, savePolicy: policy ?? .allKeys, atomically: isAtomic)
            for (id, result) in results.saveResults.sorted(by: { $0.key.recordName < $1.key.recordName }) {
                take(id, result.map { _ in () }, batch)
                if case .success(let record) = result, let stamp = batch.attempts[id].flatMap(ledger.stamp) {
                    history.observe(saved: record, with: stamp, at: place)
                }
            }
            for (id, result) in results.deleteResults.sorted(by: { $0.key.recordName < $1.key.recordName }) {
                take(id, result, batch)
            }
        } catch {
            let errors = (error as? CKError)?.partialErrorsByItemID ?? [:]
            history.expect(error, of: "batch", at: place)
            for (id, attempt) in batch.attempts {
                // Of a batch that failed as a whole in part, the items without an error of their own were done.
                if let own = errors[AnyHashable(id)] {
                    settle([attempt], .failure(own))
                } else {
                    settle([attempt], errors.isEmpty ? .failure(error) : .success(()))
                }
            }
        }
    }

    private func take(_ id: CKRecord.ID, _ result: Result<Void, any Error>, _ batch: Batch) {
        if case .failure(let error) = result { history.expect(error, of: "item", at: place) }
        if case .success = result, batch.records.contains(where: { $0.recordID == id }) {
            judgePermission(id.recordName, since: batch.start)
        }
        if let attempt = batch.attempts[id] { settle([attempt], result) }
    }

    /// The same by an operation, which tries again by itself when the cloud asks for it.
    func runOperation() async {
        let batch = await makeBatch(isFresh: chance.percent(30))
        let operation = CKModifyRecordsOperation(recordsToSave: batch.records, recordIDsToDelete: batch.deletions)
        operation.savePolicy = chance.percent(50) ? .ifServerRecordUnchanged : .changedKeys
        if place.movesRecords { operation.savePolicy = .ifServerRecordUnchanged }
        operation.isAtomic = chance.percent(50)
        operation.qualityOfService = chance.percent(50) ? .utility : .userInitiated
        if history.has(.longLivedOperations), app.process == 0, chance.percent(60) { outlive(operation, batch) }
        if chance.percent(10) {
            let pause = chance.number(1..<200)
            Task { [chance] in
                _ = chance
                try? await Task.sleep(for: .milliseconds(pause))
                operation.cancel()
            }
        }
        await finish(operation, batch)
    }

    /// Runs an operation and takes its results.
    func finish(_ operation: CKModifyRecordsOperation, _ batch: Batch) async {
        let results = Shared<[CKRecord.ID: Result<Void, any Error>]>([:])
        operation.perRecordSaveBlock = { id, result in results.value[id] = result.map { _ in () } }
        operation.perRecordDeleteBlock = { id, result in results.value[id] = result }
        let end: Result<Void, any Error> = await withCheckedContinuation { continuation in
            operation.modifyRecordsResultBlock = { continuation.resume(returning: $0) }
            database.add(operation)
        }
        if case .failure(let error) = end { history.expect(error, of: "operation", at: place) }
        for (id, attempt) in batch.attempts.sorted(by: { $0.value < $1.value }) {
            if let result = results.value[id] {
                take(id, result, batch)
            } else if case .failure(let error) = end {
                settle([attempt], .failure(error))
            } else {
                history.violated("an operation ended without the result of \(place.cell(id.recordName))")
            }
        }
        if !app.network.isGone { device.unfinished.value[operation.operationID] = nil }
    }

    // MARK: Reading

    /// Returns the records with these names that can be read.
    func fetched(_ names: [String], keys: [String]?) async -> [String: CKRecord] {
        let start = now
        do {
            let results = try await database.records(for: names.map(place.id), desiredKeys: keys.map { $0 + ["stamp"] })
            var records: [String: CKRecord] = [:]
            for (id, result) in results.sorted(by: { $0.key.recordName < $1.key.recordName }) {
                switch result {
                case .success(let record):
                    guard id == record.recordID else {
                        history.violated(
                            "\(place.cell(id.recordName)) was asked for, \(record.recordID.recordName) came")
                        continue
                    }
                    history.observe(record, at: place, keys: keys)
                    judgeMembership([.hasAccepted], since: start, "read \(id.recordName)")
                    records[id.recordName] = record
                case .failure(let error): history.expect(error, of: "fetch", at: place)
                }
            }
            return records
        } catch {
            history.expect(error, of: "fetch", at: place)
            return [:]
        }
    }

    func lookUp() async {
        let keys = chance.percent(60) ? chance.some(2, of: Content.keys + ["secret"]) : nil
        _ = await fetched(
            [anyName(), "r0", "missing"].reduce(into: []) { if !$0.contains($1) { $0.append($1) } }, keys: keys)
    }

    func query() async {
        guard let question = chance.one(of: Content.questions(chance)) else { return }
        let keys = chance.percent(50) ? chance.some(2, of: Content.keys) : nil
        do {
            let stamps = try await history.stamps(
                question, at: place, in: database, keys: keys, pageMax: chance.percent(50) ? 2 : 100)
            for (name, stamp) in stamps where !Place.isRoot(name) && !question.matches(Content(stamp: stamp)) {
                history.violated("\(question.format) found \(place.cell(name)) with \(stamp)")
            }
        } catch {
            history.expect(error, of: "query", at: place)
        }
    }

    /// Follows the feed of the zone from where this app has come.
    func follow() async {
        guard place.scope != .public, !place.isDefault else { return }
        let key = History.Follower(
            device: device.name, life: app.life, process: app.process, owner: place.owner, zone: place.zoneID.zoneName)
        do {
            try await history.follow(
                key, place, database, usesOperation: chance.percent(50), pageMax: chance.percent(50) ? 3 : nil)
        } catch {
            history.expect(error, of: "follow", at: place)
        }
    }

    // MARK: References

    /// Saves a record and others that go with it, and deletes the first one later.
    func makeFamily() async {
        guard place.scope == .private, place.root == nil, place.writes == .all else { return }
        let stamp = ledger.makeStamp()
        let parentName = "p\(stamp)"
        let parent = CKRecord(recordType: "Item", recordID: place.id(parentName))
        var records = [parent]
        for number in 0..<chance.number(1..<4) {
            let child = CKRecord(recordType: "Item", recordID: place.id("p\(stamp)-c\(number)"))
            child["owner"] = CKRecord.Reference(record: parent, action: .deleteSelf)
            ledger.note(place.cell(child.recordID.recordName), goesWith: place.cell(parentName))
            records.append(child)
            if chance.percent(40) {
                let grandchild = CKRecord(recordType: "Item", recordID: place.id("p\(stamp)-c\(number)-g"))
                grandchild["owner"] = CKRecord.Reference(record: child, action: .deleteSelf)
                ledger.note(place.cell(grandchild.recordID.recordName), goesWith: place.cell(child.recordID.recordName))
                records.append(grandchild)
            }
        }
        var attempts: [CKRecord.ID: Int] = [:]
        for record in records {
            let stamp = ledger.makeStamp()
            fill(record, with: stamp)
            attempts[record.recordID] = ledger.begin(
                place.cell(record.recordID.recordName), stamp: stamp, by: device.name, at: now)
        }
        do {
            let results = try await database.modifyRecords(saving: records, deleting: [], atomically: false)
            for (id, result) in results.saveResults {
                if let attempt = attempts[id] { settle([attempt], result.map { _ in () }) }
                if case .failure(let error) = result { history.expect(error, of: "item", at: place) }
            }
        } catch {
            settle(attempts.values.sorted(), .failure(error))
            history.expect(error, of: "family", at: place)
        }
        guard chance.percent(70) else { return }
        try? await Task.sleep(for: .milliseconds(chance.number(0..<2000)))
        let attempt = ledger.begin(place.cell(parentName), stamp: nil, by: device.name, at: now)
        do {
            try await database.deleteRecord(withID: parent.recordID)
            settle([attempt], .success(()))
        } catch {
            settle([attempt], .failure(error))
            history.expect(error, of: "delete", at: place)
        }
    }

    // MARK: Schema

    /// Saves a record whose type or field the schema may not have yet.
    func grow() async {
        let stamp = ledger.makeStamp()
        let type = "Grown\(chance.number(0..<3))"
        let name = "g\(stamp)"
        let record = CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name))
        record["stamp"] = stamp
        record["extra\(chance.number(0..<4))"] = stamp
        let cell = Cell(owner: device.user.name, zone: CKRecordZone.ID.defaultZoneName, name: name)
        let attempt = ledger.begin(cell, stamp: stamp, by: device.name, at: now)
        do {
            try await app.container.privateCloudDatabase.save(record)
            settle([attempt], .success(()))
            history.note(grown: type)
        } catch {
            settle([attempt], .failure(error))
            history.expect(error, of: "grow", at: place)
        }
    }

    // MARK: Subscriptions

    func subscribe() async {
        let id = "\(device.user.name)-extra\(chance.number(0..<3))"
        do {
            if chance.percent(25) {
                try await database.deleteSubscription(withID: id)
                return
            }
            let subscription: CKSubscription
            if place.scope == .public || place.scope == .private && chance.percent(50) {
                let question = chance.one(of: Content.questions(chance).filter { !$0.format.contains("PREDICATE") })
                guard let question else { return }
                let query = CKQuerySubscription(
                    recordType: place.recordType,
                    predicate: NSPredicate(format: question.format, argumentArray: question.arguments),
                    subscriptionID: id, options: [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion])
                if place.scope == .private { query.zoneID = place.zoneID }
                subscription = query
            } else if place.scope == .shared || place.isDefault || chance.percent(50) {
                subscription = CKDatabaseSubscription(subscriptionID: id)
            } else {
                subscription = CKRecordZoneSubscription(zoneID: place.zoneID, subscriptionID: id)
            }
            let information = CKSubscription.NotificationInfo()
            information.shouldSendContentAvailable = true
            subscription.notificationInfo = information
            try await database.save(subscription)
        } catch {
            history.expect(error, of: "subscribe", at: place)
        }
    }

    // MARK: Zones

    func useTemporaryZone() async {
        let zone = CKRecordZone(zoneName: "Temporary\(chance.number(0..<2))")
        if chance.percent(50) { zone.encryptionScope = .perRecord }
        let database = app.container.privateCloudDatabase
        let temporary = history.ownPlace(zone.zoneID, of: device.user.name)
        do {
            try await database.save(zone)
        } catch {
            return history.expect(error, of: "zone", at: temporary)
        }
        let step = Step(history: history, device: device, app: app, place: temporary, chance: chance)
        await step.saveBatch()
        guard chance.percent(60) else { return }
        let (owner, name) = (device.user.name, zone.zoneID.zoneName)
        let attempt = ledger.begin(deleting: { $0.owner == owner && $0.zone == name }, at: now)
        do {
            try await database.deleteRecordZone(withID: zone.zoneID)
            settle([attempt], .success(()))
        } catch {
            settle([attempt], .failure(error))
            history.expect(error, of: "zone", at: temporary)
        }
    }
}

extension History {
    // MARK: Web services

    /// Does what only a client of web services can: replaces records, and validates references.
    func web(_ device: SimulatedDevice, _ chance: Chance) async {
        guard let app = device.app, let web = webClients.value[device.user.name] else { return }
        let zone = CKRecordZone.ID.defaultZoneName
        let name = "w\(chance.number(0..<3))"
        let cell = Cell(owner: device.user.name, zone: zone, name: name)
        let stamp = ledger.makeStamp()
        var fields = ["stamp": stamp]
        // What a replacement does not name is gone.
        if stamp.isMultiple(of: 2) { fields["even"] = stamp }
        let isDeletion = chance.percent(25)
        var attempt: Int?
        do {
            var tag: String?
            let type: String
            switch chance.number(0..<4) {
            case 0:
                tag = try await web.lookup(name).tag
                guard tag != nil else { return }
                type = "replace"
            default: type = "forceReplace"
            }
            guard !app.network.isGone else { return }
            let number = ledger.begin(
                cell, stamp: isDeletion ? nil : stamp, base: isDeletion ? nil : tag, by: device.user.name + "-web",
                at: trail.time)
            attempt = number
            var references: [String: String] = [:]
            // Only upwards: a cycle of validated references could never be deleted.
            if !isDeletion, name != "w0", chance.percent(50) { references["after"] = "w0" }
            let answer = try await web.modify(
                isDeletion ? "forceDelete" : type, name, fields: isDeletion ? [:] : fields, references: references,
                tag: tag)
            let isKnown = answer.code == nil || !(answer.isUncertain || repeats)
            ledger.end(number, answer.code == nil ? .done : isKnown ? .refused : .unknown, at: trail.time)
            if let code = answer.code,
                ![
                    "CONFLICT", "NOT_FOUND", "VALIDATING_REFERENCE_ERROR", "TRY_AGAIN_LATER", "BAD_REQUEST",
                ].contains(code), !has(.endings) || !["THROTTLED", "QUOTA_EXCEEDED"].contains(code),
                // The client's token ends with the session of the device that made it.
                !has(.sessions) || !["AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED"].contains(code),
                // That of an account that is about to be deleted.
                deletedName.value.isEmpty && !has(.disabledAccounts) || code != "ACCESS_DENIED"
            {
                violated("the web client got \(code) for \(type) of \(cell)")
            }
        } catch {
            if let attempt { ledger.end(attempt, .unknown, at: trail.time) }
        }
    }
}
