import CloudKit
import Foundation

// A share that changes while everything else happens.
extension History {
    /// The zone whose share changes, as its owner names it.
    static let circle = CKRecordZone.ID(zoneName: "Circle")

    /// The user whose zone it is.
    var circleOwner: String { sharing?.owner ?? "ada" }
    /// The owner's name in the container.
    var circleOwnerName: String { circleOwner == "ada" ? ownerName.value : userNames.value[circleOwner] ?? "" }
    /// The owner's first device.
    var circleOwnersDevice: SimulatedDevice { devices.first { $0.user.name == circleOwner } ?? devices[0] }

    /// Returns the zone as a device reaches it, while its user is a member.
    func circle(of device: SimulatedDevice) -> Place? {
        guard let sharing else { return nil }
        let user = device.user.name
        guard user == sharing.owner || sharing.guests.contains(user) else { return nil }
        let isOwn = user == sharing.owner
        let zoneID = isOwn ? Self.circle : CKRecordZone.ID(zoneName: "Circle", ownerName: circleOwnerName)
        return Place(
            owner: sharing.owner, scope: isOwn ? .private : .shared, zoneID: zoneID, writes: .all,
            root: sharing.sharesZone ? nil : CKRecord.ID(recordName: "Root", zoneID: zoneID), isContested: !isOwn,
            hasMoves: sharing.hasMoves, hasFiles: has(.files))
    }

    /// Makes the zone and its share, undisturbed.
    func prepareCircle() async throws {
        guard let sharing, let app = circleOwnersDevice.app, let place = circle(of: circleOwnersDevice) else { return }
        let zone = CKRecordZone(zoneID: Self.circle)
        if sharing.sharesZone, chance.percent(50) { hasCircleZoneKeys.value = true }
        zone.encryptionScope = encryptionScope(of: zone.zoneID)
        let database = app.container.privateCloudDatabase
        try await database.save(zone)
        if let root = place.root { try await database.save(CKRecord(recordType: "Item", recordID: root)) }
        try await prepareSecondShare()
        let step = Step(history: self, device: circleOwnersDevice, app: app, place: place, chance: chance)
        // A query is refused before the schema has its fields.
        await step.create("r0")
        await step.share(sharing.guests)
        for device in devices where device.name.hasSuffix("-1") && sharing.guests.contains(device.user.name) {
            guard let app = device.app, let place = circle(of: device) else { continue }
            await Step(history: self, device: device, app: app, place: place, chance: chance).accept()
        }
        for guest in sharing.guests where !sharing.isPossible(.hasAccepted, true, of: guest) {
            violated("\(guest) could not accept")
        }
    }

    /// Everything that one task of a device does in the zone.
    func actInCircle(_ device: SimulatedDevice, _ chance: Chance) async {
        await takeSteps(of: device, pausingBelow: 4000, chance, at: { circle(of: device) }, takeInCircle)
    }

    /// Does something in the zone.
    @Sendable private func takeInCircle(_ step: Step, _ chance: Chance) async {
        let (device, place) = (step.device, step.place)
        if device.user.name == circleOwner, chance.percent(60) {
            await step.changeShare()
            return
        }
        if has(.administrators), device.user.name == sharing?.administrator, sharing?.isPublic == false,
            chance.percent(60)
        {
            await step.administer()
            return
        }
        if has(.engines), chance.percent(35), let mirror = step.app.mirror.value {
            let name = "r\(chance.number(0..<5))"
            if chance.percent(15) { await mirror.remove(name) } else { await mirror.write(name) }
            return
        }
        if sharing?.takesRequests == true, place.isContested, chance.percent(25) {
            await step.requestAccess()
            return
        }
        switch chance.number(0..<100) {
        case ..<25 where place.isContested: await step.accept()
        case ..<35 where place.isContested: await step.leave()
        case ..<55: await step.save()
        case ..<65: await step.saveBatch()
        case ..<75: await step.runOperation()
        case ..<80: await step.delete()
        case ..<85: await step.lookUp()
        case ..<90: await step.query()
        default: await step.follow()
        }
    }

    // MARK: At rest

