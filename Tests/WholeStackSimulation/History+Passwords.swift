import CloudKit
import CloudKitDevice
import Foundation

// Users who change their passwords and recovery words.
extension History {
    /// Returns a password that the user never had.
    func newPassword(of user: SimulatedUser) -> String { "password \(ledger.makeStamp()) of \(user.name)" }

    /// Changes the password or the recovery words on a device, while another device of the user may sign in again or do the same.
    func changeSecrets(on device: SimulatedDevice) async {
        guard mayChangeSecrets(device) else { return }
        let other = devices.first { $0.user.name == device.user.name && $0 !== device }
        guard let other, chance.percent(60) else { return await changeSecrets(on: device, isAlone: true) }
        let own = Task { await changeSecrets(on: device, isAlone: false) }
        if mayChangeSecrets(other), chance.percent(40) {
            await changeSecrets(on: other, isAlone: false)
        } else {
            await endSession(of: other)
        }
        await own.value
    }

    /// Whether a user can do so on a device now.
    func mayChangeSecrets(_ device: SimulatedDevice) -> Bool {
        device.app != nil && !device.isLost.value && !device.isSignedOut.value && !device.isVisited.value
            && !device.user.hasOperatorsPassword.value
    }

    /// - Parameter isAlone: Whether no other device does so meanwhile.
    private func changeSecrets(on device: SimulatedDevice, isAlone: Bool) async {
        try? await Task.sleep(for: .milliseconds(chance.number(0..<500)))
        let user = device.user
        do {
            if chance.percent(60) {
                let password = newPassword(of: user)
                try await device.changePassword(to: password)
                if isAlone { user.passwords.value = [password] }
                trail.note("\(device.name) changed the password")
            } else {
                let words = try await device.renewRecoveryWords()
                if isAlone { user.recoveryWords.value = [words] }
                trail.note("\(device.name) made recovery words")
            }
        } catch {
            trail.note("\(device.name) did not change the password or the recovery words: \(error)")
        }
    }

    /// Checks that each user can sign in with the password, and that it always opened the keys.
    func judgePasswords() async {
        guard has(.passwords) else { return }
        for device in devices {
            if device.hadNoKeys.value { violated("the password of \(device.name) did not open the keys") }
            guard device.name.hasSuffix("-1"), chance.percent(50) else { continue }
            device.registered.value = .max
            device.isSignedOut.value = true
            await signIn(device)
            if device.isSignedOut.value { violated("\(device.name) cannot sign in with the password") }
        }
    }
}
