import CloudKit

/// The app on one device of a user, with its calls for sharing.
struct SharingApp {
    let owner: String
    let device: String
    let container: CKContainer
    /// The change token of each zone.
    private var tokens: [CKRecordZone.ID: CKServerChangeToken] = [:]

    init(_ owner: String, _ device: String, container: String) {
        self.owner = owner
        self.device = device
        self.container = CKContainer(identifier: container, profile: Self.profile(owner, device))
    }

    static func profile(_ owner: String, _ device: String) -> String { "\(owner)-\(device)".lowercased() }

    var profile: String { Self.profile(owner, device) }
    /// The name of the device, such as `Ada's laptop`.
    var name: String { "\(owner)'s \(device)" }
    var own: CKDatabase { container.privateCloudDatabase }
    var shared: CKDatabase { container.sharedCloudDatabase }

    /// Saves records in one batch; throws the first error of a record.
    func save(_ records: [CKRecord], to database: CKDatabase) async throws {
        let (saveResults, _) = try await database.modifyRecords(saving: records, deleting: [])
        for result in saveResults.values { _ = try result.get() }
    }

    /// Returns a participant for an e-mail address.
    func invite(
        _ emailAddress: String, to share: CKShare, _ permission: CKShare.ParticipantPermission
    ) async throws -> CKShare.Participant {
        let participant = try await container.shareParticipant(forEmailAddress: emailAddress)
        participant.permission = permission
        share.addParticipant(participant)
        return participant
    }

    /// Accepts the share of a link.
    func confirmShareParticipation(from url: URL) async throws {
        let shareMetadata = try await container.shareMetadata(for: url)
        try await container.accept(shareMetadata)
    }

    /// The changes of a zone since the last pull.
    struct Pull {
        var changed: [CKRecord] = []
        var deleted: [CKRecord.ID] = []
        var pages = 0
    }

    /// Fetches the changes of a zone since the last pull, page by page.
    mutating func pull(_ zone: CKRecordZone.ID, from database: CKDatabase) async throws -> Pull {
        var pull = Pull()
        var moreComing = true
        while moreComing {
            let changes = try await database.recordZoneChanges(
                inZoneWith: zone, since: tokens[zone], resultsLimit: 3)
            for result in changes.modificationResultsByID.values { pull.changed.append(try result.get().record) }
            pull.deleted += changes.deletions.map(\.recordID)
            pull.pages += 1
            tokens[zone] = changes.changeToken
            moreComing = changes.moreComing
        }
        return pull
    }

    /// Fetches the current version of a share.
    func current(_ id: CKRecord.ID, in database: CKDatabase) async throws -> CKShare {
        guard let share = try await database.record(for: id) as? CKShare else {
            throw DemoFailure(.unexpected, "Not as expected: \(id.recordName) is not a share.")
        }
        return share
    }
}
