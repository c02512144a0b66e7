import CloudKitModel
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Archives of Apple's framework, class by class: the layouts of genuine ones.
@Suite(.timeLimit(.minutes(20))) struct AppleObjectTests {
    private func read<Object: NSObject & _ArchivedClass>(
        _ type: Object.Type, _ value: AppleForm.Value
    ) throws -> Object {
        try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: AppleForm.archive(value)))
    }

    @Test func `null in a record's values stands for a field that was not set`() throws {
        let record = try read(CKRecord.self, .record())
        #expect(
            record.allKeys() == [
                "bytes", "count", "file", "flag", "name", "owner", "place", "ratio", "tags", "title", "when",
            ])
        #expect(record["title"] as? String == "Hello")
        #expect(record["name"] as? String == "A")
        #expect(record["count"] as? Int == 3)
        #expect(record["flag"] as? Bool == true)
        #expect(record["ratio"] as? Double == 0.5)
        #expect(record["when"] as? Date == Date(timeIntervalSinceReferenceDate: 7))
        #expect(record["tags"] as? [String] == ["a", "b"])
        #expect((record["owner"] as? CKRecord.Reference)?.action == .deleteSelf)
        #expect((record["file"] as? CKAsset)?.fileURL?.path == "/tmp/a b")
        #expect((record["place"] as? CLLocation)?.coordinate.latitude == 52.5)
        #expect(record.changedKeys() == ["count", "title"])
        #expect(record.ancestor["title"] as? String == "Old")
        #expect(record.ancestor["count"] == nil)
        #expect(record.encryptedValues["secret"] as? String == "s")
        #expect(record.ancestor.encryptedValues["secret"] == nil)
        #expect(record.parent?.recordID.recordName == "folder")
        #expect(record.modificationDate == nil)
    }

    @Test func `a share keeps its participants, permissions and URL`() throws {
        let share = try read(CKShare.self, .share())
        #expect(share.recordID.recordName == "Share-1")
        #expect(share[CKShare.SystemFieldKey.title] as? String == "My notes")
        #expect(share.publicPermission == .readOnly)
        #expect(share.url?.absoluteString == "https://www.example.com/share/0abcDEF#My_notes")
        #expect(share.participants.map(\.participantID) == ["owner", "ben"])
        #expect(share.owner.userIdentity.nameComponents?.givenName == "Ada")
        #expect(share.currentUserParticipant?.participantID == "owner")
        let ben = try #require(share.participants.last)
        #expect(ben.role == .privateUser)
        #expect(ben.permission == .readOnly)
        #expect(ben.acceptanceStatus == .pending)
        #expect(ben.userIdentity.lookupInfo?.emailAddress == "ben@example.com")
        #expect(try read(CKRecord.self, .share()) is CKShare)
        let again = try archivedAndBack(share)
        #expect(again.participants.map(\.participantID) == ["owner", "ben"])
    }

    @Test func `the metadata of a share is read, shown and archived again`() throws {
        let metadata = try read(CKShareMetadata.self, .metadata())
        for metadata in [metadata, try archivedAndBack(metadata)] {
            #expect(metadata.containerIdentifier == "iCloud.example")
            #expect(metadata.hierarchicalRootRecordID?.recordName == "note-1")
            #expect(metadata.ownerIdentity.userRecordID?.recordName == "_owner")
            #expect(metadata.participantRole == .privateUser)
            #expect(metadata.participantStatus == .pending)
            #expect(metadata.participantPermission == .readOnly)
            #expect(metadata.share[CKShare.SystemFieldKey.title] as? String == "My notes")
            #expect(metadata.share.url?.absoluteString == "https://www.example.com/share/0abcDEF#My_notes")
            #expect(metadata.rootRecord == nil)
        }
    }

    @Test func `participants, identities, zones, cursors and tokens are read`() throws {
        let participant = try read(
            CKShareParticipant.self, .participant("ben", role: 4, permission: 3, acceptance: 2))
        #expect(participant.role == .publicUser)
        let identity = try read(CKUserIdentity.self, .identity("_u", email: "u@example.com"))
        #expect(identity.hasiCloudAccount)
        #expect(identity.nameComponents?.familyName == "Berg")
        #expect(identity.lookupInfo?.emailAddress == "u@example.com")
        let zone = try read(CKRecordZone.self, .zone())
        #expect(zone.zoneID == CKRecordZone.ID(zoneName: "Notes"))
        #expect(zone.capabilities == [.fetchChanges, .atomic, .sharing])
        let cursor = try read(CKQueryCursor.self, .cursor())
        #expect(cursor.zoneID == CKRecordZone.ID(zoneName: "Notes"))
        #expect(throws: CKError.self) { try cursor.query.model(in: cursor.zoneID) }
        #expect(try read(CKServerChangeToken.self, .changeToken()).token == "CQ==")
        #expect(try read(CKAsset.self, .asset("file:///tmp/x")).fileURL?.path == "/tmp/x")
        #expect(try read(CLLocation.self, .location(1, 2)).coordinate.longitude == 2)
    }

    @Test func `a list of shares and records is read`() throws {
        let data = try AppleForm.archive(.list([.share(), .record(), .changeToken()], "NSArray"))
        let list =
            try NSKeyedUnarchiver.unarchivedObject(
                ofClasses: [NSArray.self, CKRecord.self, CKServerChangeToken.self], from: data) as? [NSObject]
        #expect(list?.count == 3)
        #expect(list?.first is CKShare)
    }
}
