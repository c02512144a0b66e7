import CloudKit
import CloudKitModel
import CloudKitServer
import Foundation

// What is checked when nothing is under way.
extension History {
    /// Checks the state that all devices and the cloud have come to.
    ///
    /// - Parameter isLast: Whether nothing follows.
    func judge(isLast: Bool) async throws {
        trail.note("judge")
        var content: [Cell: Int] = [:]
        for device in devices where device.name.hasSuffix("-1") {
            try await collect(device, into: &content)
        }
        try await collectShare(into: &content)
        for cell in ledger.cells {
            if let contradiction = ledger.contradiction(cell, has: content[cell]) {
                violated("\(cell): \(contradiction)")
            }
        }
        for (cell, stamp) in content.sorted(by: { $0.key < $1.key }) {
            if let objection = ledger.objection(to: stamp, in: cell) { violated("\(cell): \(objection)") }
        }
        for text in ledger.overwrittenUnseen { violated(text) }
        for group in ledger.atomicGroups {
            let present = group.filter { content[$0] != nil }
            if !present.isEmpty, present.count < group.count { violated("half of an atomic batch: \(present)") }
        }
        for (child, parent) in ledger.owners.sorted(by: { $0.key < $1.key })
        where content[child] != nil && content[parent] == nil && ledger.wasSaved(parent) && ledger.wasSaved(child) {
            violated("\(child) outlives \(parent)")
        }
        for device in devices { try await judge(device, content) }
        try await judgeMirrors(content)
        try await judgeFeeds(content)
        try await judgeCircle(content)
        try await judgeSecondShare(content)
        try await judgeNotes()
        try await judgeVisits()
        try await judgeDeletion()
        try await judgeReferences()
        judgeNotifications()
        if isLast {
            try await judgeDeployment()
            try await judgeExports(content)
        }
        await judgePasswords()
    }

    private static var everything: Content.Question {
        Content.Question(format: "TRUEPREDICATE", arguments: []) { _ in true }
    }

    /// Adds what a user's own databases have.
    private func collect(_ device: SimulatedDevice, into content: inout [Cell: Int]) async throws {
        guard let app = device.app else { return }
        let user = device.user.name
        let database = app.container.privateCloudDatabase
        for zone in try await database.allRecordZones() where zone.zoneID != NotesApp.zone.zoneID {
            let place = ownPlace(zone.zoneID, of: user)
            if place.isDefault {
                for type in ["Item", "Page", "Grown0", "Grown1", "Grown2"] {
                    for (name, stamp) in try await found(type, at: place, in: database) {
                        content[place.cell(name)] = stamp
                    }
                }
            } else {
                let feed = try await feed(of: place, database)
                let found = try await found("Item", at: place, in: database)
                if feed != found.filter({ !Place.isRoot($0.key) }) {
                    violated(
                        "the feed of \(user)/\(zone.zoneID.zoneName) differs from its records: \(difference(feed, found))"
                    )
                }
                for (name, stamp) in feed { content[place.cell(name)] = stamp }
            }
        }
        if user == "ada" {
            let place = publicPlace
            for (name, stamp) in try await found("Post", at: place, in: app.container.publicCloudDatabase) {
                content[place.cell(name)] = stamp
            }
        }
    }

    private func found(_ type: String, at place: Place, in database: CKDatabase) async throws -> [String: Int] {
        do {
            return try await stamps(Self.everything, ofType: type, at: place, in: database)
        } catch let error as CKError where error.code == .unknownItem {
            // No record of the type was ever saved.
            return [:]
        }
    }

    private func feed(of place: Place, _ database: CKDatabase) async throws -> [String: Int] {
        let reader = Follower(device: "reader", life: 0, owner: place.owner, zone: place.zoneID.zoneName)
        followed.value[reader] = nil
        try await follow(reader, place, database, pageMax: chance.percent(50) ? 4 : nil)
        return followed.value[reader]?.stamps ?? [:]
    }

