import CloudKit
import CloudKitAccounts
import CloudKitDevice
import CloudKitModel
import CloudKitServer
import Foundation

// Users who sign out and in again while their apps run.
extension History {
    /// Signs the user of a device out, on it or from elsewhere, and in again.
    func endSession(of device: SimulatedDevice) async {
        guard device.app != nil, !device.isLost.value, !device.isSignedOut.value,
            !device.user.hasOperatorsPassword.value
        else { return }
        if has(.visits), chance.percent(60) { return await visit(device) }
        device.isSignedOut.value = true
        device.registered.value = .max
        if chance.percent(60) {
            await signOut(device)
        } else {
            await revoke(device)
        }
        try? await Task.sleep(for: .milliseconds(chance.number(10..<10_000)))
        await signIn(device)
    }

    /// Signs the user of a device out, on it.
    func signOut(_ device: SimulatedDevice) async {
        trail.note("\(device.name) signs out")
        do {
            try await device.signOut()
        } catch {
            // The device is signed out all the same.
            trail.note("\(device.name) signs out without the cloud: \(error)")
        }
    }

    /// Signs the user of a device in again, unless the cloud does not answer.
    func signIn(_ device: SimulatedDevice) async {
        guard device.isSignedOut.value, !device.isLost.value else { return }
        for _ in 0..<5 {
            do {
                try await device.signIn()
                device.isSignedOut.value = false
                device.isVisited.value = false
                forgetFormerUser(of: device)
                return trail.note("\(device.name) signs in")
            } catch {
                trail.note("\(device.name) cannot sign in: \(error)")
                try? await Task.sleep(for: .seconds(pause(after: error)))
            }
        }
    }

    /// Returns for how long a user waits who could not sign in, in seconds: the cloud takes few wrong passwords in a time.
    func pause(after error: any Error) -> Double {
        guard has(.passwords), case SignInError.refused(let refusal) = error else { return 2 }
        return max(2, refusal.retryAfter ?? 2)
    }

    /// Ends the session of a device as its user does on another one.
    private func revoke(_ device: SimulatedDevice) async {
        guard let accounts = cloud.cloud?.accountStore else { return }
        do {
            guard let account = try await accounts.accounts.account(email: device.user.email) else { return }
            let sessions = try await accounts.sessions.sessions(ofAccount: account.id)
            for session in sessions where session.name == device.name {
                _ = try await accounts.sessions.revoke(session.id, ofAccount: account.id)
            }
            trail.note("\(device.name) is signed out from elsewhere")
        } catch {
            trail.note("\(device.name) is not signed out: \(error)")
        }
    }
}
