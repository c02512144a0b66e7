import CloudKitDevice

extension AccountState {
    /// Whose long-lived operations the device may run; nil: nobody's.
    package var longLivedOwner: String? {
        if case .available(let email, _) = self { email } else { nil }
    }
}
