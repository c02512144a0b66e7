import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// The code forms of Apple's introduction to sharing and of its symbols' pages, against a running cloud.
@Suite(.timeLimit(.minutes(20))) struct SharingFormsTests {
    private func withContacts(
        _ body: (SharingHousehold, ContactSharing, ContactSharing) async throws -> Void
    ) async throws {
        try await SharingHousehold.run { home in
            let zone = try await home.ada.privateCloudDatabase.save(CKRecordZone(zoneName: "Contacts"))
            try await body(
                home, ContactSharing(container: home.ada, zone: zone), ContactSharing(container: home.ben, zone: zone))
        }
    }

    /// Ada's zone as Ben sees it.
    private func theirs(_ home: SharingHousehold, _ zone: CKRecordZone) async throws -> CKRecordZone {
        CKRecordZone(zoneID: try await home.shared(zone.zoneID))
    }

    @Test func `B-SHR-03, B-SHR-04 the introduction: create a share, add a participant, confirm, fetch page by page`()
        async throws
    {
        try await withContacts { home, ada, ben in
            let contact = try await ada.addContact(name: "Grace", phoneNumber: "417-555-9311")
            let share = try await ada.createShare(contactRecord: contact)
            // The saved objects themselves have the cloud's values.
            #expect(contact.share?.recordID == share.recordID)
            #expect(share.url != nil)
            let people = try await ada.findPeople(
                "ben@example.com", "417-555-9311", try await home.cat.userRecordID())
            #expect(people.map(\.userIdentity.hasiCloudAccount) == [true, false, true])
            try await ada.addParticipant(people[0], to: share)
            #expect(share.participants.count == 2)
            for number in 1...4 {
                let child = CKRecord(recordType: "Contact", recordID: CKRecord.ID(zoneID: ada.zone.zoneID))
                child["name"] = "Number \(number)"
                child.setParent(contact)
                try await home.ada.privateCloudDatabase.save(child)
            }
            try await ben.confirmShareParticipation(from: try #require(share.url))
            let names = try await ben.fetchSharedContacts(in: try await theirs(home, ada.zone), pageSize: 2)
            #expect(names == ["Grace", "Number 1", "Number 2", "Number 3", "Number 4"])
        }
    }

    @Test func `B-SHR-01 the introduction: share an entire zone`() async throws {
        try await withContacts { home, ada, ben in
            _ = try await ada.addContact(name: "Grace", phoneNumber: "417-555-9311")
            let share = try await ada.createAndSaveShare(for: ada.zone)
            try await ada.addParticipant(
                try await home.ada.shareParticipant(forEmailAddress: "ben@example.com"), to: share)
            try await ben.confirmShareParticipation(from: try #require(share.url))
            #expect(try await ben.fetchSharedContacts(in: try await theirs(home, ada.zone)) == ["Grace"])
        }
    }

    @Test func `B-ACP-01 the introduction: the app receives an opened link and accepts it`() async throws {
        try await withContacts { home, ada, _ in
            let device = try await home.device(of: "ben")
            let contact = try await ada.addContact(name: "Grace", phoneNumber: "417-555-9311")
            let share = try await ada.createShare(contactRecord: contact)
            try await ada.addParticipant(
                try await home.ada.shareParticipant(forEmailAddress: "ben@example.com"), to: share)
            let (stream, continuation) = AsyncStream.makeStream(of: CKShare.Metadata.self)
            let app = ContactApplication(container: device.container, accepted: continuation)
            let link = try #require(share.url?.absoluteString)
            try device.signIn.deliver(try await device.signIn.linkedShare(link))
            let watching = device.container.whenShareIsOpened {
                app.application(app, userDidAcceptCloudKitShareWith: $0)
            }
            let opened = await stream.first { _ in true }
            watching.cancel()
            #expect(opened?.share.recordID.recordName == share.recordID.recordName)
            #expect(opened?.containerIdentifier == home.cloud.container)
            #expect(opened?.participantStatus == .pending)
            #expect(try await device.container.sharedCloudDatabase.allRecordZones().count == 1)
        }
    }

    @Test func `B-ACP-01, B-ACP-05, B-PRT-05 the pages: operations with their first blocks`() async throws {
        try await withContacts { home, ada, ben in
            let contact = try await ada.addContact(name: "Grace", phoneNumber: "417-555-9311")
            let thumbnail = Data([1, 2, 3])
            let shareID = try await withCheckedThrowingContinuation { continuation in
                ada.share(contact, titled: "Grace", thumbnail: thumbnail) { continuation.resume(with: $0) }
            }
            let share = try asShare(try await home.ada.privateCloudDatabase.record(for: shareID))
            #expect(share[CKShare.SystemFieldKey.title] as? String == "Grace")
            #expect(share[CKShare.SystemFieldKey.thumbnailImageData] as? Data == thumbnail)
            #expect(share[CKShare.SystemFieldKey.shareType] as? String == "com.example.contact")
            let infos = CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["ben@example.com", "nobody@example.com"])
            let people = try await withCheckedThrowingContinuation { continuation in
                ada.fetchParticipants(for: infos) { continuation.resume(with: $0) }
            }
            #expect(people.map(\.userIdentity.lookupInfo) == infos)
            #expect(people.map(\.permission) == [.readOnly, .readOnly])
            try await ada.addParticipant(people[0], to: share)
            let url = try #require(share.url)
            let metadatas = try await withCheckedThrowingContinuation { continuation in
                ben.fetchShareMetadata(for: [url]) { continuation.resume(with: $0) }
            }
            let metadata = try #require(metadatas[url])
            #expect(metadata.rootRecord?["name"] as? String == "Grace")
            #expect(metadata.rootRecord?.allKeys() == ["name"])
            #expect(metadata.ownerIdentity.userRecordID == (try await home.ada.userRecordID()))
            let root = try await withCheckedThrowingContinuation { continuation in
                ben.acceptShare(metadata: metadata) { continuation.resume(with: $0) }
            }
            let rootID = try #require(root)
            #expect(try await home.ben.sharedCloudDatabase.record(for: rootID)["name"] as? String == "Grace")
        }
    }

    @Test func `B-ACP-01, B-PRT-05 completion-handler forms return the results of the async forms`() async throws {
        try await withContacts { home, ada, _ in
            let container = home.ada
            let email = "ben@example.com"
            let user = try await home.ben.userRecordID()
            let found: [CKShare.Participant?] = [
                try await one { container.fetchShareParticipant(withEmailAddress: email, completionHandler: $0) },
                try await one { container.fetchShareParticipant(withPhoneNumber: "1", completionHandler: $0) },
                try await one { container.fetchShareParticipant(withUserRecordID: user, completionHandler: $0) },
            ]
            #expect(found.map { $0?.userIdentity.hasiCloudAccount } == [true, false, true])
            let byEmail = try await all {
                container.fetchShareParticipants(forEmailAddresses: [email], completionHandler: $0)
            }
            #expect(try byEmail[email]?.get().userIdentity.userRecordID == user)
            let byPhone = try await all {
                container.fetchShareParticipants(forPhoneNumbers: ["1"], completionHandler: $0)
            }
            #expect(byPhone.count == 1)
            let byUser = try await all {
                container.fetchShareParticipants(forUserRecordIDs: [user], completionHandler: $0)
            }
            #expect(try byUser[user]?.get().userIdentity.userRecordID == user)
            let infos = [CKUserIdentity.LookupInfo(emailAddress: email), CKUserIdentity.LookupInfo(phoneNumber: "1")]
            #expect(try await container.shareParticipants(for: infos).count == 2)

            let share = try await ada.createShare(
                contactRecord: try await ada.addContact(name: "Grace", phoneNumber: "1"))
            try await ada.addParticipant(try #require(found[0]), to: share)
            let url = try #require(share.url)
            let ben = home.ben
            let metadata = try #require(
                try await one { ben.fetchShareMetadata(with: url, completionHandler: $0) })
            let metadatas = try await all { ben.fetchShareMetadatas(for: [url], completionHandler: $0) }
            #expect(try metadatas[url]?.get() == metadata)
            #expect(try await ben.shareMetadatas(for: [url])[url]?.get() == metadata)
            let accepted: CKRecord.ID? = try await one { done in
                ben.accept(metadata) { share, error in done(share?.recordID, error) }
            }
            #expect(accepted?.recordName == share.recordID.recordName)
            let again = try await all { done in
                ben.accept([metadata]) { results in
                    done(
                        results.map { $0[metadata].flatMap { try? $0.get() }?.currentUserParticipant?.acceptanceStatus }
                    )
                }
            }
            #expect(again == .accepted)
            #expect(try await ben.accept([metadata]).count == 1)
        }
    }

    @Test func `B-ACP-04 result blocks report each share, and the operation`() async throws {
        try await withContacts { home, ada, _ in
            let share = try await ada.createShare(
                contactRecord: try await ada.addContact(name: "Grace", phoneNumber: "1"))
            try await ada.addParticipant(
                try await home.ada.shareParticipant(forEmailAddress: "ben@example.com"), to: share)
            let url = try #require(share.url)
            let infos = [CKUserIdentity.LookupInfo(emailAddress: "ben@example.com")]
            let seen = Mutex<[String]>([])
            let participants = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
            participants.perShareParticipantResultBlock = { info, result in
                if case .success = result { seen.withLock { $0.append(info.emailAddress ?? "") } }
            }
            try await finished { done in
                participants.fetchShareParticipantsResultBlock = done
                home.ada.add(participants)
            }
            #expect(seen.withLock { $0 } == ["ben@example.com"])

            // One of two is not for Ben: Cat's share, whose metadata Cat hands over.
            let zone = try await home.cat.privateCloudDatabase.save(CKRecordZone(zoneName: "Cat's"))
            let cat = ContactSharing(container: home.cat, zone: zone)
            let catsShare = try await cat.createShare(
                contactRecord: try await cat.addContact(name: "Tom", phoneNumber: "2"))
            let metadatas = [
                try await home.ben.shareMetadata(for: url),
                try await home.cat.shareMetadata(for: try #require(catsShare.url)),
            ]
            let codes = Mutex<[CKError.Code?]>([])
            let accepting = CKAcceptSharesOperation(shareMetadatas: metadatas)
            accepting.perShareResultBlock = { _, result in
                switch result {
                case .success: codes.withLock { $0.append(nil) }
                case .failure(let error): codes.withLock { $0.append((error as? CKError)?.code) }
                }
            }
            let older = Mutex<CKError.Code?>(nil)
            accepting.acceptSharesCompletionBlock = { error in
                older.withLock { $0 = (error as? CKError)?.code }
            }
            try await finished { done in
                accepting.acceptSharesResultBlock = done
                home.ben.add(accepting)
            }
            #expect(codes.withLock { $0 } == [nil, .permissionFailure])
            #expect(older.withLock { $0 } == .partialFailure)
        }
    }

    @Test func `B-ACP-04 metadata of another container is refused as a whole`() async throws {
        try await withContacts { home, ada, _ in
            let share = try await ada.createShare(
                contactRecord: try await ada.addContact(name: "Grace", phoneNumber: "1"))
            let metadata = try await home.ada.shareMetadata(for: try #require(share.url))
            let device = try await home.device(of: "ada")
            let other = CKContainer(identifier: "iCloud.com.example.other", configuration: device.configuration)
            let error = await #expect(throws: CKError.self) { try await other.accept(metadata) }
            #expect(error?.code == .badContainer)
        }
    }

    // MARK: -

    private func one<Value: Sendable>(
        _ body: (@escaping @Sendable (Value?, (any Error)?) -> Void) -> Void
    ) async throws -> Value? {
        try await withCheckedThrowingContinuation { continuation in
            body { value, error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: value) }
            }
        }
    }

    private func all<Value: Sendable>(
        _ body: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in body { continuation.resume(with: $0) } }
    }

    /// Waits for an operation.
    private func finished(_ start: (@escaping @Sendable (Result<Void, any Error>) -> Void) -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in start { continuation.resume(with: $0) } }
    }
}