    /// Adds the present share to what the cloud has.
    func collectShare(into content: inout [Cell: Int]) async throws {
        guard let app = circleOwnersDevice.app, let place = circle(of: circleOwnersDevice) else { return }
        guard let share = try await share(at: place, in: app.container.privateCloudDatabase) else { return }
        content[place.shareCell(share.recordID.recordName)] = (share[CKShare.SystemFieldKey.title] as? String).flatMap {
            Int($0)
        }
    }

    /// Returns the share of a place as its owner sees it; nil: there is none.
    func share(at place: Place, in database: CKDatabase) async throws -> CKShare? {
        var id = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: place.zoneID)
        if let root = place.root {
            guard let reference = try await database.record(for: root).share else { return nil }
            id = reference.recordID
        }
        do {
            return try await database.record(for: id) as? CKShare
        } catch let error as CKError where error.code == .unknownItem {
            return nil
        }
    }

    /// Compares what the share says with what was acknowledged, and what its members read with what the owner has.
    func judgeCircle(_ content: [Cell: Int]) async throws {
        guard let sharing, let app = circleOwnersDevice.app, let place = circle(of: circleOwnersDevice) else { return }
        let share = try await share(at: place, in: app.container.privateCloudDatabase)
        for guest in sharing.guests {
            let participant = self.participant(guest, in: share)
            let found: [SharingLedger.Right: Bool] = [
                .isParticipant: participant != nil,
                .hasAccepted: participant?.acceptanceStatus == .accepted,
                .mayWrite: participant?.permission == .readWrite,
                .isAdministrator: participant?.role == .administrator,
            ]
            for right in SharingLedger.Right.allCases where participant != nil || right != .mayWrite {
                let value = found[right] == true
                if !sharing.isPossible(right, value, of: guest) {
                    violated("the share says that \(right) of \(guest) is \(value), against what was acknowledged")
                }
            }
            let isMember = found[.hasAccepted] == true
            for device in devices where device.user.name == guest {
                guard let app = device.app, let place = circle(of: device) else { continue }
                if isMember {
                    try await judgeMember(device, app, place, stamps(at: place, content))
                } else {
                    try await judgeStranger(device, app, place)
                }
            }
        }
        for device in devices where device.name.hasSuffix("-1") && sharing.guests.contains(device.user.name) {
            guard let participant = participant(device.user.name, in: share),
                participant.acceptanceStatus == .accepted
            else { continue }
            try await judgeWriting(device, mayWrite: participant.permission == .readWrite)
        }
    }

    private func judgeMember(
        _ device: SimulatedDevice, _ app: SimulatedDevice.Booted, _ place: Place, _ expected: [String: Int]
    ) async throws {
        let database = app.container.sharedCloudDatabase
        guard try await database.allRecordZones().contains(where: { $0.zoneID == place.zoneID }) else {
            return violated("\(device.name) does not see the zone whose share \(device.user.name) has accepted")
        }
        try await judgeFollowing(device, app, place, expected, endingWith: [.changeTokenExpired, .zoneNotFound])
    }

    /// Compares what a feed shows that is followed, and one that is read from the beginning.
    ///
    /// - Parameter ends: After which errors an app begins again.
    func judgeFollowing(
        _ device: SimulatedDevice, _ app: SimulatedDevice.Booted, _ place: Place, _ expected: [String: Int],
        endingWith ends: Set<CKError.Code>, pageMax: Int? = nil
    ) async throws {
        let database = app.container.sharedCloudDatabase
        for name in [device.name, "reader-\(device.name)"] {
            let key = Follower(device: name, life: app.life, owner: place.owner, zone: place.zoneID.zoneName)
            if name != device.name { followed.value[key] = nil }
            do {
                try await follow(key, place, database, pageMax: pageMax)
            } catch let error as CKError where ends.contains(error.code) {
                try await follow(key, place, database)
            }
            let known = followed.value[key]?.stamps ?? [:]
            if known != expected {
                violated("\(name) knows the zone otherwise: \(difference(known, expected))")
            }
        }
    }

    /// Saves a record as a guest.
    private func judgeWriting(_ device: SimulatedDevice, mayWrite: Bool) async throws {
        guard let app = device.app, let place = circle(of: device) else { return }
        let stamp = ledger.makeStamp()
        // An engine of the owner may have brought back the record of before a restoration, outside of the share.
        let end = has(.longLivedOperations) ? "-\(stamp)" : ""
        let record = CKRecord(recordType: "Item", recordID: place.id("last-\(device.user.name)\(end)"))
        if let root = place.root { record.setParent(root) }
        try Content(stamp: stamp).fill(record, at: place)
        let attempt = ledger.begin(
            place.cell(record.recordID.recordName), stamp: stamp, by: device.name, at: trail.time)
        do {
            _ = try await app.container.sharedCloudDatabase.modifyRecords(
                saving: [record], deleting: [], savePolicy: .allKeys, atomically: false
            ).saveResults[record.recordID]?.get()
            ledger.end(attempt, .done, at: trail.time)
            if !mayWrite { violated("\(device.name) writes, and may only read") }
        } catch let error as CKError where error.code == .permissionFailure {
            ledger.end(attempt, .refused, at: trail.time)
            if mayWrite { violated("\(device.name) may write, and is refused: \(error.localizedDescription)") }
        }
    }

    private func judgeStranger(
        _ device: SimulatedDevice, _ app: SimulatedDevice.Booted, _ place: Place
    ) async throws {
        let database = app.container.sharedCloudDatabase
        if try await database.allRecordZones().contains(where: { $0.zoneID == place.zoneID }) {
            violated("\(device.name) sees a zone of which \(device.user.name) is no member")
        }
        do {
            _ = try await database.record(for: place.id("r0"))
            violated("\(device.name) reads a zone of which \(device.user.name) is no member")
        } catch let error as CKError
            where [.unknownItem, .zoneNotFound, .permissionFailure].contains(error.code)
        {
            return
        }
    }
}

