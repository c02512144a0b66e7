import CloudKitModel
import Foundation

@testable import CloudKit
@testable import CloudKitClient

/// Three users with devices of one cloud: Ada owns, Ben and Cat are invited.
struct SharingHousehold: Sendable {
    let cloud: ThrowawayCloud
    private let devices: [SigningDevice]
    var ada: CKContainer { devices[0].container }
    var ben: CKContainer { devices[1].container }
    var cat: CKContainer { devices[2].container }

    /// The devices behind the containers, in the order of the names.
    var signedIn: (ada: SigningDevice, ben: SigningDevice, cat: SigningDevice) { (devices[0], devices[1], devices[2]) }

    static let password = "correct horse"

    static func run(_ body: (SharingHousehold) async throws -> Void) async throws {
        try await ThrowawayCloud.run { cloud in try await body(try await SharingHousehold(cloud)) }
    }

    /// Makes the accounts and their devices.
    ///
    /// - Parameter network: Of the devices' containers.
    init(_ cloud: ThrowawayCloud, over network: any Transport = HTTPTransport.shared) async throws {
        self.cloud = cloud
        var devices: [SigningDevice] = []
        for name in ["ada", "ben", "cat"] { devices.append(try await Self.newcomer(name, cloud, over: network)) }
        self.devices = devices
    }

    /// Returns a device of a user who had no account until now.
    func newcomer(_ name: String) async throws -> SigningDevice { try await Self.newcomer(name, cloud) }

    static func newcomer(
        _ name: String, _ cloud: ThrowawayCloud, over network: any Transport = HTTPTransport.shared
    ) async throws -> SigningDevice {
        let device = SigningDevice(cloud, name, over: network)
        _ = try await device.signUp(password, as: name + "@example.com")
        return device
    }

    /// Returns another device of a user.
    func device(
        of name: String, over network: any Transport = HTTPTransport.shared, clientEnvironment: ClientClock = .system
    ) async throws -> SigningDevice {
        let device = SigningDevice(cloud, name + "-2", over: network, clientEnvironment: clientEnvironment)
        try await device.enter(Self.password, as: name + "@example.com")
        return device
    }

    /// A folder with two notes, in a zone of Ada's.
    func makeFolder() async throws -> (zone: CKRecordZone.ID, folder: CKRecord, notes: [CKRecord]) {
        let zone = try await ada.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes")).zoneID
        let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "Folder", zoneID: zone))
        folder["title"] = "Recipes"
        folder.encryptedValues["secret"] = "folder secret"
        let notes = ["One", "Two"].map { name in
            let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
            note["title"] = name
            note.encryptedValues["secret"] = "secret of \(name)"
            note.setParent(folder)
            return note
        }
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [folder] + notes, deleting: [])
        return (zone, folder, notes)
    }

    /// Shares a record with users by address.
    @discardableResult
    func share(
        _ root: CKRecord, with people: [String], permission: CKShare.ParticipantPermission = .readWrite,
        publicPermission: CKShare.ParticipantPermission = .none
    ) async throws -> CKShare {
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "Our recipes"
        share.publicPermission = publicPermission
        try await invite(people, to: share, permission)
        return try await save(share, with: root)
    }

    func invite(
        _ people: [String], to share: CKShare, _ permission: CKShare.ParticipantPermission = .readWrite
    ) async throws {
        for name in people {
            let participant = try await ada.shareParticipant(forEmailAddress: name + "@example.com")
            participant.permission = permission
            share.addParticipant(participant)
        }
    }

    @discardableResult
    func save(_ share: CKShare, with root: CKRecord) async throws -> CKShare {
        let results = try await ada.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
        _ = try results.saveResults[root.recordID]?.get()
        guard let saved = try results.saveResults[share.recordID]?.get() as? CKShare else { throw CancellationError() }
        return saved
    }

    /// Opens a link on a device and accepts.
    @discardableResult
    func accept(_ url: URL?, on device: CKContainer) async throws -> CKShare {
        guard let url else { throw CancellationError() }
        return try await device.accept(try await device.shareMetadata(for: url))
    }

    /// Changes a user's permission in a share of Ada's.
    func permit(_ name: String, _ permission: CKShare.ParticipantPermission, in share: CKRecord.ID) async throws {
        let current = try asShare(try await ada.privateCloudDatabase.record(for: share))
        let participant = current.participants.first {
            $0.userIdentity.lookupInfo?.emailAddress == name + "@example.com"
        }
        guard let participant else { throw CancellationError() }
        participant.permission = permission
        try await ada.privateCloudDatabase.save(current)
    }

    /// Removes a user from a share, on a device of its owner or of an administrator.
    func remove(_ name: String, from share: CKRecord.ID, by host: CKContainer) async throws {
        let database = database(of: host, for: share.zoneID)
        let current = try asShare(try await database.record(for: share))
        let participant = current.participants.first {
            $0.userIdentity.lookupInfo?.emailAddress == name + "@example.com"
        }
        guard let participant else { throw CancellationError() }
        current.removeParticipant(participant)
        try await database.save(current)
    }

    /// Confirms, on a device, every participant about whom it asks its user.
    ///
    /// - Returns: The number of questions.
    @discardableResult
    func confirmParticipants(on device: SigningDevice) throws -> Int {
        let profile = device.configuration.deviceProfile
        let questions = try profile.shareQuestions().open
        try profile.confirm(questions)
        return questions.count
    }

    private func database(of host: CKContainer, for zone: CKRecordZone.ID) -> CKDatabase {
        zone.ownerName == CKCurrentUserDefaultName ? host.privateCloudDatabase : host.sharedCloudDatabase
    }

    /// The zone as those see it who take part.
    func shared(_ zone: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        CKRecordZone.ID(zoneName: zone.zoneName, ownerName: try await ada.userRecordID().recordName)
    }
}

/// Returns the encrypted value `secret` of a record, as a device reads it again.
func secret(_ name: String, in zone: CKRecordZone.ID, _ database: CKDatabase) async throws -> String? {
    let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
    return record.encryptedValues["secret"] as? String
}

/// Reads a record and saves it with another `secret`.
func write(_ text: String, to name: String, in zone: CKRecordZone.ID, _ database: CKDatabase) async throws {
    let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
    record.encryptedValues["secret"] = text
    try await database.save(record)
}

/// A record that has to be a share.
func asShare(_ record: CKRecord) throws -> CKShare {
    guard let share = record as? CKShare else { throw CocoaError(.coderReadCorrupt) }
    return share
}

/// A user who was removed from a share and has all the keys they ever had, with a server that hides nothing.
struct Spy {
    private let requests: DatabaseRequests
    private var keys: ZoneKeys

    init(_ device: CKContainer, zone: CKRecordZone.ID) async throws {
        requests = device.sharedCloudDatabase.requests()
        keys = try await requests.zoneKeys(zone.model)
    }

    /// Takes in all that records say about keys, other members' wraps and rings included.
    mutating func take(_ records: [Record]) {
        for record in records where record.sharing != nil {
            keys = (try? requests.opened(record, with: keys)) ?? keys
        }
        keys.learn(records)
    }

    /// The names of the records whose values and files open.
    mutating func opened(_ records: [Record]) -> Set<String> {
        var opened: Set<String> = []
        for record in records where record.isSealed {
            guard let cipher = try? keys.cipher(opening: record) else { continue }
            let fields = record.fields.filter(\.type.isEncrypted)
            guard (try? fields.map { try cipher.open($0) }) != nil,
                (try? record.assetSecrets(cipher.sealer)) != nil
            else { continue }
            opened.insert(record.id.recordName)
        }
        return opened
    }
}
