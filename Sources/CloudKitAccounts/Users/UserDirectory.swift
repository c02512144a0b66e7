import CloudKitModel
import CloudKitRecordLayer
import IdentityDirectory

/// The names, addresses and public keys behind the users of a container, as shares show them.
package struct UserDirectory: Sendable {
    let store: AccountStore

    /// The part of an account that a share may show.
    package struct Person: Hashable, Sendable {
        /// Normalised.
        package var email: String
        /// Normalised.
        package var phoneNumbers: [String]
        /// The first word of the account's name.
        package var givenName: String?
        /// The rest of the account's name.
        package var familyName: String?
        /// Whether invitations to the address are the person's: always, unless the cloud requires proved ones.
        package var isEmailCounted = true
        /// The public identity to which others wrap keys for the account (B-TM-08); nil for an account without a
        /// keychain.
        package var publicIdentity: [UInt8]?

        fileprivate init(_ account: Account, publicIdentity: [UInt8]? = nil) {
            email = account.email
            phoneNumbers = account.phoneNumbers
            givenName = account.givenName
            familyName = account.familyName
            self.publicIdentity = publicIdentity
        }
    }

    /// Returns the person behind a user; nil for a user without an account, and for a disabled one.
    package func person(_ user: UserID) async throws -> Person? {
        try await store.read { transaction -> Person? in
            guard let id = try await UserNames.accounts.row(user.recordName, in: transaction),
                let account = try await Account.table.row(id, in: transaction), !account.isDisabled
            else { return nil }
            var person = Person(account, publicIdentity: try await Keychain.table.row(id, in: transaction)?.identity)
            person.isEmailCounted = !store.requiresProvedAddresses || account.isEmailProved
            return person
        }
    }

    /// Returns the user of an account in a container, by the address or phone number of a look-up; nil for one without either, and for an
    /// address that is not proved where the cloud requires that.
    package func user(withAddressOf lookup: LookupInfo, in container: ContainerID) async throws -> UserID? {
        if let email = lookup.emailAddress {
            if store.requiresProvedAddresses,
                try await store.accounts.account(email: email)?.isEmailProved != true
            {
                return nil
            }
            return try await user(email: email, in: container)
        }
        if let number = lookup.phoneNumber { return try await user(phoneNumber: number, in: container) }
        return nil
    }

    /// Returns the user of an account in a container, by the account's address.
    package func user(email: String, in container: ContainerID) async throws -> UserID? {
        guard let address = EmailAddress(email),
            let id = try await Account.idsByEmail.row(address.normalised, in: store)
        else { return nil }
        return try await store.userNames.name(of: id, in: container)
    }

    /// Returns the user of an account in a container, by one of the account's phone numbers.
    package func user(phoneNumber: String, in container: ContainerID) async throws -> UserID? {
        guard let number = PhoneNumber(phoneNumber),
            let id = try await Account.idsByPhone.row(number.normalised, in: store)
        else { return nil }
        return try await store.userNames.name(of: id, in: container)
    }

    /// Returns the identity of a person who agreed to be found and has used the container; nil for all others, whatever the reason.
    package func discoverable(_ lookup: LookupInfo, in container: ContainerID) async throws -> PersonIdentity? {
        try await store.read { transaction -> PersonIdentity? in
            let id: String? =
                if let user = lookup.user {
                    try await UserNames.accounts.row(user.recordName, in: transaction)
                } else if let hash = lookup.addressHash {
                    try await Account.idsByAddressHash.row(hash.hex, in: transaction)
                } else if let email = lookup.emailAddress.flatMap({ EmailAddress($0) }) {
                    try await Account.idsByEmail.row(email.normalised, in: transaction)
                } else if let number = lookup.phoneNumber.flatMap({ PhoneNumber($0) }) {
                    try await Account.idsByPhone.row(number.normalised, in: transaction)
                } else {
                    nil
                }
            guard let id, let account = try await Account.table.row(id, in: transaction),
                account.isDiscoverable == true, !account.isDisabled, counts(lookup, of: account),
                let name = try await UserNames.names.row(
                    OwnedRowKey(owner: id, name: container.name), in: transaction),
                lookup.user == nil || lookup.user?.recordName == name
            else { return nil }
            return PersonIdentity(
                user: UserID(name), lookup: lookup, givenName: account.givenName, familyName: account.familyName)
        }
    }

    /// Returns whether a look-up that leads to an account counts: not by an address that is not proved, where the cloud requires that.
    private func counts(_ lookup: LookupInfo, of account: Account) -> Bool {
        guard store.requiresProvedAddresses, !account.isEmailProved, lookup.user == nil else { return true }
        if let hash = lookup.addressHash { return hash != AddressHash.of(account.email) }
        return lookup.emailAddress == nil
    }

    /// Returns the person behind a user if the person agreed to be found.
    package func discoverable(_ user: UserID) async throws -> Person? {
        try await store.read { transaction -> Person? in
            guard let id = try await UserNames.accounts.row(user.recordName, in: transaction),
                let account = try await Account.table.row(id, in: transaction), account.isDiscoverable == true
            else { return nil }
            return Person(account)
        }
    }

    // MARK: Shares

    /// Adds names to the participants who have accepted (B-PRT-09), and public identities to all.
    package func addIdentities(to share: inout Share) async throws {
        for index in share.participants.indices {
            let participant = share.participants[index]
            share.participants[index].identity = try await addingIdentity(
                to: participant.identity, withName: participant.acceptance == .accepted)
        }
        for index in share.requesters.indices {
            share.requesters[index] = try await addingIdentity(to: share.requesters[index], withName: true)
        }
        for index in share.blocked.indices {
            share.blocked[index] = try await addingIdentity(to: share.blocked[index], withName: true)
        }
    }

    /// Returns an identity with the public identity of its user, and with the name if it may be shown.
    package func addingIdentity(to identity: PersonIdentity, withName: Bool) async throws -> PersonIdentity {
        guard let user = identity.user, let person = try await person(user) else { return identity }
        var identity = identity
        identity.publicIdentity = person.publicIdentity
        if withName {
            identity.givenName = person.givenName
            identity.familyName = person.familyName
        }
        return identity
    }

    /// Adds names and public identities to the shares among records.
    package func addIdentities(to records: inout [Record]) async throws {
        for index in records.indices where records[index].sharing != nil {
            if var share = records[index].sharing {
                try await addIdentities(to: &share)
                records[index].sharing = share
            }
        }
    }

    /// Returns outcomes with names and public identities in the shares among their records, those of conflicts included.
    package func addingIdentities(to outcomes: [RecordOutcome]) async throws -> [RecordOutcome] {
        var outcomes = outcomes
        for (position, outcome) in outcomes.enumerated() {
            switch outcome {
            case .record(let record) where record.sharing != nil:
                var records = [record]
                try await addIdentities(to: &records)
                outcomes[position] = .record(records[0])
            case .failed(let name, var failure):
                guard let record = failure.serverRecord?.value, record.sharing != nil else { continue }
                var records = [record]
                try await addIdentities(to: &records)
                failure.serverRecord = RequestFailure.Box(records[0])
                outcomes[position] = .failed(recordName: name, failure)
            default: break
            }
        }
        return outcomes
    }

    /// Returns a request in which participants named by address have their users (B-PRT-05).
    package func resolving(
        _ request: ModifyRecordsRequest, in container: ContainerID
    ) async throws -> ModifyRecordsRequest {
        guard request.operations.contains(where: { $0.change.share?.participants != nil }) else { return request }
        var request = request
        for index in request.operations.indices {
            guard var participants = request.operations[index].change.share?.participants else { continue }
            for position in participants.indices where participants[position].user == nil {
                guard let lookup = participants[position].lookup else { continue }
                participants[position].user =
                    if let user = lookup.user { user } else {
                        try await user(withAddressOf: lookup, in: container)
                    }
            }
            request.operations[index].change.share?.participants = participants
        }
        return request
    }
}

extension AccountStore {
    /// The names, addresses and public keys behind users.
    package var userDirectory: UserDirectory { UserDirectory(store: self) }
}