extension History {
    /// Returns the participant that a user is; one who came by the link has no address. An invitation of an account that was deleted since is not
    /// that of its successor.
    fileprivate func participant(_ user: String, in share: CKShare?) -> CKShare.Participant? {
        share?.participants.first { participant in
            if isDeleted(participant) { return false }
            guard sharing?.isPublic == true || user == sharing?.oneTimeGuest else {
                return participant.userIdentity.lookupInfo?.emailAddress == SimulatedUser(name: user).email
            }
            return participant.userIdentity.userRecordID?.recordName == userNames.value[user]
        }
    }
}

extension Step {
    /// Changes the share as its owner: its members and what they may, whether there is one at all.
    func changeShare() async {
        guard let sharing = history.sharing else { return }
        do {
            guard let share = try await history.share(at: place, in: database) else {
                return await self.share(chance.some(chance.number(0..<sharing.guests.count + 1), of: sharing.guests))
            }
            sharing.note(share.url)
            if history.has(.endings), !history.hasSecondShare, chance.percent(8) { return await endZone() }
            if chance.percent(15) { return await endSharing(share) }
            if sharing.isPublic {
                let permission = chance.one(of: [CKShare.ParticipantPermission.none, .readOnly, .readWrite]) ?? .none
                await save(share, with: nil, permit(permission, in: share))
                return
            }
            if sharing.takesRequests, chance.percent(60), let rights = try await answerRequests(in: share) {
                await save(share, with: nil, rights)
                return
            }
            guard let guest = chance.one(of: sharing.guests) else { return }
            var rights: [SharingLedger.Right: Bool]
            if let participant = history.participant(guest, in: share) {
                if chance.percent(history.has(.administrators) ? 30 : 50) {
                    share.removeParticipant(participant)
                    rights = SharingLedger.loss
                } else if history.has(.administrators), guest == sharing.administrator, chance.percent(60) {
                    participant.role = .administrator
                    participant.permission = .readWrite
                    rights = [.isAdministrator: true, .mayWrite: true]
                } else {
                    let mayWrite = chance.percent(50)
                    participant.permission = mayWrite ? .readWrite : .readOnly
                    rights = [.mayWrite: mayWrite]
                    if participant.role == .administrator {
                        participant.role = .privateUser
                        rights[.isAdministrator] = false
                    }
                }
            } else {
                rights = try await invite(guest, to: share)
            }
            await save(share, with: nil, [guest: rights])
        } catch {
            history.expect(error, of: "share", at: place)
            let code = (error as? CKError)?.code
            if history.has(.endings), code == .zoneNotFound || code == .userDeletedZone || code == .unknownItem {
                await reopen()
            }
        }
    }

