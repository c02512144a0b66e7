import Foundation
import Testing

@testable import CloudKit

/// Rules of shares and participants as apps meet them: error codes, and who sees and may do what.
@Suite(.timeLimit(.minutes(20))) struct ShareRulesTests {
    /// The share as one device has it now.
    private func share(_ id: CKRecord.ID, _ database: CKDatabase) async throws -> CKShare {
        try asShare(try await database.record(for: id))
    }

    private func emails(_ share: CKShare) -> Set<String> {
        Set(share.participants.compactMap { $0.userIdentity.lookupInfo?.emailAddress })
    }

    @Test func `B-PRT-07, B-PRT-14 administrators look after participants through the shared database, others may not`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let saved = try await home.share(folder, with: ["ben", "cat"])
            saved.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "ben@example.com" }?.role =
                .administrator
            try await home.ada.privateCloudDatabase.save(saved)
            try await home.accept(saved.url, on: home.ben)
            try await home.accept(saved.url, on: home.cat)
            let id = CKRecord.ID(recordName: saved.recordID.recordName, zoneID: try await home.shared(zone))

            let bens = try await share(id, home.ben.sharedCloudDatabase)
            #expect(bens.currentUserParticipant?.role == .administrator)
            let dora = try await home.ben.shareParticipant(forEmailAddress: "dora@example.com")
            bens.addParticipant(dora)
            bens.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "cat@example.com" }?.permission =
                .readOnly
            try await home.ben.sharedCloudDatabase.save(bens)
            let seen = try await share(saved.recordID, home.ada.privateCloudDatabase)
            #expect(emails(seen).contains("dora@example.com"))
            let cats = try await share(id, home.cat.sharedCloudDatabase)
            #expect(cats.currentUserParticipant?.permission == .readOnly)
            cats.addParticipant(try await home.cat.shareParticipant(forEmailAddress: "eve@example.com"))
            #expect(await code { try await home.cat.sharedCloudDatabase.save(cats) } == .permissionFailure)
        }
    }

    @Test
    func
        `B-PRT-08 participants of a private share see the accepted participants, not the invited ones, and no addresses`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let saved = try await home.share(folder, with: ["ben", "cat", "dora"])
            try await home.accept(saved.url, on: home.ben)
            try await home.accept(saved.url, on: home.cat)
            let id = CKRecord.ID(recordName: saved.recordID.recordName, zoneID: try await home.shared(zone))
            let bens = try await share(id, home.ben.sharedCloudDatabase)
            #expect(bens.participants.count == 3)
            #expect(bens.participants.allSatisfy { $0.acceptanceStatus == .accepted })
            #expect(emails(bens) == ["ben@example.com"])
            #expect(bens.owner.userIdentity.userRecordID == (try await home.ada.userRecordID()))
            let adas = try await share(saved.recordID, home.ada.privateCloudDatabase)
            #expect(emails(adas) == ["ben@example.com", "cat@example.com", "dora@example.com"])
        }
    }

    @Test func `B-PRT-03, B-PRT-04, B-PRT-08 a share that is opened and closed again`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let saved = try await home.share(folder, with: ["ben", "dora"])
            try await home.accept(saved.url, on: home.ben)
            let database = home.ada.privateCloudDatabase
            let opened = try await share(saved.recordID, database)
            opened.publicPermission = .readOnly
            try await database.save(opened)
            // A pending participant is removed; an accepted one stays with the same permission.
            let open = try await share(saved.recordID, database)
            #expect(emails(open) == ["ben@example.com"])
            open.addParticipant(try await home.ada.shareParticipant(forEmailAddress: "eve@example.com"))
            #expect(await code { try await database.save(open) } == .invalidArguments)

            try await home.accept(try await share(saved.recordID, database).url, on: home.cat)
            let id = CKRecord.ID(recordName: saved.recordID.recordName, zoneID: try await home.shared(zone))
            let cats = try await share(id, home.cat.sharedCloudDatabase)
            #expect(cats.currentUserParticipant?.role == .publicUser)
            #expect(cats.currentUserParticipant?.permission == .readOnly)
            #expect(cats.participants.count == 2)

            let closing = try await share(saved.recordID, database)
            closing.publicPermission = .none
            try await database.save(closing)
            let closed = try await share(saved.recordID, database)
            #expect(emails(closed) == ["ben@example.com"])
            #expect(await code { _ = try await share(id, home.cat.sharedCloudDatabase) } == .zoneNotFound)
            _ = try await share(id, home.ben.sharedCloudDatabase)
        }
    }

    @Test func `B-SHR-02, B-SHR-05, B-SHR-06 records that cannot be shared are refused with their code`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, notes) = try await home.makeFolder()
            let database = home.ada.privateCloudDatabase
            func outcome(_ records: [CKRecord], _ share: CKShare) async -> CKError.Code? {
                await code {
                    let results = try await database.modifyRecords(
                        saving: records + [share], deleting: [], atomically: false)
                    _ = try results.saveResults[share.recordID]?.get()
                }
            }
            #expect(await outcome([folder], CKShare(rootRecord: folder)) == nil)
            // It is, contains, or is below a shared root.
            let again = try await database.record(for: folder.recordID)
            #expect(await outcome([again], CKShare(rootRecord: again)) == .alreadyShared)
            #expect(await outcome([notes[0]], CKShare(rootRecord: notes[0])) == .alreadyShared)
            #expect(await code { try await database.save(CKShare(recordZoneID: zone)) } == .invalidArguments)

            let whole = try await database.save(CKRecordZone(zoneName: "Whole")).zoneID
            try await database.save(CKShare(recordZoneID: whole))
            #expect(await code { try await database.save(CKShare(recordZoneID: whole)) } == .serverRecordChanged)
            let root = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Root", zoneID: whole))
            #expect(await outcome([root], CKShare(rootRecord: root)) == .serverRejectedRequest)

            let loose = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Loose"))
            #expect(await outcome([loose], CKShare(rootRecord: loose)) == .invalidArguments)
            let leaflet = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Leaflet"))
            let refused = await code {
                let results = try await home.ada.publicCloudDatabase.modifyRecords(
                    saving: [leaflet, CKShare(rootRecord: leaflet)], deleting: [], atomically: false)
                for result in results.saveResults.values { _ = try result.get() }
            }
            #expect(refused == .badDatabase)
        }
    }
}