    func difference(_ a: [String: Int], _ b: [String: Int]) -> String {
        Set(a.keys).union(b.keys).filter { a[$0] != b[$0] }.sorted()
            .map { "\($0): \(a[$0].map(String.init) ?? "-") \(b[$0].map(String.init) ?? "-")" }.joined(separator: ", ")
    }

    /// Compares what a device reads with the content.
    private func judge(_ device: SimulatedDevice, _ content: [Cell: Int]) async throws {
        guard let app = device.app else { return violated("\(device.name) is off") }
        for place in places(of: device) {
            let database = place.database(app.container)
            let expected = stamps(at: place, content)
            if !place.isDefault {
                let key = Follower(device: device.name, life: app.life, owner: place.owner, zone: place.zoneID.zoneName)
                do {
                    try await follow(key, place, database)
                } catch let error as CKError where error.code == .changeTokenExpired {
                    try await follow(key, place, database)
                }
                let known = followed.value[key]?.stamps ?? [:]
                if known != expected {
                    violated(
                        "\(device.name) knows \(place.owner)/\(place.zoneID.zoneName) otherwise: \(difference(known, expected))"
                    )
                }
            }
            guard !expected.isEmpty else { continue }
            for question in chance.some(3, of: Content.questions(chance)) {
                let found = try await stamps(
                    question, at: place, in: database, pageMax: chance.percent(50) ? 3 : 100
                ).filter { !Place.isRoot($0.key) }
                let matching = expected.filter { question.matches(Content(stamp: $0.value)) }
                if found != matching {
                    violated(
                        "\(device.name): \(question.format) \(question.arguments) in \(place.owner)/\(place.zoneID.zoneName): \(difference(found, matching))"
                    )
                }
            }
        }
        try await judgeAccess(device, app.container)
    }

    /// Returns the records that a user has to find at a place.
    func stamps(at place: Place, _ content: [Cell: Int]) -> [String: Int] {
        var stamps: [String: Int] = [:]
        for (cell, stamp) in content where cell.owner == place.owner && cell.zone == place.zoneID.zoneName {
            let isOther = ["w", "g"].contains(cell.name.prefix(1)) && place.isDefault && place.scope == .private
            let isHidden = place.scope == .shared && cell.name == "outside"
            let isOut = place.losesRecords && !ledger.isShared(stamp, by: place.owner)
            if !isOther, !isHidden, !isOut { stamps[cell.name] = stamp }
        }
        return stamps
    }

    /// Tries what the user must not see.
    private func judgeAccess(_ device: SimulatedDevice, _ container: CKContainer) async throws {
        let database = container.sharedCloudDatabase
        let user = device.user.name
        let zones = try await database.allRecordZones().map(\.zoneID.zoneName).filter { $0 != Self.circle.zoneName }
        let isGuest = user != "ada" && rights.value[user] != nil
        if zones != (isGuest ? ["Club"] : []) { violated("\(device.name) sees the shared zones \(zones)") }
        guard user != "ada" else { return }
        var hidden = [
            CKRecord.ID(recordName: "r0", zoneID: CKRecordZone.ID(zoneName: "Work", ownerName: ownerName.value))
        ]
        let club = CKRecordZone.ID(zoneName: "Club", ownerName: ownerName.value)
        if !isGuest { hidden.append(CKRecord.ID(recordName: "r0", zoneID: club)) }
        if !sharesZone { hidden.append(CKRecord.ID(recordName: "outside", zoneID: club)) }
        for id in hidden {
            do {
                _ = try await database.record(for: id)
                violated("\(device.name) reads \(id.recordName) in \(id.zoneID.zoneName) of Ada's")
            } catch let error as CKError
                where [.unknownItem, .zoneNotFound, .permissionFailure].contains(error.code)
            {
                continue
            }
        }
    }