    /// Changes the share as an administrator, if the user is one: invites and removes the other guest, and changes what that one may do.
    func administer() async {
        guard let other = history.sharing?.guests.first(where: { $0 != device.user.name }) else { return }
        do {
            guard let share = try await history.share(at: place, in: database),
                share.currentUserParticipant?.role == .administrator
            else { return }
            if history.sharing?.takesRequests == true, let rights = try await answerRequests(in: share) {
                let start = now
                if await save(share, with: nil, rights) {
                    judgeMembership([.hasAccepted, .isAdministrator], since: start, "answered a request")
                }
                return
            }
            var rights: [SharingLedger.Right: Bool] = [:]
            let participant = history.participant(other, in: share)
            // Only the owner makes one-time links.
            if participant == nil, other == history.sharing?.oneTimeGuest { return }
            if let participant {
                let mayWrite = chance.percent(50)
                if chance.percent(50) {
                    share.removeParticipant(participant)
                    rights = SharingLedger.loss
                } else {
                    participant.permission = mayWrite ? .readWrite : .readOnly
                    rights = [.mayWrite: mayWrite]
                }
            } else {
                rights = try await invite(other, to: share)
            }
            let start = now
            if await save(share, with: nil, [other: rights]) {
                history.trail.note("\(device.name) changed the share as an administrator")
                judgeMembership([.hasAccepted, .isAdministrator], since: start, "changed the share")
            }
        } catch {
            history.expect(error, of: "share", at: place)
        }
    }

    /// Shares the zone, or the tree in it, with some users.
    func share(_ guests: [String]) async {
        do {
            var root: CKRecord?
            if let id = place.root { root = try await database.record(for: id) }
            let share = root.map { CKShare(rootRecord: $0) } ?? CKShare(recordZoneID: place.zoneID)
            if history.sharing?.takesRequests == true { share.allowsAccessRequests = true }
            var rights: [String: [SharingLedger.Right: Bool]] = [:]
            if history.sharing?.isPublic == true {
                rights = permit(chance.percent(60) ? .readWrite : .readOnly, in: share)
            } else {
                for guest in guests { rights[guest] = try await invite(guest, to: share) }
            }
            await save(share, with: root, rights)
        } catch {
            history.expect(error, of: "share", at: place)
        }
    }

    /// Changes what everyone with the link may do.
    private func permit(
        _ permission: CKShare.ParticipantPermission, in share: CKShare
    ) -> [String: [SharingLedger.Right: Bool]] {
        share.publicPermission = permission
        let guests = history.sharing?.guests ?? []
        return Dictionary(uniqueKeysWithValues: guests.map { ($0, SharingLedger.rights(permission)) })
    }

    private func invite(_ guest: String, to share: CKShare) async throws -> [SharingLedger.Right: Bool] {
        let mayWrite = chance.percent(60)
        if guest == history.sharing?.oneTimeGuest {
            let slot = CKShare.Participant.oneTimeURLParticipant()
            slot.permission = mayWrite ? .readWrite : .readOnly
            share.addParticipant(slot)
            return [:]
        }
        let participant = try await app.container.shareParticipant(forEmailAddress: SimulatedUser(name: guest).email)
        return add(participant, mayWrite: mayWrite, to: share)
    }

    /// Adds a participant to a share that is to be saved.
    ///
    /// - Returns: The rights that this gives.
    func add(
        _ participant: CKShare.Participant, mayWrite: Bool, to share: CKShare
    ) -> [SharingLedger.Right: Bool] {
        participant.permission = mayWrite ? .readWrite : .readOnly
        share.addParticipant(participant)
        if history.isDeleted(participant) { return [:] }
        return [.isParticipant: true, .mayWrite: mayWrite, .isAdministrator: false]
    }

