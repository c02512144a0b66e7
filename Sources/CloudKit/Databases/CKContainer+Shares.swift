import CloudKitClient
import CloudKitModel
import Foundation

/// Links and participants of shares.
extension CKContainer {
    /// Returns the metadata of the share behind a link (B-ACP-01).
    ///
    /// - Throws: `CKError.unknownItem` for a link that does not lead to a share that the user may see;
    ///   `.participantMayNeedVerification` where the invitation is for an address that the cloud has not verified
    ///   (B-ACP-02).
    nonisolated(nonsending) public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try await shareMetadatas(for: [url]).only(url)
    }

    /// Returns the metadata of the shares behind links, with an error for each that fails.
    nonisolated(nonsending) public func shareMetadatas(
        for urls: [URL]
    ) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try await publicCloudDatabase.failing {
            let results = try await publicCloudDatabase.requests().shareMetadata(
                urls, withRoot: false, desiredKeys: nil)
            return Dictionary(results.map { ($0.link, $0.result.asMetadata()) }) { first, _ in first }
        }
    }

    /// Accepts a share; its zone is in ``sharedCloudDatabase`` when this returns.
    ///
    /// - Throws: `CKError.permissionFailure` for a user who was not invited (B-ACP-03). Accepting twice is not an
    ///   error.
    @discardableResult
    nonisolated(nonsending) public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        try await accept([metadata]).only(metadata)
    }

    /// Accepts shares of this container, with an error for each that fails.
    nonisolated(nonsending) public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        try await publicCloudDatabase.failing {
            let results = try await publicCloudDatabase.requests().acceptShares(metadatas.map(\.offer))
            return Dictionary(zip(metadatas, results.map { $0.asShare() })) { first, _ in first }
        }
    }

    /// Returns a participant for a share, by address; also for a user without an account (B-PRT-05).
    nonisolated(nonsending) public func shareParticipant(
        forEmailAddress emailAddress: String
    ) async throws -> CKShare.Participant {
        try await shareParticipants(forEmailAddresses: [emailAddress]).only(emailAddress)
    }

    /// A participant for a share, by telephone number.
    nonisolated(nonsending) public func shareParticipant(
        forPhoneNumber phoneNumber: String
    ) async throws -> CKShare.Participant {
        try await shareParticipants(forPhoneNumbers: [phoneNumber]).only(phoneNumber)
    }

    /// A participant for a share, by user record.
    nonisolated(nonsending) public func shareParticipant(
        forUserRecordID userRecordID: CKRecord.ID
    ) async throws -> CKShare.Participant {
        try await shareParticipants(forUserRecordIDs: [userRecordID]).only(userRecordID)
    }

    /// Returns participants for a share, with an error for each user who cannot be found.
    nonisolated(nonsending) public func shareParticipants(
        forEmailAddresses emails: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await participants(emails, CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails))
    }

    /// Returns participants for a share, with an error for each user who cannot be found.
    nonisolated(nonsending) public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await participants(phoneNumbers, CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers))
    }

    /// Returns participants for a share, with an error for each user who cannot be found.
    nonisolated(nonsending) public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        try await participants(userRecordIDs, CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs))
    }

    /// Returns participants for shares, by addresses or user records.
    nonisolated(nonsending) public func shareParticipants(
        for lookupInfos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
        try await participants(lookupInfos, lookupInfos)
    }

    nonisolated(nonsending) private func participants<Key: Hashable>(
        _ keys: [Key], _ infos: [CKUserIdentity.LookupInfo]
    ) async throws -> [Key: Result<CKShare.Participant, any Error>] {
        try await publicCloudDatabase.failing {
            try RequestLimits.check(items: infos.count)
            if infos.isEmpty { return [:] }
            let participants = try await publicCloudDatabase.requests().participants(infos.map(\.model))
            var results: [Key: Result<CKShare.Participant, any Error>] = [:]
            for (key, participant) in zip(keys, participants) {
                results[key] = .success(CKShareParticipant(participant))
            }
            return results
        }
    }

    /// Asks owners to be let into their shares (B-SHN-02). Succeeds whether there is a share behind a link or not.
    nonisolated(nonsending) public func requestShareAccess(
        for urls: [URL]
    ) async throws -> [URL: Result<Void, any Error>] {
        try await publicCloudDatabase.failing {
            let results = try await publicCloudDatabase.requests().requestAccess(urls)
            return Dictionary(results.map { ($0.link, $0.result.asError(.other)) }) { first, _ in first }
        }
    }
}
