import CloudKitDevice
import CloudKitModel
import CloudKitWire
import IdentityDirectory

/// Calls that find people who agreed to be found (B-ACC-05).
extension DatabaseRequests {
    /// Returns the users of the look-ups who agreed to be found, in no order.
    ///
    /// Addresses and numbers are sent as hashes (B-ACC-07), so that the cloud does not learn those of strangers from an address
    /// book.
    package func discover(_ infos: [LookupInfo]) async throws -> [PersonIdentity] {
        try RequestLimits.check(items: infos.count)
        if infos.isEmpty { return [] }
        let requests = DatabaseRequests(connection: connection, scope: .public, settings: settings)
        // Hashes are an addition of ours.
        let isNative = connection.cloud.surface.isNative
        let sent = infos.compactMap { info in (isNative ? info.hashed : info).map { (asked: info, sent: $0) } }
        let request = LookupParticipantsRequest(sent.map(\.sent))
        let people = try await requests.call(.discoverUsers, request.wire(), needsUser: true) {
            try [PersonIdentity](wireAnswer: $0)
        }
        return people.map { person in
            var person = person
            person.lookup = sent.first { $0.sent == person.lookup }?.asked
            return person
        }
    }

    /// Returns those of the user's contacts who agreed to be found, each person once.
    package func discoverContacts() async throws -> [PersonIdentity] {
        // Also without contacts only a signed-in user gets an answer.
        _ = try await currentUser()
        let contacts: [LookupInfo]
        do {
            contacts = try connection.cloud.account.contacts()
        } catch let error as DeviceConfigurationError {
            throw CallFailure.misconfigured(error.description)
        }
        var found: [UserID: PersonIdentity] = [:]
        for start in stride(from: 0, to: contacts.count, by: Self.contactsPerRequest) {
            for person in try await discover(Array(contacts[start...].prefix(Self.contactsPerRequest))) {
                if let user = person.user, found[user] == nil { found[user] = person }
            }
        }
        return found.values.sorted { ($0.user?.recordName ?? "") < ($1.user?.recordName ?? "") }
    }

    private static let contactsPerRequest = 200

    /// Returns whether others may find the user; nil: the person has not decided.
    package func isDiscoverable() async throws -> Bool? {
        let account = connection.cloud.account
        _ = try await currentUser()
        do {
            return try await account.isDiscoverable()
        } catch {
            throw CallFailure(account: error)
        }
    }
}

extension LookupInfo {
    /// The look-up with the hash of its address or number; nil for a text that is neither.
    fileprivate var hashed: LookupInfo? {
        if user != nil { return self }
        if let emailAddress {
            return (try? AccountAddress(emailAddress)).map { LookupInfo(addressHash: AddressHash.of($0.text)) }
        }
        return phoneNumber.flatMap { PhoneNumber($0) }.map { LookupInfo(addressHash: AddressHash.of($0.normalised)) }
    }
}
