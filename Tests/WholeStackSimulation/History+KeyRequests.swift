import CloudKitAccounts
import CloudKitDevice
import Foundation

/// The codes that two devices of a user show while one gives the other the account's keys.
struct KeyRequestCodes: Sendable {
    /// What the device that asks shows.
    let requester = Shared<String?>(nil)
    /// What the device that gives shows.
    let approver = Shared<String?>(nil)
    /// Whether one of them has ended.
    let isOver = Shared(false)

    /// Returns a code as soon as a device shows it; nil: both have ended before.
    func typed(_ code: Shared<String?>) async -> String? {
        while code.value == nil, !isOver.value { try? await Task.sleep(for: .seconds(1)) }
        return code.value
    }
}

// Devices that are signed in without the account's keys, and get them from another one.
extension History {
    /// Returns the device of a user that can give another one the account's keys.
    private func giver(to device: SimulatedDevice) -> SimulatedDevice? {
        devices.first { $0.user.name == device.user.name && $0 !== device }
    }

    /// Sets the password of a device's user as the operator, and gives the user a new device in place of this one, which then has no keys.
    ///
    /// - Returns: Whether the new device has started.
    func replaceWithoutKeys(_ device: SimulatedDevice) async -> Bool {
        guard let giver = giver(to: device), mayChangeSecrets(giver), mayChangeSecrets(device),
            (try? giver.hasKeys) == true
        else { return false }
        let user = device.user
        user.hasOperatorsPassword.value = true
        guard await setPassword(of: user), await replace(device, recovers: false) else {
            trail.note("\(device.name) keeps its keys, or has none yet")
            return false
        }
        keyExchanges.value.append(
            Task {
                try? await Task.sleep(for: .milliseconds(chance.number(0..<30_000)))
                await giveKeys(to: device)
            })
        return true
    }

    /// Sets the password of a user as the operator.
    private func setPassword(of user: SimulatedUser) async -> Bool {
        guard let accounts = cloud.cloud?.accountStore.accounts else { return false }
        let password = newPassword(of: user)
        user.passwords.value.append(password)
        let derivation = accounts.newDerivation(rounds: 10)
        do {
            let proof = try PasswordProof(password: password, salt: derivation.salt, rounds: derivation.rounds)
            try await accounts.setPassword(proof: proof.bytes, derivation: derivation, email: user.email)
            trail.note("operator: set the password of \(user.name)")
            return true
        } catch {
            trail.note("operator: did not set the password of \(user.name): \(error)")
            return false
        }
    }

    /// Lets a device get the account's keys from the user's other one.
    ///
    /// - Returns: Whether it has them.
    @discardableResult
    private func giveKeys(to device: SimulatedDevice) async -> Bool {
        for _ in 0..<10 {
            guard let giver = giver(to: device), (try? device.hasKeys) == false else { break }
            let codes = KeyRequestCodes()
            async let asked: Void = device.requestKeys(codes)
            async let gave: Void = giver.approveKeyRequest(codes)
            do {
                try await gave
            } catch {
                trail.note("\(giver.name) did not give keys: \(error)")
            }
            do {
                try await asked
                trail.note("\(device.name) has the keys")
            } catch {
                trail.note("\(device.name) did not get keys: \(error)")
                try? await Task.sleep(for: .seconds(pause(after: error)))
            }
        }
        return (try? device.hasKeys) == true
    }

    /// Gives all devices the keys that they lack, and lets users change the passwords that an operator has set.
    func settleKeyRequests() async {
        for exchange in keyExchanges.value { await exchange.value }
        keyExchanges.value = []
        for device in devices where device.user.hasOperatorsPassword.value {
            if await !giveKeys(to: device) { violated("\(device.name) does not get the account's keys") }
        }
        for device in devices where device.user.hasOperatorsPassword.value {
            await replaceOperatorsPassword(on: device)
        }
    }

    /// Changes the password that the operator has set, after the pause that wrong ones of before may cost.
    private func replaceOperatorsPassword(on device: SimulatedDevice) async {
        let password = newPassword(of: device.user)
        for attempt in 0..<3 {
            do {
                try await device.changePassword(to: password)
                device.user.passwords.value = [password]
                device.user.hasOperatorsPassword.value = false
                return
            } catch {
                if attempt == 2 { violated("\(device.name) cannot change the operator's password: \(error)") }
                try? await Task.sleep(for: .seconds(pause(after: error)))
            }
        }
    }
}