    /// Saves a share, whose title is the number of the attempt.
    ///
    /// - Returns: Whether it was saved.
    @discardableResult
    private func save(
        _ share: CKShare, with root: CKRecord?, _ rights: [String: [SharingLedger.Right: Bool]]
    ) async -> Bool {
        guard let sharing = history.sharing else { return false }
        let stamp = ledger.makeStamp()
        share[CKShare.SystemFieldKey.title] = String(stamp)
        let attempt = ledger.begin(
            place.shareCell(share.recordID.recordName), stamp: stamp, base: share.recordChangeTag, by: device.name,
            at: now)
        let changes = rights.sorted { $0.key < $1.key }.map { sharing.begin($0.value, of: $0.key, at: now) }
        let result: Result<CKRecord, any Error>
        do {
            let records = root.map { [$0, share] } ?? [share]
            let results = try await database.modifyRecords(saving: records, deleting: []).saveResults
            result = results[share.recordID] ?? .failure(CKError(.internalError))
        } catch {
            result = .failure((error as? CKError)?.partialErrorsByItemID?[share.recordID] ?? error)
        }
        guard !app.network.isGone else { return false }
        if case .failure(let error) = result { history.expect(error, of: "share", at: place) }
        end(attempt, changes, outcome(of: result.map { _ in () }))
        guard let saved = try? result.get() as? CKShare else { return false }
        sharing.note(saved.url)
        if device.user.name == sharing.owner { sharing.note(linksOf: saved) }
        return true
    }

    private func endSharing(_ share: CKShare) async {
        guard let sharing = history.sharing else { return }
        let attempt = ledger.begin(place.shareCell(share.recordID.recordName), stamp: nil, by: device.name, at: now)
        let changes = sharing.guests.map {
            sharing.begin(SharingLedger.loss, of: $0, at: now)
        }
        let outcome: Ledger.Outcome
        do {
            try await database.deleteRecord(withID: share.recordID)
            outcome = .done
        } catch {
            outcome = history.outcome(.failure(error))
            history.expect(error, of: "share", at: place)
        }
        guard !app.network.isGone else { return }
        end(attempt, changes, outcome)
    }

    /// Notes the outcome of an attempt on the share and of the changes of rights that it makes.
    private func end(_ attempt: Int, _ changes: [Int], _ outcome: Ledger.Outcome) {
        ledger.end(attempt, outcome, at: now)
        for change in changes { history.sharing?.end(change, outcome, at: now) }
    }

    /// Accepts the share as a guest.
    func accept() async {
        guard let sharing = history.sharing else { return }
        if device.user.name == sharing.oneTimeGuest {
            if let link = chance.one(of: sharing.oneTimeLinks.value) { await accept(link) }
            return
        }
        guard let url = sharing.link else { return }
        let rights: [SharingLedger.Right: Bool] =
            sharing.isPublic ? [.isParticipant: true, .hasAccepted: true] : [.hasAccepted: true]
        await changeMembership(rights, "accept") {
            _ = try await app.container.accept(try await app.container.shareMetadata(for: url))
        }
    }

    /// Opens the links of the share again, as a guest with new keys: one of them is that by which the guest came.
    func acceptAgain() async {
        guard let sharing = history.sharing, device.user.name == sharing.oneTimeGuest else { return await accept() }
        for link in sharing.oneTimeLinks.value { await accept(link) }
    }

    /// Accepts the share by a one-time link.
    private func accept(_ link: (url: URL, mayWrite: Bool)) async {
        guard let sharing = history.sharing else { return }
        // It may change nothing for one who has a part already.
        let change = sharing.begin([.mayWrite: link.mayWrite, .isAdministrator: false], of: device.user.name, at: now)
        await changeMembership([.isParticipant: true, .hasAccepted: true], "accept") {
            _ = try await app.container.accept(try await app.container.shareMetadata(for: link.url))
        }
        guard !app.network.isGone else { return }
        sharing.end(change, .unknown, at: now)
    }

    /// Leaves the share as a guest.
    func leave() async {
        guard let sharing = history.sharing else { return }
        var name = CKRecordNameZoneWideShare
        if !sharing.sharesZone {
            guard let root = await fetched(["Root"], keys: nil)["Root"], let share = root.share else { return }
            name = share.recordID.recordName
        }
        await changeMembership(SharingLedger.loss, "leave") {
            try await database.deleteRecord(withID: place.id(name))
        }
    }

    private func changeMembership(
        _ rights: [SharingLedger.Right: Bool], _ step: String, _ body: () async throws -> Void
    ) async {
        guard let sharing = history.sharing else { return }
        let change = sharing.begin(rights, of: device.user.name, at: now)
        do {
            try await body()
            guard !app.network.isGone else { return }
            sharing.end(change, .done, at: now)
        } catch {
            history.expect(error, of: step, at: place)
            guard !app.network.isGone else { return }
            // The answer to a repeated request may be that of the time after it took effect.
            sharing.end(change, .unknown, at: now)
        }
    }
}
