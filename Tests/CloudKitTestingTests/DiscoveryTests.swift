import CloudKit
import CloudKitTesting
import Testing

private let notes = "iCloud.com.example.notes"

/// Discovery by deprecated forms. Tests cannot be deprecated themselves; they call these through a protocol.
@Suite(.timeLimit(.minutes(20))) struct DiscoveryTests {
    private static let forms: any OlderForms = OlderCode()

    @Test func `B-ACC-05, B-ACC-06, B-ACC-07 people who agreed are found by every form`() async throws {
        try await TestCloud.run { try await Self.forms.find(in: $0) }
    }

    @Test func `B-PRT-05 a person invited by phone number accepts and reads what is sealed`() async throws {
        try await TestCloud.run { cloud in
            let (ada, bea) = (try await cloud.user("ada"), try await cloud.user("bea"))
            try await bea.addPhoneNumber("+44 1632 960083")
            // The account's first device makes the keys to which the share's key is sealed.
            let theirs = try await bea.device().container(notes)
            let container = try await ada.device().container(notes)
            let database = container.privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Shared")).zoneID
            let root = CKRecord(recordType: "Note", recordID: .init(recordName: "root", zoneID: zone))
            root.encryptedValues["text"] = "for Bea"
            let share = CKShare(rootRecord: root)
            share.addParticipant(try await container.shareParticipant(forPhoneNumber: "0044 1632 960083"))
            let saved = try await database.modifyRecords(saving: [root, share], deleting: [])
            let kept = try #require(try saved.saveResults[share.recordID]?.get() as? CKShare)
            #expect(kept.participants.last?.userIdentity.lookupInfo?.phoneNumber == "+441632960083")

            let metadata = try await theirs.shareMetadata(for: try #require(kept.url))
            try await theirs.accept(metadata)
            let id = CKRecord.ID(recordName: "root", zoneID: metadata.share.recordID.zoneID)
            let read = try await theirs.sharedCloudDatabase.record(for: id)
            #expect(read.encryptedValues["text"] as? String == "for Bea")
        }
    }

    @Test func `B-ACC-08 a restricted managed account gets its error until the fault ends`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let container = try await ada.device().container(notes)
            try await cloud.restrictManagedAccount(of: ada, in: notes)
            let refusal = await #expect(throws: CKError.self) {
                _ = try await container.privateCloudDatabase.allRecordZones()
            }
            #expect(refusal?.code == .managedAccountRestricted)
            #expect(try await container.accountStatus() == .available)
            try await cloud.removeFaults()
            _ = try await container.privateCloudDatabase.allRecordZones()
        }
    }
}

private protocol OlderForms: Sendable {
    func find(in cloud: TestCloud) async throws
}

private struct OlderCode: OlderForms {
    @available(*, deprecated)
    func find(in cloud: TestCloud) async throws {
        let (ada, bea) = (try await cloud.user("ada"), try await cloud.user("bea"))
        let container = try await ada.device().container(notes)
        let theirs = try await bea.device().container(notes)
        try await bea.addPhoneNumber("+441632960083")
        let user = try await theirs.userRecordID()
        #expect(try await container.userIdentity(forEmailAddress: "bea@example.com") == nil)
        #expect(CKContainer.ApplicationPermissions.userDiscoverability.rawValue == 1)
        #expect(try await theirs.applicationPermissionStatus(for: .userDiscoverability) == .initialState)
        #expect(try await theirs.requestApplicationPermission(.userDiscoverability) == .denied)

        try await bea.setDiscoverable(true)
        #expect(try await theirs.requestApplicationPermission(.userDiscoverability) == .granted)
        let found = try #require(try await container.userIdentity(forEmailAddress: "Bea@example.com"))
        #expect(found.userRecordID == user && found.hasiCloudAccount)
        #expect(found.nameComponents?.givenName == "bea")
        #expect(found.lookupInfo?.emailAddress == "Bea@example.com")
        #expect(try await container.userIdentity(forPhoneNumber: "0044 1632 960083")?.userRecordID == user)
        #expect(try await container.userIdentity(forUserRecordID: user)?.userRecordID == user)
        let all = try await container.userIdentities(forEmailAddresses: [
            "bea@example.com", "no@example.com", "nothing",
        ])
        #expect(all.mapValues(\.userRecordID) == ["bea@example.com": user])

        try await bea.setDiscoverable(false)
        #expect(try await theirs.applicationPermissionStatus(for: .userDiscoverability) == .denied)
        #expect(try await container.userIdentity(forEmailAddress: "bea@example.com") == nil)
    }
}
