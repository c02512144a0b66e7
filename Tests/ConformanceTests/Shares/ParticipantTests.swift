import Foundation
import Testing

@testable import CloudKit

/// Participant slots of a share: their number, slots for any user with the link, and leaving.
@Suite(.timeLimit(.minutes(20))) struct ParticipantTests {
    @Test func `B-LIM-08 a share holds 100 participants besides its owner`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = CKShare(rootRecord: folder)
            let emails = (1...101).map { "guest-\($0)@example.com" }
            let guests = try await home.ada.shareParticipants(forEmailAddresses: emails)
            for email in emails.prefix(100) { share.addParticipant(try #require(try guests[email]?.get())) }
            let saved = try await home.save(share, with: folder)
            #expect(saved.participants.count == 101)
            saved.addParticipant(try #require(try guests[emails[100]]?.get()))
            let error = await #expect(throws: CKError.self) { _ = try await home.ada.privateCloudDatabase.save(saved) }
            #expect(error?.code == .tooManyParticipants)
            // One leaves, another comes.
            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            #expect(current.participants.count == 101)
            current.removeParticipant(try #require(current.participants.last))
            current.addParticipant(try #require(try guests[emails[100]]?.get()))
            let replaced = try asShare(try await home.ada.privateCloudDatabase.save(current))
            #expect(replaced.participants.count == 101)
        }
    }

    @Test func `B-SHN-01 one-time slots have links of their own, from every device of the owner, until they are taken`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = CKShare(rootRecord: folder)
            let slots = [CKShare.Participant.oneTimeURLParticipant(), .oneTimeURLParticipant()]
            for slot in slots {
                slot.permission = .readWrite
                share.addParticipant(slot)
                #expect(slot.userIdentity.lookupInfo == nil)
                #expect(slot.userIdentity.nameComponents == nil)
            }
            #expect(share.oneTimeURL(for: slots[0].participantID) == nil)
            let saved = try await home.save(share, with: folder)
            let links = try slots.map { try #require(saved.oneTimeURL(for: $0.participantID)) }
            #expect(Set(links + [try #require(saved.url)]).count == 3)
            saved[CKShare.SystemFieldKey.title] = "Renamed"
            let again = try asShare(try await home.ada.privateCloudDatabase.save(saved))
            #expect(slots.map { again.oneTimeURL(for: $0.participantID) } == links)

            let metadata = try await home.ben.shareMetadata(for: links[0])
            #expect(metadata.participantStatus == .pending)
            #expect(metadata.participantPermission == .readWrite)
            try await home.ben.accept(metadata)
            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            #expect(current.oneTimeURL(for: slots[0].participantID) == current.url)
            #expect(current.oneTimeURL(for: slots[1].participantID) == links[1])
            let taken = try #require(current.participants.first { $0.participantID == slots[0].participantID })
            #expect(taken.acceptanceStatus == .accepted)
            #expect(taken.userIdentity.userRecordID == (try await home.ben.userRecordID()))
            // The first link is spent; the second still works, also for another.
            let spent = await #expect(throws: CKError.self) { try await home.accept(links[0], on: home.cat) }
            #expect(spent?.code == .unknownItem)
            try await home.accept(links[1], on: home.cat)
            let theirs = try await home.shared(zone)
            for device in [home.ben, home.cat] {
                let note = try await device.sharedCloudDatabase.record(
                    for: CKRecord.ID(recordName: "One", zoneID: theirs))
                #expect(note.encryptedValues["secret"] as? String == "secret of One")
            }
        }
    }

    @Test func `B-SHR-09 shares can be asked for, in every database, before there is one`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let all = CKQuery(recordType: CKRecord.SystemType.share, predicate: NSPredicate(value: true))
            #expect(try await home.ada.privateCloudDatabase.records(matching: all).matchResults.isEmpty)
            #expect(
                try await home.ada.privateCloudDatabase.records(matching: all, inZoneWith: zone).matchResults.isEmpty)
            let titled = CKQuery(
                recordType: CKRecord.SystemType.share,
                predicate: NSPredicate(format: "%K == %@", CKShare.SystemFieldKey.title, "Our recipes"))
            #expect(try await home.ada.privateCloudDatabase.records(matching: titled).matchResults.isEmpty)

            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            for query in [all, titled] {
                let own = try await home.ada.privateCloudDatabase.records(matching: query, inZoneWith: zone)
                let shown = try asShare(try #require(own.matchResults.first).1.get())
                #expect(shown.recordID == share.recordID)
                #expect(shown.participants.count == 2)
                let theirs = try await home.ben.sharedCloudDatabase.records(
                    matching: query, inZoneWith: try await home.shared(zone))
                #expect(theirs.matchResults.map(\.0.recordName) == [share.recordID.recordName])
            }
        }
    }
}