    /// Compares the copies that engines keep with what each device can reach.
    private func judgeMirrors(_ content: [Cell: Int]) async throws {
        for device in devices {
            guard let mirror = device.app?.mirror.value else { continue }
            let zoneIDs = try await judgeCopy("the engine", of: device, mirrorScope(of: device), content) {
                await mirror.stamps(in: $0)
            }
            guard mirrorScope(of: device) == .shared else { continue }
            let guestZones = [
                CKRecordZone.ID(zoneName: Self.circle.zoneName, ownerName: circleOwnerName),
                CKRecordZone.ID(zoneName: club.zoneName, ownerName: ownerName.value),
            ]
            for zoneID in guestZones where !zoneIDs.contains(zoneID) {
                if await mirror.stamps(in: zoneID) != nil {
                    violated("the engine of \(device.name) keeps \(zoneID.zoneName), of which the user is no member")
                }
            }
        }
    }

    /// Compares the copies of apps without an engine with what each device can reach.
    private func judgeFeeds(_ content: [Cell: Int]) async throws {
        for device in devices {
            for (scope, feed) in device.app?.feeds.value.sorted(by: { $0.key.rawValue < $1.key.rawValue }) ?? [] {
                let zoneIDs = try await judgeCopy("the feed", of: device, scope, content) { feed.stamps(in: $0) }
                for zoneID in feed.zoneIDs where !zoneIDs.contains(zoneID) {
                    violated("the feed of \(device.name) has not reported the end of \(zoneID.zoneName)")
                }
            }
        }
    }

    /// Compares a copy of a database's zones, the default zone and that of the notes left out, with what the device can reach.
    ///
    /// - Parameters:
    ///   - copy: Whose copy it is.
    ///   - known: Returns the stamps that the copy has of a zone; nil: it does not know the zone.
    /// - Returns: The zones that the device can reach.
    private func judgeCopy(
        _ copy: String, of device: SimulatedDevice, _ scope: CKDatabase.Scope, _ content: [Cell: Int],
        known: (CKRecordZone.ID) async -> [String: Int]?
    ) async throws -> [CKRecordZone.ID] {
        guard let app = device.app else { return [] }
        let zoneIDs = try await app.container.database(with: scope).allRecordZones().map(\.zoneID)
        for zoneID in zoneIDs where zoneID != NotesApp.zone.zoneID && zoneID != .default {
            let expected = stamps(at: place(zoneID, of: device), content)
            guard let known = await known(zoneID) else {
                violated("\(copy) of \(device.name) does not know \(zoneID.zoneName)")
                continue
            }
            if known != expected {
                violated(
                    "\(copy) of \(device.name) knows \(zoneID.zoneName) otherwise: \(difference(known, expected))")
            }
        }
        return zoneIDs
    }

    /// Checks that the notes of all devices of a user are those of the cloud.
    private func judgeNotes() async throws {
        for user in Self.users {
            let booted = devices.filter { $0.user.name == user }.compactMap { device in
                device.app.map { (device.name, $0) }
            }
            try await judgeNotes(
                of: booted.map { ($0.0, $0.1.notes) }, in: booted.first?.1.container, since: notesEnded.value[user] ?? 0
            )
            try await judgeNotes(
                of: booted.compactMap { name, app in app.diary.map { ("\(name)'s diary", $0.app) } },
                in: booted.first?.1.diary?.container, since: diaryEnded.value[user] ?? 0)
        }
    }

