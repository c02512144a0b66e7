import CloudKitEncryption
import Foundation
import Testing

@testable import CloudKit

/// One run of an attack: with the lie, or honest, to show that nothing but the lie causes the errors.
final class Stage {
    let attack: Attack
    let cloud: HostileCloud
    let isHonest: Bool
    var liar: Liar { cloud.liar }
    /// The errors that devices reported while the lie was told.
    private(set) var errors: [any Error] = []
    private(set) var hasLied = false
    /// The number of times that a lie was told to a device.
    private(set) var occasions = 0

    /// Every sealed text begins with this, and no plain one.
    static let mark = "secret"

    init(_ attack: Attack, _ cloud: HostileCloud, isHonest: Bool) {
        self.attack = attack
        self.cloud = cloud
        self.isHonest = isHonest
    }

    /// Tells a lie while devices do something.
    ///
    /// - Parameters:
    ///   - lie: Changes the answers of the cloud; not used in the honest run.
    ///   - unnoticed: Must work in spite of the lie.
    ///   - action: Throws where a device detects the lie.
    func lie(
        _ lie: @escaping Liar.Lie, unnoticed: () async throws -> Void = {}, during action: () async throws -> Void
    ) async throws {
        try await deceive({ $0.tell(lie) }, unnoticed, action)
    }

    /// Answers requests in the cloud's place while devices do something.
    func intercept(
        _ interception: @escaping Liar.Interception, unnoticed: () async throws -> Void = {},
        during action: () async throws -> Void
    ) async throws {
        try await deceive({ $0.intercept(interception) }, unnoticed, action)
    }

    private func deceive(
        _ begin: (Liar) -> Void, _ unnoticed: () async throws -> Void, _ action: () async throws -> Void
    ) async throws {
        let before = liar.told
        occasions += 1
        if !isHonest { begin(liar) }
        defer { liar.stop() }
        try await unnoticed()
        do {
            try await action()
        } catch {
            errors.append(error)
        }
        hasLied = hasLied || liar.told > before
    }

    /// Notes a lie that is no changed answer: the cloud did what it should have refused.
    func noteLie() { hasLied = true }

    // MARK: People

    func device(_ person: String, _ kind: String = "phone") async throws -> Device {
        try await cloud.device(person, kind)
    }

    /// Keys of shares that the ghost made.
    var ghostKeys: [ShareKey] = []

    /// The ghost, with a real account.
    func ghost() async throws -> Ghost {
        let device = try await device("ghost")
        return Ghost(secret: try device.secret, userName: try device.userName)
    }

    // MARK: Data

    static let zone = CKRecordZone.ID(zoneName: "Notes")

