import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// The proofs that addresses are those of the people whose accounts have them, by links that are mailed.
package struct AddressProofs: Sendable {
    let store: AccountStore

    /// Milliseconds for which a link works.
    package static let lifetime: Int64 = 3 * 86_400_000
    private static let codeBytes = 16

    /// A link that is about to be mailed.
    package struct Link: Hashable, Sendable {
        /// The address of the account.
        package var email: String
        /// The code of the link, of which the cloud keeps a hash: 32 hexadecimal digits.
        package var code: String
    }

    /// Makes the link for an account, in place of the earlier one.
    ///
    /// - Parameter id: The account.
    /// - Returns: nil if the address is proved.
    /// - Throws: `RequestFailure` `throttled` after a link in the last minute, or five in the last day.
    package func makeLink(forAccount id: String) async throws -> Link? {
        let now = store.serverEnvironment.now()
        return try await store.write { transaction in
            guard let account = try await Account.table.row(id, in: transaction) else {
                throw RequestFailure(.itemNotFound, "there is no such account")
            }
            guard !account.isEmailProved else { return nil }
            let held = try await AddressProof.table.row(id, in: transaction)
            let sent = try AddressProof.sending(after: held?.sent ?? [], now: now)
            if let held { AddressProof.accounts.clear(held.hash, in: &transaction) }
            let code = store.serverEnvironment.randomHex(bytes: Self.codeBytes)
            let proof = AddressProof(
                account: id, email: account.email, hash: Self.hash(of: code), expires: now + Self.lifetime, sent: sent)
            try AddressProof.table.set(id, to: proof, in: &transaction)
            try AddressProof.accounts.set(proof.hash, to: id, in: &transaction)
            return Link(email: account.email, code: code)
        }
    }

    /// Proves the address of the account whose link has a code; the link works once.
    ///
    /// - Parameters:
    ///   - code: The code of the link.
    ///   - address: The network address that sends the request, to slow down guessing.
    ///   - proofLimiter: The one count of wrong proofs.
    /// - Returns: The account.
    /// - Throws: `RequestFailure` `accessDenied` for a link that does not work, `throttled`.
    package func prove(code: String, address: String, _ proofLimiter: ProofLimiter) async throws -> Account {
        let hash = Self.hash(of: code)
        let now = store.serverEnvironment.now()
        let proved: Account? = try await proofLimiter.unlessWrong(
            email: "address \(hash)", address: address, now: now, in: store
        ) {
            try await store.write { transaction in
                guard let id = try await AddressProof.accounts.row(hash, in: transaction),
                    let proof = try await AddressProof.table.row(id, in: transaction),
                    var account = try await Account.table.row(id, in: transaction)
                else { return nil }
                guard now < proof.expires, proof.email == account.email else { throw Self.invalid }
                account.isEmailProved = true
                try Account.table.set(id, to: account, in: &transaction)
                try await transaction.clearAddressProof(ofAccount: id)
                return account
            }
        }
        guard let proved else { throw Self.invalid }
        return proved
    }

    private static func hash(of code: String) -> String { SHA256.hash(data: Array(code.utf8)).hex }

    private static let invalid = RequestFailure(
        .accessDenied, "the link is not valid",
        remedy: "It was used, is expired, or a later one was sent. Have another one sent: welkin address --send")
}

extension Accounts {
    /// Notes that the operator knows the address of an account to be the person's, or not.
    ///
    /// - Throws: `AccountError.notFound`.
    package func setEmailProved(_ isProved: Bool, email: String) async throws {
        try await change(email) { $0.isEmailProved = isProved }
    }

    /// Notes that the operator knows the addresses of a group to be those of its people, or not.
    ///
    /// - Parameter group: nil: all accounts.
    /// - Returns: The number of accounts.
    /// - Throws: `AccountError.groupEmpty`.
    @discardableResult
    package func setEmailProved(_ isProved: Bool, group: AccountGroup?) async throws -> Int {
        try await change(group) { $0.isEmailProved = isProved }
    }
}

extension AccountStore {
    /// The proofs of addresses by mailed links.
    package var addressProofs: AddressProofs { AddressProofs(store: self) }
}
