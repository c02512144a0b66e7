import CloudKitAccounts
import CloudKitRecordLayer

/// The addresses and numbers that are known to be a person's, normalised: invitations to them are the person's (B-PRT-05).
package struct ProvedAddresses: Hashable, Sendable {
    /// The address of the account; nil without an account, and for one that does not count because it is not proved.
    package var email: String?
    /// The numbers of the account.
    package var phoneNumbers: [String]

    /// Creates a set of addresses; by default there are none.
    package init(email: String? = nil, phoneNumbers: [String] = []) {
        self.email = email
        self.phoneNumbers = phoneNumbers
    }

    init(_ person: UserDirectory.Person?) {
        self.init(email: person?.isEmailCounted == true ? person?.email : nil, phoneNumbers: person?.phoneNumbers ?? [])
    }

    /// Returns whether a participant was invited by one of them.
    func include(_ participant: StoredParticipant) -> Bool {
        (email != nil && participant.email == email) || participant.phone.map(phoneNumbers.contains) == true
    }
}
