import CloudKit

// An app's code as the introduction to sharing and the pages of its symbols write it, with `import CloudKit` alone:
// unused results, functions that return their arguments, blocks of both generations.

/// The sharing part of an app with contacts.
struct ContactSharing: Sendable {
    let container: CKContainer
    let zone: CKRecordZone

    var privateCloudDatabase: CKDatabase { container.privateCloudDatabase }
    var sharedCloudDatabase: CKDatabase { container.sharedCloudDatabase }

    // MARK: The introduction's functions

    func addContact(name: String, phoneNumber: String) async throws -> CKRecord {
        let id = CKRecord.ID(zoneID: zone.zoneID)
        let contactRecord = CKRecord(recordType: "Contact", recordID: id)
        contactRecord["name"] = name
        contactRecord["phoneNumber"] = phoneNumber
        try await privateCloudDatabase.save(contactRecord)
        return contactRecord
    }

    func createShare(contactRecord: CKRecord) async throws -> CKShare {
        let share = CKShare(rootRecord: contactRecord)
        try await privateCloudDatabase.modifyRecords(saving: [contactRecord, share], deleting: [])
        return share
    }

    func fetchSharedContacts(in zone: CKRecordZone, pageSize: Int? = nil) async throws -> [String] {
        var names: [String] = []
        var changeToken: CKServerChangeToken? = nil
        var moreChangesComing = true
        while moreChangesComing {
            let changes = try await sharedCloudDatabase.recordZoneChanges(
                inZoneWith: zone.zoneID, since: changeToken, resultsLimit: pageSize)
            for (_, result) in changes.modificationResultsByID {
                if let name = try result.get().record["name"] as? String { names.append(name) }
            }
            moreChangesComing = changes.moreComing
            changeToken = changes.changeToken
        }
        return names.sorted()
    }

    func findPeople(_ emailAddress: String, _ phoneNumber: String, _ recordID: CKRecord.ID) async throws
        -> [CKShare.Participant]
    {
        [
            try await container.shareParticipant(forEmailAddress: emailAddress),
            try await container.shareParticipant(forPhoneNumber: phoneNumber),
            try await container.shareParticipant(forUserRecordID: recordID),
        ]
    }

    func addParticipant(_ participant: CKShare.Participant, to share: CKShare) async throws {
        participant.permission = .readWrite
        share.addParticipant(participant)
        try await privateCloudDatabase.save(share)
    }

    func confirmShareParticipation(from url: URL) async throws {
        let shareMetadata = try await container.shareMetadata(for: url)
        try await container.accept(shareMetadata)
    }

    func createAndSaveShare(for zone: CKRecordZone) async throws -> CKShare {
        let share = CKShare(recordZoneID: zone.zoneID)
        try await privateCloudDatabase.save(share)
        if share.recordID.recordName == CKRecordNameZoneWideShare { return share }
        throw CKError(.internalError)
    }

    // MARK: The pages' functions, with operations and their first blocks

    func share(
        _ rootRecord: CKRecord, titled title: String, thumbnail: Data,
        completion: @escaping @Sendable (Result<CKRecord.ID, any Error>) -> Void
    ) {
        let share = CKShare(rootRecord: rootRecord)
        share[CKShare.SystemFieldKey.title] = title as CKRecordValue?
        share[CKShare.SystemFieldKey.thumbnailImageData] = thumbnail as CKRecordValue?
        share[CKShare.SystemFieldKey.shareType] = "com.example.contact" as CKRecordValue?
        share.publicPermission = .none
        let operation = CKModifyRecordsOperation(recordsToSave: [rootRecord, share], recordIDsToDelete: nil)
        operation.savePolicy = .ifServerRecordUnchanged
        operation.modifyRecordsCompletionBlock = { savedRecords, _, error in
            if let error {
                completion(.failure(error))
            } else if let share = savedRecords?.first(where: { $0 is CKShare }) as? CKShare {
                completion(.success(share.recordID))
            }
        }
        privateCloudDatabase.add(operation)
    }

    func fetchParticipants(
        for lookupInfos: [CKUserIdentity.LookupInfo],
        completion: @escaping (Result<[CKShare.Participant], any Error>) -> Void
    ) {
        var participants = [CKShare.Participant]()
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: lookupInfos)
        operation.shareParticipantFetchedBlock = { participant in participants.append(participant) }
        operation.fetchShareParticipantsCompletionBlock = { error in
            if let error { completion(.failure(error)) } else { completion(.success(participants)) }
        }
        operation.qualityOfService = .userInitiated
        container.add(operation)
    }

    func fetchShareMetadata(
        for shareURLs: [URL], completion: @escaping (Result<[URL: CKShare.Metadata], any Error>) -> Void
    ) {
        var cache = [URL: CKShare.Metadata]()
        let operation = CKFetchShareMetadataOperation(shareURLs: shareURLs)
        operation.shouldFetchRootRecord = true
        operation.rootRecordDesiredKeys = ["name"]
        operation.perShareMetadataBlock = { url, metadata, _ in
            guard let metadata = metadata else { return }
            cache[url] = metadata
        }
        operation.fetchShareMetadataCompletionBlock = { error in
            if let error { completion(.failure(error)) } else { completion(.success(cache)) }
        }
        operation.qualityOfService = .userInitiated
        container.add(operation)
    }

    func acceptShare(
        metadata: CKShare.Metadata, completion: @escaping (Result<CKRecord.ID?, any Error>) -> Void
    ) {
        let operation = CKAcceptSharesOperation(shareMetadatas: [metadata])
        var rootRecordID: CKRecord.ID?
        operation.perShareCompletionBlock = { metadata, share, error in
            if share != nil, error == nil { rootRecordID = metadata.hierarchicalRootRecordID }
        }
        operation.acceptSharesCompletionBlock = { error in
            if let error { completion(.failure(error)) } else { completion(.success(rootRecordID)) }
        }
        operation.qualityOfService = .utility
        container.add(operation)
    }
}

/// A substitute for the system's delegate on other platforms.
final class ContactApplication: Sendable {
    let container: CKContainer
    private let accepted: AsyncStream<CKShare.Metadata>.Continuation

    init(container: CKContainer, accepted: AsyncStream<CKShare.Metadata>.Continuation) {
        self.container = container
        self.accepted = accepted
    }

    func application(
        _ application: ContactApplication, userDidAcceptCloudKitShareWith shareMetadata: CKShare.Metadata
    ) {
        Task {
            do {
                try await container.accept(shareMetadata)
                accepted.yield(shareMetadata)
            } catch {
                accepted.finish()
            }
        }
    }
}
