import CloudKitModel
import CloudKitRecordLayer

extension SignUp {
    /// Creates the account of a person whom a provider vouches for, without a password.
    ///
    /// The address is the provider's where it has one, and is proved only where the provider has verified it.
    ///
    /// - Parameters:
    ///   - text: The sealed ticket, with which the person signs in afterwards.
    ///   - email: The address, if the provider has none.
    ///   - name: The name, if the provider has none.
    ///   - address: The network address that sends the request.
    ///   - invitation: The code of an invitation, required where sign-up is closed.
    /// - Throws: `RequestFailure` `accessDenied` when sign-up is closed; `authenticationFailed` for the ticket; `throttled`, `badRequest`;
    ///   `recordExists` for an address that another account has, and for a person who has an account.
    package func create(
        ticket text: String, email: String?, name: String?, address: String, invitation: String? = nil
    ) async throws -> Account {
        let ticket = try ProviderTickets(store.serverEnvironment).open(text, now: store.serverEnvironment.now())
        guard let emailAddress = EmailAddress(ticket.email ?? email ?? "") else { throw RequestFailure.malformedEmail }
        var account = store.accounts.newAccount(
            emailAddress, name: String((ticket.name ?? name ?? "").prefix(200)), rounds: roundsMin)
        account.isEmailProved = ticket.email != nil && ticket.isEmailVerified
        return try await add(account, emailAddress, address: address, invitation: invitation) { transaction, account in
            guard try await transaction.account(ticket) == nil else {
                throw RequestFailure(.recordExists, "you have an account already", remedy: "Sign in.")
            }
            try transaction.set(
                ProviderIdentity(
                    issuer: ticket.issuer, subject: ticket.subject, account: account.id, created: account.created))
        }
    }
}
