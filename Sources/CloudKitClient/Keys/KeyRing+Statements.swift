import CloudKitDevice
import CloudKitEncryption
import CloudKitModel

/// Statements of shares, and the questions that they leave to the user.
extension KeyRing {
    /// Opens a statement and remembers its number and the identity that signed it.
    ///
    /// - Throws: `EncryptionError` for a statement that does not verify; `CallFailure` for files that cannot be written.
    func open(
        _ statement: SealedShareStatement, under key: ShareKey, as access: ShareKeyAccess
    ) throws -> ShareStatement {
        let own = try access.secret.identity().publicIdentity
        return try identities.change { pins in
            var seen = pins
            // The account's own identity never depends on the cloud.
            seen.replace(with: own, of: IdentityPins.name(of: access.user, in: statement.share.zone))
            let opened = try epochs.change { epochs in try statement.open(key, pins: &seen, epochs: &epochs) }
            pins = seen
            return opened
        }
    }

    /// Returns the identity that this device has pinned for a user of a zone.
    func pinnedIdentity(of user: UserID, in zone: ZoneAddress) -> Fingerprint? {
        (try? identities.known)?.fingerprint(of: IdentityPins.name(of: user.recordName, in: zone))
    }

    /// Returns whether the user of this device confirmed a new identity of another user.
    func isConfirmed(_ identity: Fingerprint, of user: UserID, in zone: ZoneAddress) -> Bool {
        (try? identities.known)?.isConfirmed(identity, of: IdentityPins.name(of: user.recordName, in: zone)) ?? false
    }

    /// Returns what the user confirmed about a share and no statement has yet.
    func answers(about share: RecordAddress) -> [ShareQuestions.Question] {
        (try? questions.known)?.confirmed(of: share) ?? []
    }

    /// Returns whether the user of this device is asked about a share, or has answered.
    func hasQuestions(about share: RecordAddress) -> Bool {
        guard let known = try? questions.known else { return false }
        return (known.open + known.confirmed).contains { $0.share == share }
    }

    /// Asks the user of this device about participants whom no device has confirmed, in place of earlier questions about the share.
    func ask(_ asked: [ShareQuestions.Question], about share: RecordAddress) {
        // A profile that cannot be written shows no questions; nobody gets a key.
        try? questions.change { $0.ask(asked, of: share) }
    }

    /// Keeps what the app on this device confirmed by a save, until a statement has it.
    func confirm(_ answers: [ShareQuestions.Question]) throws(CallFailure) {
        do {
            try questions.change { questions in for answer in answers { questions.confirm(answer) } }
        } catch {
            throw CallFailure(profile: error)
        }
    }

    /// Forgets answers about a share that a statement has now.
    func settle(_ share: RecordAddress) { try? questions.change { $0.settle(share) } }
}
