import CloudKit
import Testing

/// The deprecated forms that older code calls. Tests cannot be deprecated themselves; they call these through a
/// protocol.
@Suite struct DeprecatedFormsTests {
    private static let forms: any OlderForms = OlderCode()

    @Test func `B-ACC-05 users who did not agree are not found`() async throws {
        try await ThrowawayCloud.run { try await Self.forms.findPeople(in: $0) }
    }

    @Test func `B-ACC-02 permissions and user look-ups need a signed-in user`() async throws {
        try await ThrowawayCloud.run { try await Self.forms.findPeopleSignedOut(of: $0) }
    }

    @Test func `B-CHG-01 the older operation pages through a zone's changes with one block at the end`() async throws {
        try await ThrowawayCloud.run { try await Self.forms.fetchChanges(from: $0) }
    }
}

private protocol OlderForms: Sendable {
    func findPeople(in cloud: ThrowawayCloud) async throws
    func findPeopleSignedOut(of cloud: ThrowawayCloud) async throws
    func fetchChanges(from cloud: ThrowawayCloud) async throws
}

private struct OlderCode: OlderForms {
    @available(*, deprecated)
    func findPeople(in cloud: ThrowawayCloud) async throws {
        let ada = try await cloud.device(of: cloud.addUser("ada"))
        _ = try await cloud.device(of: cloud.addUser("ben"))
        #expect(try await ada.requestApplicationPermission(.userDiscoverability) == .denied)
        #expect(try await ada.applicationPermissionStatus(for: .userDiscoverability) == .initialState)
        #expect(try await ada.userIdentity(forEmailAddress: "ben@example.com") == nil)
        #expect(try await ada.userIdentities(forUserRecordIDs: [ada.userRecordID()]).isEmpty)
        #expect(try await ada.allUserIdentitiesFromContacts().isEmpty)
        let found: Result<CKUserIdentity?, any Error> = await withCheckedContinuation { continuation in
            ada.discoverUserIdentity(withPhoneNumber: "+441234") { identity, error in
                continuation.resume(returning: error.map { .failure($0) } ?? .success(identity))
            }
        }
        #expect(try found.get() == nil)
        let operation = CKDiscoverUserIdentitiesOperation(
            userIdentityLookupInfos: [.init(emailAddress: "ben@example.com")])
        operation.userIdentityDiscoveredBlock = { identity, _ in Issue.record("\(identity)") }
        let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
            operation.discoverUserIdentitiesResultBlock = { continuation.resume(returning: $0) }
            ada.add(operation)
        }
        try result.get()
    }

    @available(*, deprecated)
    func findPeopleSignedOut(of cloud: ThrowawayCloud) async throws {
        let nobody = cloud.strangersDevice()
        let asked = await #expect(throws: CKError.self) {
            try await nobody.requestApplicationPermission(.userDiscoverability)
        }
        #expect(asked?.code == .notAuthenticated)
        let looked = await #expect(throws: CKError.self) {
            try await nobody.userIdentity(forEmailAddress: "ben@example.com")
        }
        #expect(looked?.code == .notAuthenticated)
        let operation = CKDiscoverAllUserIdentitiesOperation()
        let error: (any Error)? = await withCheckedContinuation { continuation in
            operation.discoverAllUserIdentitiesCompletionBlock = { continuation.resume(returning: $0) }
            nobody.add(operation)
        }
        #expect((error as? CKError)?.code == .notAuthenticated)
    }

    @available(*, deprecated)
    func fetchChanges(from cloud: ThrowawayCloud) async throws {
        let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Older"))
        let names = ["a", "b", "c"]
        let ids = names.map { CKRecord.ID(recordName: $0, zoneID: zone.zoneID) }
        _ = try await database.modifyRecords(
            saving: ids.map { CKRecord(recordType: "T", recordID: $0) }, deleting: [])

        var seen: (changed: [String], deleted: [String], pages: Int) = ([], [], 0)
        var token: CKServerChangeToken?
        var isMore = true
        while isMore {
            let page = await Page.fetch(zone.zoneID, after: token, limit: 2, in: database)
            #expect(page.error == nil)
            seen = (seen.changed + page.changed, seen.deleted + page.deleted, seen.pages + 1)
            (token, isMore) = (page.token, page.isMore)
        }
        #expect(seen.changed.sorted() == names)
        #expect(seen.deleted.isEmpty)
        #expect(seen.pages > 1)

        _ = try await database.deleteRecord(withID: ids[1])
        let last = await Page.fetch(zone.zoneID, after: token, limit: 0, in: database)
        #expect(last.changed.isEmpty)
        #expect(last.deleted == ["b"])

        let missing = CKRecordZone.ID(zoneName: "Missing")
        let page = await Page.fetch(missing, after: nil, limit: 0, in: database)
        #expect((page.error as? CKError)?.code == .zoneNotFound)
    }

    private struct Page: Sendable {
        var changed: [String]
        var deleted: [String]
        var token: CKServerChangeToken?
        var isMore: Bool
        var error: (any Error)?

        @available(*, deprecated)
        static func fetch(
            _ zone: CKRecordZone.ID, after token: CKServerChangeToken?, limit: Int, in database: CKDatabase
        ) async -> Page {
            await withCheckedContinuation { continuation in
                let operation = CKFetchRecordChangesOperation(recordZoneID: zone, previousServerChangeToken: token)
                operation.resultsLimit = limit
                var (changed, deleted): ([String], [String]) = ([], [])
                operation.recordChangedBlock = { changed.append($0.recordID.recordName) }
                operation.recordWithIDWasDeletedBlock = { deleted.append($0.recordName) }
                operation.fetchRecordChangesCompletionBlock = { [unowned operation] token, _, error in
                    continuation.resume(
                        returning: Page(
                            changed: changed, deleted: deleted, token: token, isMore: operation.moreComing, error: error
                        ))
                }
                database.add(operation)
            }
        }
    }
}
