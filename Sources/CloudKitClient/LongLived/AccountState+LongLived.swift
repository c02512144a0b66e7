import CloudKitDevice

extension AccountState {
    /// The account whose long-lived operations the device may run; nil: none.
    package var longLivedOwner: String? {
        if case .available(let email, _, _) = self { email } else { nil }
    }
}
