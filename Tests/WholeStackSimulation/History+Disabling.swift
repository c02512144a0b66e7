import CloudKitAccounts
import CloudKitServer

// Users whose accounts the operator disables for a while.
extension History {
    /// Disables the account of a user.
    func disableAccount(of user: SimulatedUser) async {
        guard user.name != deletedUser, let accounts = cloud.cloud?.accountStore.accounts else { return }
        // It may be even if the disk says otherwise.
        disabled.value.insert(user.name)
        // Its devices have to register again afterwards.
        for device in devices where device.user.name == user.name { device.registered.value = .max }
        do {
            try await accounts.setDisabled(true, email: user.email)
            trail.note("the account of \(user.name) is disabled")
        } catch {
            trail.note("the account of \(user.name) is not disabled: \(error)")
        }
    }

    /// Enables all accounts again.
    func enableAccounts() async {
        for name in disabled.value.sorted() {
            guard let user = devices.first(where: { $0.user.name == name })?.user else { continue }
            await untilDone("account of \(name)") { cloud in
                try await cloud.accountStore.accounts.setDisabled(false, email: user.email)
            }
            disabled.value.remove(name)
            trail.note("the account of \(name) is enabled")
        }
    }
}
