import Foundation
import Testing

@testable import CloudKit

/// Users who have the link and ask for access (B-SHN-02 to B-SHN-04).
@Suite(.timeLimit(.minutes(20))) struct AccessRequestTests {
    private func withFolder(
        _ body: (SharingHousehold, CKRecordZone.ID, CKShare) async throws -> Void
    ) async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = CKShare(rootRecord: folder)
            share.allowsAccessRequests = true
            try await home.invite(["ben"], to: share)
            try await body(home, zone, try await home.save(share, with: folder))
        }
    }

    private func ask(_ device: CKContainer, _ url: URL?) async throws {
        guard let url else { throw CancellationError() }
        try await device.requestShareAccess(for: [url])[url]?.get()
    }

    /// The share as Ada's cloud has it now.
    private func current(_ share: CKShare, _ home: SharingHousehold) async throws -> CKShare {
        try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
    }

    private func email(_ identity: CKUserIdentity?) -> String? { identity?.lookupInfo?.emailAddress }

    @Test func `B-SHN-02 a share that takes no requests does not show itself`() async throws {
        try await withFolder { home, _, share in
            share.allowsAccessRequests = false
            try await home.ada.privateCloudDatabase.save(share)
            let url = try #require(share.url)
            let nowhere = try #require(URL(string: home.cloud.endpoint + "/share/nowhere"))
            let results = try await home.cat.requestShareAccess(for: [url, nowhere])
            for link in [url, nowhere] { #expect(throws: Never.self) { try results[link]?.get() } }
            #expect(try await current(share, home).requesters.isEmpty)
        }
    }

    @Test
    func
        `B-SHN-02, B-SHN-03 a user who asks for access with an operation is listed, admitted, and reads encrypted values`()
        async throws
    {
        try await withFolder { home, zone, share in
            let url = try #require(share.url)
            let operation = CKShareRequestAccessOperation(shareURLs: [url])
            let link: URL = try await withCheckedThrowingContinuation { continuation in
                var asked: URL?
                operation.perShareAccessRequestResultBlock = { url, result in if case .success = result { asked = url }
                }
                operation.shareAccessRequestResultBlock = { result in
                    continuation.resume(with: result.map { asked ?? URL(fileURLWithPath: "/") })
                }
                home.cat.add(operation)
            }
            #expect(link == url)
            let seen = try await current(share, home)
            let requester = try #require(seen.requesters.first)
            #expect(seen.requesters.count == 1)
            #expect(email(requester.userIdentity) == "cat@example.com")
            // Nothing takes effect before the share is saved.
            let found = try await home.ada.shareParticipants(for: [requester.participantLookupInfo])
            let participant = try #require(try found[requester.participantLookupInfo]?.get())
            participant.permission = .readWrite
            seen.addParticipant(participant)
            await #expect(throws: CKError.self) { try await home.accept(url, on: home.cat) }
            let saved = try asShare(try await home.ada.privateCloudDatabase.save(seen))
            #expect(saved.requesters.isEmpty)
            let entry = try #require(saved.participants.first { email($0.userIdentity) == "cat@example.com" })
            #expect(entry.isApprovedRequester)
            #expect(entry.dateAddedToShare != nil)
            try await home.accept(url, on: home.cat)
            let note = try await home.cat.sharedCloudDatabase.record(
                for: CKRecord.ID(recordName: "One", zoneID: try await home.shared(zone)))
            #expect(note.encryptedValues["secret"] as? String == "secret of One")
        }
    }

    @Test func `B-SHN-03 a denied user may ask again, a blocked one may not, until unblocked`() async throws {
        try await withFolder { home, _, share in
            try await ask(home.cat, share.url)
            let first = try await current(share, home)
            first.denyRequesters(first.requesters)
            let denied = try asShare(try await home.ada.privateCloudDatabase.save(first))
            #expect(denied.requesters.isEmpty)
            try await ask(home.cat, share.url)
            let second = try await current(share, home)
            #expect(second.requesters.count == 1)
            second.blockRequesters(second.requesters)
            let blocked = try asShare(try await home.ada.privateCloudDatabase.save(second))
            #expect(blocked.requesters.isEmpty)
            #expect(blocked.blockedIdentities.map { email($0.userIdentity) } == ["cat@example.com"])
            // Asking looks the same to who is blocked.
            try await ask(home.cat, share.url)
            let third = try await current(share, home)
            #expect(third.requesters.isEmpty)
            third.unblockIdentities(third.blockedIdentities)
            let unblocked = try asShare(try await home.ada.privateCloudDatabase.save(third))
            #expect(unblocked.blockedIdentities.isEmpty)
            try await ask(home.cat, share.url)
            #expect(try await current(share, home).requesters.count == 1)
        }
    }

    @Test func `B-SHN-03 blocking takes a participant's access as well`() async throws {
        try await withFolder { home, zone, share in
            try await ask(home.cat, share.url)
            let seen = try await current(share, home)
            let requesters = seen.requesters
            try await home.invite(["cat"], to: seen)
            let saved = try asShare(try await home.ada.privateCloudDatabase.save(seen))
            try await home.accept(share.url, on: home.cat)
            let joined = try await current(saved, home)
            joined.blockRequesters(requesters)
            let after = try asShare(try await home.ada.privateCloudDatabase.save(joined))
            #expect(!after.participants.contains { email($0.userIdentity) == "cat@example.com" })
            let theirs = try await home.shared(zone)
            let error = await #expect(throws: CKError.self) {
                try await home.cat.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "One", zoneID: theirs))
            }
            #expect(error?.code == .zoneNotFound)
        }
    }

    @Test func `B-SHN-04 an invited user is asked to accept`() async throws {
        try await withFolder { home, _, share in
            let error = await #expect(throws: CKError.self) { try await ask(home.ben, share.url) }
            #expect(error?.code == .participantAlreadyInvited)
            try await home.accept(share.url, on: home.ben)
            #expect(try await current(share, home).requesters.isEmpty)
        }
    }

    @Test func `B-SHN-03 only owner and administrators see and answer requests`() async throws {
        try await withFolder { home, zone, share in
            try await ask(home.cat, share.url)
            try await home.accept(share.url, on: home.ben)
            let requesters = try await current(share, home).requesters
            let id = CKRecord.ID(recordName: share.recordID.recordName, zoneID: try await home.shared(zone))
            let bens = try asShare(try await home.ben.sharedCloudDatabase.record(for: id))
            #expect(bens.requesters.isEmpty)
            bens.denyRequesters(requesters)
            let error = await #expect(throws: CKError.self) { _ = try await home.ben.sharedCloudDatabase.save(bens) }
            #expect(error?.code == .invalidArguments)

            let promoted = try await current(share, home)
            promoted.participants.first { email($0.userIdentity) == "ben@example.com" }?.role = .administrator
            try await home.ada.privateCloudDatabase.save(promoted)
            let administered = try asShare(try await home.ben.sharedCloudDatabase.record(for: id))
            #expect(administered.requesters.map { email($0.userIdentity) } == ["cat@example.com"])
            administered.denyRequesters(administered.requesters)
            try await home.ben.sharedCloudDatabase.save(administered)
            #expect(try await current(share, home).requesters.isEmpty)
        }
    }
}
