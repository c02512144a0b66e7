import CloudKitModel
import Foundation

/// Looks up users who agreed to be found, with `welkin discovery on` (B-ACC-05). All others, known or not, are not found.
@available(*, deprecated, message: "No longer supported; see shareParticipants(for:)")
extension CKContainer {
    /// Looks up a user who agreed to be found (B-ACC-05); nil for all others.
    nonisolated(nonsending) public func userIdentity(
        forEmailAddress email: String
    ) async throws -> CKUserIdentity? {
        try await userIdentities(forEmailAddresses: [email])[email]
    }

    /// Looks up a user who agreed to be found (B-ACC-05); nil for all others.
    nonisolated(nonsending) public func userIdentity(
        forPhoneNumber phoneNumber: String
    ) async throws -> CKUserIdentity? {
        try await userIdentities(forPhoneNumbers: [phoneNumber])[phoneNumber]
    }

    /// Looks up a user who agreed to be found (B-ACC-05); nil for all others.
    nonisolated(nonsending) public func userIdentity(
        forUserRecordID userRecordID: CKRecord.ID
    ) async throws -> CKUserIdentity? {
        try await userIdentities(forUserRecordIDs: [userRecordID])[userRecordID]
    }

    /// Looks up users; only those who agreed to be found are found (B-ACC-05).
    nonisolated(nonsending) public func userIdentities(
        forEmailAddresses emails: [String]
    ) async throws -> [String: CKUserIdentity] {
        try await discovered(CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails)) { $0.emailAddress }
    }

    /// Looks up users; only those who agreed to be found are found (B-ACC-05).
    nonisolated(nonsending) public func userIdentities(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: CKUserIdentity] {
        try await discovered(CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers)) {
            $0.phoneNumber
        }
    }

    /// Looks up users; only those who agreed to be found are found (B-ACC-05).
    nonisolated(nonsending) public func userIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await discovered(CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs)) { $0.userRecordID }
    }

    /// Returns the user's contacts who agreed to be found. The address book is the file that `CLOUDKIT_CONTACTS` names; without one there
    /// are no contacts.
    ///
    /// - Throws: `CKError.notAuthenticated` when no user is signed in.
    nonisolated(nonsending) public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] {
        try await publicCloudDatabase.failing {
            try await publicCloudDatabase.requests().discoverContacts().map { CKUserIdentity($0) }
        }
    }

    nonisolated(nonsending) private func discovered<Key: Hashable>(
        _ infos: [CKUserIdentity.LookupInfo], by key: (CKUserIdentity.LookupInfo) -> Key?
    ) async throws -> [Key: CKUserIdentity] {
        try await publicCloudDatabase.failing {
            let people = try await publicCloudDatabase.requests().discover(infos.map(\.model))
            let pairs = people.map { CKUserIdentity($0) }.compactMap { person in
                person.lookupInfo.flatMap(key).map { ($0, person) }
            }
            return Dictionary(pairs) { first, _ in first }
        }
    }
}

/// The forms with completion handlers, which are called on an arbitrary queue.
@available(*, deprecated, message: "No longer supported; see shareParticipants(for:)")
extension CKContainer {
    /// Looks up the contacts of the user; only those who agreed to be found are found (B-ACC-05).
    @preconcurrency public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        complete(to: completionHandler) { try await $0.allUserIdentitiesFromContacts() }
    }

    /// Looks up a user who agreed to be found (B-ACC-05); nil for all others.
    @preconcurrency public func discoverUserIdentity(
        withEmailAddress email: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        complete(oneTo: completionHandler) { try await $0.userIdentity(forEmailAddress: email) }
    }

    /// Looks up a user who agreed to be found (B-ACC-05); nil for all others.
    @preconcurrency public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        complete(oneTo: completionHandler) { try await $0.userIdentity(forPhoneNumber: phoneNumber) }
    }

    /// Looks up a user who agreed to be found (B-ACC-05); nil for all others.
    @preconcurrency public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        complete(oneTo: completionHandler) { try await $0.userIdentity(forUserRecordID: userRecordID) }
    }

    /// Looks up users; only those who agreed to be found are found (B-ACC-05).
    @preconcurrency public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        complete(to: completionHandler) { try await $0.userIdentities(forEmailAddresses: emails) }
    }

    /// Looks up users; only those who agreed to be found are found (B-ACC-05).
    @preconcurrency public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        complete(to: completionHandler) { try await $0.userIdentities(forPhoneNumbers: phoneNumbers) }
    }

    /// Looks up users; only those who agreed to be found are found (B-ACC-05).
    @preconcurrency public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        complete(to: completionHandler) { try await $0.userIdentities(forUserRecordIDs: userRecordIDs) }
    }

    /// Finding no one is not an error.
    private func complete(
        oneTo handler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void,
        _ body: @escaping @Sendable (CKContainer) async throws -> CKUserIdentity?
    ) {
        complete(to: { (person: CKUserIdentity??, error) in handler(person ?? nil, error) }, body)
    }
}