    /// Checks that the notes of several devices are those of a container.
    ///
    /// - Parameter end: The stamp from which on edits cannot have been lost with their zone.
    private func judgeNotes(
        of apps: [(name: String, app: NotesApp)], in container: CKContainer?, since end: Int
    ) async throws {
        guard let container else { return }
        var held: [String: NotesApp.Note] = [:]
        var token: CKServerChangeToken?
        var hasMore = true
        do {
            while hasMore {
                let page = try await container.privateCloudDatabase.recordZoneChanges(
                    inZoneWith: NotesApp.zone.zoneID, since: token)
                for (id, result) in page.modificationResultsByID {
                    held[id.recordName] = NotesApp.note(try result.get().record)
                }
                token = page.changeToken
                hasMore = page.moreComing
            }
        } catch let error as CKError where error.code == .zoneNotFound || error.code == .userDeletedZone {
            held = [:]
        }
        for (name, app) in apps {
            let notes = await app.notes
            let odd = Set(notes.keys).union(held.keys).filter { notes[$0] != held[$0] }.sorted()
            if !odd.isEmpty {
                violated(
                    "the notes of \(name) differ: \(odd.map { "\($0) \(notes[$0]?.edit ?? -1) \(held[$0]?.edit ?? -1)" })"
                )
            }
            for damage in await app.damage { violated("a note of \(name): \(damage)") }
            for (note, edit) in await app.acknowledged.sorted(by: { $0.key < $1.key })
            where note.hasPrefix("keep") && held[note]?.edit ?? -1 < edit && edit > end {
                violated("\(name): the cloud has lost edit \(edit) of \(note)")
            }
            let failures = await app.failures.subtracting(
                [
                    .serverRecordChanged, .unknownItem, .zoneNotFound, .networkFailure, .networkUnavailable,
                    .serviceUnavailable, .requestRateLimited, .serverResponseLost, .zoneBusy, .operationCancelled,
                    .batchRequestFailed,
                ] + (has(.endings) ? [.userDeletedZone, .quotaExceeded] : [])
                    + (restoration.value == .none ? [] : Array(Self.ofRestorations))
                    + (has(.sessions) ? [.notAuthenticated, .accountTemporarilyUnavailable] : []))
            if !failures.isEmpty { violated("the sync engine of \(name) met \(failures.map { "\($0)" }.sorted())") }
        }
    }

    /// Checks that the targets of validated references exist, and that replaced fields are gone.
    private func judgeReferences() async throws {
        for (user, web) in webClients.value.sorted(by: { $0.key < $1.key }) {
            let target = try await web.lookup("w0")
            for name in ["w0", "w1", "w2"] {
                let page = try await web.lookup(name)
                guard page.code == nil, let stamp = page.fields["stamp"] as? Int else { continue }
                if (page.fields["even"] as? Int == stamp) != stamp.isMultiple(of: 2) {
                    violated("\(user)'s \(name) with \(stamp) has fields that were replaced")
                }
                if page.fields["after"] != nil, target.code != nil {
                    violated("\(user)'s \(name) refers to a record that is gone")
                }
            }
        }
    }

    /// Checks that devices were notified of the latest changes of others.
    private func judgeNotifications() {
        for device in devices {
            let user = device.user.name
            let kinds: [(String, (Cell, Int) -> Bool)] = [
                (user + "-work", { cell, _ in cell.owner == user && cell.zone == "Work" }),
                (user + "-all", { cell, _ in cell.owner == user && cell.zone != CKRecordZone.ID.defaultZoneName }),
                (user + "-posts", { cell, stamp in cell.owner == "public" && Content(stamp: stamp).n < 5 }),
            ]
            // The end of a zone takes its subscriptions with it.
            let mayEndWork = mayEnd(ownPlace(CKRecordZone.ID(zoneName: "Work"), of: user))
            for (subscription, matches) in kinds {
                if mayEndWork, subscription == user + "-work" { continue }
                guard let start = ledger.latestSave(notBy: device.name, where: matches),
                    start > max(subscribed.value[user] ?? .max, device.registered.value)
                else { continue }
                let isReported = device.received.value.contains { $0.subscription == subscription && $0.time >= start }
                if !isReported {
                    violated("\(device.name) was not notified by \(subscription) of the save at \(start)")
                }
            }
        }
    }

    /// Checks that production has after a deployment what development had, and nothing else.
    private func judgeDeployment() async throws {
        guard let app = devices[0].app, let cloud = cloud.cloud else { return }
        _ = try await DeploySchema(cloud).run(of: ContainerID(SimulatedCloud.container), force: true)
        // Servers look again after a while.
        try await Task.sleep(for: .seconds(10))
        for type in grownTypes {
            let record = CKRecord(recordType: type)
            record["stamp"] = 1
            do {
                try await app.production.privateCloudDatabase.save(record)
            } catch {
                violated("production does not take \(type): \(error.localizedDescription)")
            }
        }
        do {
            try await app.production.privateCloudDatabase.save(CKRecord(recordType: "Never"))
            violated("production took a type that was never deployed")
        } catch let error as CKError where error.code == .invalidArguments {
            return
        }
    }
}
