import CloudKitModel
import CloudKitRecordLayer

/// What containers may know of the people behind their users: for shares, which name who takes part.
package struct People: Sendable {
    let book: Book
    let names: UserNames

    package init(book: Book, surroundings: Surroundings) {
        self.book = book
        names = UserNames(book: book, surroundings: surroundings)
    }

    /// What a share may show of somebody.
    package struct Person: Hashable, Sendable {
        /// Normalised.
        package var email: String
        package var givenName: String?
        package var familyName: String?
        package var publicIdentity: [UInt8]?
    }

    /// The person behind a user; nil for one without an account.
    package func person(_ user: UserID) async throws -> Person? {
        guard let id = try await book.get(AccountKey.userAccount(user.recordName)),
            let account: Account = try await book.row(AccountKey.account(String(decoding: id, as: UTF8.self))),
            !account.isDisabled
        else { return nil }
        let parts = account.name.split(separator: " ", maxSplits: 1).map(String.init)
        return Person(
            email: account.email, givenName: parts.first, familyName: parts.count > 1 ? parts[1] : nil,
            publicIdentity: try await publicIdentity(of: String(decoding: id, as: UTF8.self)))
    }

    /// What others need to give the account keys (B-TM-08); nil for one that has none.
    private func publicIdentity(of account: String) async throws -> [UInt8]? {
        let keychain: Keychain? = try await book.row(AccountKey.keychain(of: account))
        return keychain?.identity
    }

    /// The user of an account in a container, by the address that the account is known under.
    package func user(email: String, in container: ContainerID) async throws -> UserID? {
        guard let address = EmailAddress(email), let id = try await book.get(AccountKey.email(address)) else {
            return nil
        }
        return try await names.name(of: String(decoding: id, as: UTF8.self), in: container)
    }

    // MARK: Shares

    /// Adds what is known of people: names once they have accepted (B-PRT-09), public identities always.
    package func dress(_ share: inout Share) async throws {
        for index in share.participants.indices {
            let participant = share.participants[index]
            share.participants[index].identity = try await dressed(
                participant.identity, withName: participant.acceptance == .accepted)
        }
        for index in share.requesters.indices {
            share.requesters[index] = try await dressed(share.requesters[index], withName: true)
        }
        for index in share.blocked.indices {
            share.blocked[index] = try await dressed(share.blocked[index], withName: true)
        }
    }

    package func dressed(_ identity: PersonIdentity, withName: Bool) async throws -> PersonIdentity {
        guard let user = identity.user, let person = try await person(user) else { return identity }
        var identity = identity
        identity.publicIdentity = person.publicIdentity
        if withName {
            identity.givenName = person.givenName
            identity.familyName = person.familyName
        }
        return identity
    }

    package func dress(_ records: inout [Record]) async throws {
        for index in records.indices where records[index].sharing != nil {
            if var share = records[index].sharing {
                try await dress(&share)
                records[index].sharing = share
            }
        }
    }

    package func dressed(_ outcomes: [RecordOutcome]) async throws -> [RecordOutcome] {
        var outcomes = outcomes
        for (position, outcome) in outcomes.enumerated() {
            switch outcome {
            case .record(let record) where record.sharing != nil:
                var records = [record]
                try await dress(&records)
                outcomes[position] = .record(records[0])
            case .failed(let name, var failure):
                guard let record = failure.serverRecord?.value, record.sharing != nil else { continue }
                var records = [record]
                try await dress(&records)
                failure.serverRecord = RequestFailure.Box(records[0])
                outcomes[position] = .failed(recordName: name, failure)
            default: break
            }
        }
        return outcomes
    }

    /// A request with the users filled in whom its participants' addresses belong to (B-PRT-05).
    package func resolving(
        _ request: ModifyRecordsRequest, in container: ContainerID
    ) async throws -> ModifyRecordsRequest {
        guard request.operations.contains(where: { $0.change.share?.participants != nil }) else { return request }
        var request = request
        for index in request.operations.indices {
            guard var participants = request.operations[index].change.share?.participants else { continue }
            for position in participants.indices where participants[position].user == nil {
                let lookup = participants[position].lookup
                participants[position].user =
                    if let user = lookup?.user {
                        user
                    } else if let email = lookup?.emailAddress {
                        try await user(email: email, in: container)
                    } else {
                        nil
                    }
            }
            request.operations[index].change.share?.participants = participants
        }
        return request
    }
}