    static func id(_ name: String, _ zone: CKRecordZone.ID = zone) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zone)
    }

    static func note(_ name: String, in zone: CKRecordZone.ID = zone, below parent: String? = "Folder") -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: id(name, zone))
        note["title"] = name
        note.encryptedValues["text"] = "secret text of \(name)"
        note.encryptedValues["extra"] = "secret extra of \(name)"
        if let parent { note.setParent(id(parent, zone)) }
        return note
    }

    /// A zone of Ada's with a folder and two notes in it.
    func makeFolder(_ zone: CKRecordZone.ID = zone) async throws {
        let ada = try await device("ada").own
        _ = try await ada.save(CKRecordZone(zoneID: zone))
        let folder = CKRecord(recordType: "Folder", recordID: Self.id("Folder", zone))
        folder["title"] = "Folder"
        folder.encryptedValues["text"] = "secret text of Folder"
        let records = [folder, Self.note("One", in: zone), Self.note("Two", in: zone)]
        let results = try await ada.modifyRecords(saving: records, deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
    }

    /// The zone as participants name it.
    func theirs(_ zone: CKRecordZone.ID = zone) async throws -> CKRecordZone.ID {
        CKRecordZone.ID(zoneName: zone.zoneName, ownerName: try await device("ada").userName)
    }

    /// Shares Ada's folder with people, who accept.
    @discardableResult
    func share(
        with people: [String] = [], permission: CKShare.ParticipantPermission = .readWrite,
        administrators: [String] = [], open: CKShare.ParticipantPermission = .none, zoneWide: Bool = false,
        slots: Int = 0
    ) async throws -> CKShare {
        let ada = try await device("ada")
        let folder = try await ada.own.record(for: Self.id("Folder"))
        let share = zoneWide ? CKShare(recordZoneID: Self.zone) : CKShare(rootRecord: folder)
        share.publicPermission = open
        for person in people {
            _ = try await device(person)
            let participant = try await ada.container.shareParticipant(
                forEmailAddress: HostileCloud.email(person))
            participant.permission = permission
            if administrators.contains(person) { participant.role = .administrator }
            share.addParticipant(participant)
        }
        for _ in 0..<slots { share.addParticipant(CKShare.Participant.oneTimeURLParticipant()) }
        let results = try await ada.own.modifyRecords(saving: zoneWide ? [share] : [folder, share], deleting: [])
        let saved = try #require(try results.saveResults[share.recordID]?.get() as? CKShare)
        for person in people { try await accept(saved.url, on: try await device(person)) }
        return saved
    }

    /// Shares the folder of a zone of Ada's with people, who have not accepted unless it says so.
    func share(
        inviting people: [String], in zone: CKRecordZone.ID = zone, open: CKShare.ParticipantPermission = .none,
        accepting: Bool = false
    ) async throws -> CKShare {
        let ada = try await device("ada")
        let folder = try await ada.own.record(for: Self.id("Folder", zone))
        let share = CKShare(rootRecord: folder)
        share.publicPermission = open
        for person in people {
            share.addParticipant(try await participant(person))
        }
        let results = try await ada.own.modifyRecords(saving: [folder, share], deleting: [])
        let saved = try #require(try results.saveResults[share.recordID]?.get() as? CKShare)
        if accepting { for person in people { try await accept(saved.url, on: try await device(person)) } }
        return saved
    }

    private func participant(_ person: String) async throws -> CKShare.Participant {
        _ = try await device(person)
        let participant = try await device("ada").container.shareParticipant(
            forEmailAddress: HostileCloud.email(person))
        participant.permission = .readWrite
        return participant
    }

    /// Adds a person to a share of Ada's.
    func add(_ person: String, to share: CKRecord.ID) async throws {
        let ada = try await device("ada").own
        let current = try #require(try await ada.record(for: share) as? CKShare)
        current.addParticipant(try await participant(person))
        _ = try await ada.save(current)
    }

    /// Opens a link on a device and accepts.
    func accept(_ url: URL?, on device: Device) async throws {
        let url = try #require(url)
        _ = try await device.container.accept(try await device.container.shareMetadata(for: url))
    }

    /// Changes the text of a note.
    func write(_ text: String, to name: String, in zone: CKRecordZone.ID = zone, _ database: CKDatabase) async throws {
        let record = try await database.record(for: Self.id(name, zone))
        record.encryptedValues["text"] = text
        _ = try await database.save(record)
    }

    /// Removes a person from a share of Ada's.
    func remove(_ person: String, from share: CKRecord.ID, by database: CKDatabase) async throws {
        let current = try #require(try await database.record(for: share) as? CKShare)
        let name = try await device(person).userName
        let participant = try #require(
            current.participants.first { $0.userIdentity.userRecordID?.recordName == name })
        current.removeParticipant(participant)
        _ = try await database.save(current)
    }

    /// The text of a note, as a device reads it now.
    func text(_ name: String, in zone: CKRecordZone.ID = zone, _ database: CKDatabase) async throws -> String? {
        try await database.record(for: Self.id(name, zone)).encryptedValues["text"] as? String
    }

    /// Reads a note; in the honest run its text has to be this.
    func read(
        _ text: String, of name: String, in zone: CKRecordZone.ID = zone, _ database: CKDatabase
    ) async throws {
        let found = try await self.text(name, in: zone, database)
        if isHonest { #expect(found == text) }
    }

    /// Reads a whole zone from the beginning; throws the first error of a record.
    @discardableResult
    func feed(
        _ database: CKDatabase, in zone: CKRecordZone.ID = zone, since token: CKServerChangeToken? = nil
    ) async throws -> (texts: [String: String], token: CKServerChangeToken) {
        let changes = try await database.recordZoneChanges(inZoneWith: zone, since: token)
        var texts: [String: String] = [:]
        for (id, result) in changes.modificationResultsByID {
            texts[id.recordName] = try result.get().record.encryptedValues["text"] as? String ?? ""
        }
        return (texts, changes.changeToken)
    }

    // MARK: Secrecy

    /// Every zone of which something sealed passed over the wire.
    func zones() async throws -> [ZoneAddress] {
        var names: Set<String> = []
        for exchange in liar.traffic {
            for body in [exchange.request, exchange.answer] {
                body.visit { if let name = $0["zoneName"]?.text { names.insert(name) } }
            }
        }
        var zones: [ZoneAddress] = []
        for owner in ["ada", "ben"] {
            let owner = try await device(owner).userName
            zones += names.map {
                ZoneAddress(
                    container: HostileCloud.container, environment: "development", owner: owner, zone: $0)
            }
        }
        return zones
    }

    /// Checks that a ghost with all of the cloud's data opens nothing.
    func checkSecrecy() async throws {
        let ghost = try await ghost()
        let loot = try ghost.loot(liar.traffic, in: try await zones(), with: ghostKeys)
        #expect(loot == [], "\(attack): the cloud opens it")
    }

    /// Checks that a person with all of the cloud's data opens nothing that contains a text.
    func check(_ person: Device, opensNothingWith text: String, links: [ShareLinkSecret] = []) async throws {
        let holder = Ghost(secret: try person.secret, userName: try person.userName, links: links)
        let loot = try holder.loot(liar.traffic, in: try await zones())
        #expect(!loot.contains { $0.contains(text) }, "\(attack): \(person.name) opens it")
    }
}
