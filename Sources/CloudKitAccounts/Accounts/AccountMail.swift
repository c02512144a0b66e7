/// Sends mail to people, through the server that the operator has configured.
package protocol MailDelivery: Sendable {
    /// Sends a mail and waits until the server has taken it.
    ///
    /// - Throws: An error whose description has no password and no address.
    func send(_ mail: AccountMail) async throws
}

/// A mail to one person.
package struct AccountMail: Hashable, Sendable {
    /// The address of the person.
    package var receiver: String
    /// The subject, in one line.
    package var subject: String
    /// The text.
    package var text: String

    /// Returns the mail with the link by which a person proves the address of their account.
    ///
    /// - Parameters:
    ///   - link: The link.
    ///   - receiver: The address.
    ///   - cloud: The address of the cloud.
    package static func addressProof(_ link: String, to receiver: String, cloud: String) -> AccountMail {
        AccountMail(
            receiver: receiver, subject: "Confirm your address for \(host(of: cloud))",
            text: """
                Somebody, most likely you, has an account with this address at the cloud \(cloud).

                Open this link to confirm that the address is yours. People can then share with you by it:

                \(link)

                The link works for \(AddressProofs.lifetime / 86_400_000) days. If the account is not yours, do nothing: without the link, \
                nobody gets what is shared with this address.
                """)
    }

    /// Returns the mail with the link of an invitation to make an account.
    ///
    /// - Parameters:
    ///   - link: The link.
    ///   - receiver: The address that is invited.
    ///   - cloud: The address of the cloud.
    ///   - days: The days for which the link works.
    package static func invitation(_ link: String, to receiver: String, cloud: String, days: Int) -> AccountMail {
        AccountMail(
            receiver: receiver, subject: "Your invitation to \(host(of: cloud))",
            text: """
                The operator of the cloud \(cloud) invites you to make an account with this address.

                Open this link, or give it to: welkin sign-up --invitation LINK --email \(receiver)

                \(link)

                The link works once, for \(days) days. If you did not expect it, do nothing.
                """)
    }

    private static func host(of url: String) -> String {
        String((url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]).prefix { $0 != "/" })
    }
}
