import CloudKitModel
import CloudKitRecordLayer

extension Accounts {
    /// Phone numbers of one account.
    package static let phoneNumbersMax = 10

    /// Adds a phone number to an account: invitations to it can be accepted from then on (B-PRT-05).
    ///
    /// The caller has verified that the number is the person's.
    ///
    /// - Throws: `AccountError`.
    @discardableResult
    package func addPhoneNumber(_ text: String, email: String) async throws -> PhoneNumber {
        guard let number = PhoneNumber(text) else { throw AccountError.phoneNumberInvalid(text) }
        guard let id = try await account(email: email)?.id else { throw AccountError.notFound(email) }
        try await store.write { transaction in
            guard var account = try await Account.table.row(id, in: transaction) else {
                throw AccountError.notFound(email)
            }
            let owner = try await Account.idsByPhone.row(number.normalised, in: transaction)
            if owner == id { return }
            guard owner == nil else { throw AccountError.phoneNumberTaken(number.normalised) }
            guard account.phoneNumbers.count < Self.phoneNumbersMax else {
                throw AccountError.tooManyPhoneNumbers(email)
            }
            account.phoneNumbers.append(number.normalised)
            try Account.table.set(id, to: account, in: &transaction)
            try Account.idsByPhone.set(number.normalised, to: id, in: &transaction)
            try transaction.setAccountAddress(number.normalised, of: id)
        }
        return number
    }

    /// Removes a phone number from an account; invitations that were accepted stay so.
    ///
    /// - Throws: `AccountError`.
    package func removePhoneNumber(_ text: String, email: String) async throws {
        guard let number = PhoneNumber(text) else { throw AccountError.phoneNumberInvalid(text) }
        guard let id = try await account(email: email)?.id else { throw AccountError.notFound(email) }
        try await store.write { transaction in
            guard var account = try await Account.table.row(id, in: transaction),
                account.phoneNumbers.contains(number.normalised)
            else { throw AccountError.phoneNumberUnknown(number.normalised) }
            account.phoneNumbers.removeAll { $0 == number.normalised }
            try Account.table.set(id, to: account, in: &transaction)
            transaction.clearPhoneNumber(number.normalised)
        }
    }
}

extension StorageWriter {
    /// Makes an account no longer found by a number.
    mutating func clearPhoneNumber(_ normalised: String) {
        Account.idsByPhone.clear(normalised, in: &self)
        clearAccountAddress(normalised)
    }
}
