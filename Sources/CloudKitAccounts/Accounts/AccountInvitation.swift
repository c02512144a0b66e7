import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// The permission of the operator to make an account, also where sign-up is closed: 32 hexadecimal digits, of which the cloud keeps the hash.
package struct AccountInvitation: StoredRow, Hashable {
    /// SHA-256 of the code, in hexadecimal.
    package var hash: String
    /// The only address that it makes an account for, normalised; nil: any.
    package var email: String?
    /// Accounts that it makes at most.
    package var usesMax: Int
    /// Accounts that it has made.
    package var uses: Int
    /// Milliseconds since 1970.
    package var created: Int64
    /// Milliseconds since 1970.
    package var expires: Int64
    /// The name of the person, if they give none themselves.
    package var name: String?
    /// The group of the accounts.
    package var group: String?
    private var quotaText: String?
    private var mailed: Bool?

    private enum CodingKeys: String, CodingKey {
        case hash, email, usesMax, uses, created, expires, name, group, mailed
        case quotaText = "quota"
    }

    init(hash: String, email: String?, usesMax: Int, created: Int64, expires: Int64) {
        self.hash = hash
        self.email = email
        self.usesMax = usesMax
        self.uses = 0
        self.created = created
        self.expires = expires
    }

    /// Whether only the mailbox of its address got the link: who uses it has proved the address.
    package var isMailed: Bool {
        get { mailed ?? false }
        set { mailed = newValue ? true : nil }
    }

    /// The space of the accounts; nil: the cloud's.
    package var quota: AccountQuota? {
        get { quotaText.flatMap { AccountQuota(text: $0) } }
        set { quotaText = newValue?.text }
    }

    /// The operator's name for it: the first digits of the hash.
    package var id: String { String(hash.prefix(12)) }

    /// The state of an invitation.
    package enum State: String, Sendable {
        case open, used, expired
    }

    /// Returns the state at a time, in milliseconds since 1970.
    package func state(at now: Int64) -> State { uses >= usesMax ? .used : expires <= now ? .expired : .open }

    /// hash → `AccountInvitation`
    static let table = RowTable<String, AccountInvitation>("invitation")

    /// The digits of a code.
    static let codeDigits = 32

    /// Returns the hash by which an invitation is stored; nil for a text that is no code.
    static func hash(of code: String) -> String? {
        guard code.utf8.count == codeDigits,
            code.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        return digest(code)
    }

    /// Returns the hash of a text that is a code.
    static func digest(_ code: String) -> String { SHA256.hash(data: Array(code.utf8)).hex }

    /// Returns the invitation with one use more.
    ///
    /// - Parameters:
    ///   - email: The address of the account that is made.
    ///   - now: Milliseconds since 1970.
    /// - Throws: `RequestFailure` `accessDenied` if it does not make this account.
    func used(for email: EmailAddress, now: Int64) throws(RequestFailure) -> AccountInvitation {
        guard state(at: now) == .open else { throw .invitationInvalid }
        guard self.email == nil || self.email == email.normalised else { throw .invitationForOther }
        var invitation = self
        invitation.uses += 1
        return invitation
    }
}

extension RequestFailure {
    static let invitationInvalid = RequestFailure(
        .accessDenied, "the invitation is not valid",
        remedy: "It is misspelled, used, expired or withdrawn. Ask the operator of this cloud for another.")
    static let invitationForOther = RequestFailure(
        .accessDenied, "the invitation is for another e-mail address",
        remedy: "Sign up with the address that was invited, or ask the operator of this cloud for another invitation.")
}
