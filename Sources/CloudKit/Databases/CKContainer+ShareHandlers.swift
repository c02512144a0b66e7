import Foundation

/// The forms with completion handlers, which are called on an arbitrary queue.
extension CKContainer {
    /// Fetches the metadata of the share behind a link (B-ACP-01).
    @preconcurrency public func fetchShareMetadata(
        with url: URL, completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        complete(to: completionHandler) { try await $0.shareMetadata(for: url) }
    }

    /// Fetches the metadata of shares by their URLs.
    @preconcurrency public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
    ) {
        complete(to: completionHandler) { try await $0.shareMetadatas(for: urls) }
    }

    /// Takes part in a share (B-ACP-03).
    @preconcurrency public func accept(
        _ metadata: CKShare.Metadata, completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        Task {
            do {
                completionHandler(try await accept(metadata), nil)
            } catch {
                completionHandler(nil, error)
            }
        }
    }

    /// Accepts shares.
    @preconcurrency public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler:
            @escaping @Sendable (Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>) -> Void
    ) {
        Task {
            do {
                completionHandler(.success(try await accept(metadatas)))
            } catch {
                completionHandler(.failure(error))
            }
        }
    }

    /// A participant for a share, by address (B-PRT-05).
    @preconcurrency public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        complete(to: completionHandler) { try await $0.shareParticipant(forEmailAddress: emailAddress) }
    }

    /// Fetches a participant for a share.
    @preconcurrency public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        complete(to: completionHandler) { try await $0.shareParticipant(forPhoneNumber: phoneNumber) }
    }

    /// Fetches a participant for a share.
    @preconcurrency public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        complete(to: completionHandler) { try await $0.shareParticipant(forUserRecordID: userRecordID) }
    }

    /// Fetches participants for a share.
    @preconcurrency public func fetchShareParticipants(
        forEmailAddresses emails: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        complete(to: completionHandler) { try await $0.shareParticipants(forEmailAddresses: emails) }
    }

    /// Fetches participants for a share.
    @preconcurrency public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        complete(to: completionHandler) { try await $0.shareParticipants(forPhoneNumbers: phoneNumbers) }
    }

    /// Fetches participants for a share.
    @preconcurrency public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        complete(to: completionHandler) { try await $0.shareParticipants(forUserRecordIDs: userRecordIDs) }
    }
}
