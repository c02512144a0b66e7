/// The state of a profile's account, as the profile knows it.
package enum AccountState: Hashable, Sendable {
    /// The device that is signed in, and its user.
    package struct Device: Hashable, Sendable {
        /// The address of the account.
        package var email: String
        /// The id of the device.
        package var id: String
        /// Names the account, as `DeviceCredentials.accountID`.
        package var accountID: String?

        /// Creates a value with the given properties.
        package init(email: String, id: String, accountID: String? = nil) {
            self.email = email
            self.id = id
            self.accountID = accountID
        }

        /// Returns a Boolean value that indicates whether another user is signed in than before.
        ///
        /// A user who has signed in again is another device, and one with another address is the same device. The address of an account that was
        /// removed may be that of another one.
        func isOtherUser(than earlier: Device) -> Bool {
            guard id != earlier.id else { return false }
            // A user whose sign-in an earlier version stored goes on without.
            guard accountID != nil || earlier.accountID != nil else { return email != earlier.email }
            return accountID != earlier.accountID
        }
    }

    /// A user is signed in, and the device has the account's keys.
    ///
    /// - Parameter keysGeneration: Counts the account's keys, as `DeviceKeychain.generation`; 0: they are not kept in a profile.
    case available(Device, keysGeneration: Int = 0)
    case noAccount
    /// The profile cannot be read, or its keychain is damaged.
    case couldNotDetermine
    /// The operator disabled the account.
    case restricted(Device)
    /// A user is signed in and has to prove the identity again.
    case temporarilyUnavailable(AccountIssue, Device)

    /// The device that is signed in, if one is.
    package var device: Device? {
        switch self {
        case .available(let device, _), .restricted(let device), .temporarilyUnavailable(_, let device): device
        case .noAccount, .couldNotDetermine: nil
        }
    }

    /// Returns a Boolean value that indicates whether another user is signed in than in an earlier state.
    package func isOtherUser(than earlier: AccountState) -> Bool {
        guard let device, let before = earlier.device else { return false }
        return device.isOtherUser(than: before)
    }

    /// Returns a Boolean value that indicates whether the account has other keys than in an earlier state: what was sealed then opens no more.
    package func hasOtherKeys(than earlier: AccountState) -> Bool {
        guard case .available(_, let now) = self, case .available(_, let before) = earlier else { return false }
        return now != before
    }
}

/// The reason why a signed-in device has no private and shared data; remembered in the profile, so that every process knows.
package enum AccountIssue: String, Codable, Hashable, Sendable, CaseIterable {
    /// The operator disabled the account.
    case disabled
    /// The device was signed out from elsewhere.
    case sessionEnded
    /// Another device, or the operator, reset the account's keys.
    case keysReset
    /// Signed in, but the password does not open the keychain: the operator set it without knowing the old one.
    case keysLocked

    /// The cause and the remedies.
    package var explanation: String {
        switch self {
        case .disabled: "The account is disabled. Ask the operator of the cloud."
        case .sessionEnded: "This device was signed out from elsewhere. Sign in again with: welkin login"
        case .keysReset: "The account's keys were reset since this device signed in. Sign in again with: welkin login"
        case .keysLocked:
            "This device does not have the account's keys: what signed it in opens none, such as a provider, or a password that the operator "
                + "has set. Ways out: `welkin keychain request`, which another device of yours approves; `welkin recover` with the recovery words; `welkin login` with this password on a device that still has the "
                + "keys, then again here; or, losing what was encrypted, `welkin keychain reset`."
        }
    }
}
