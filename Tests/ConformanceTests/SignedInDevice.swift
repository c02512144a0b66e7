import CloudKitDevice
import CloudKitEncryption
import Synchronization

@testable import CloudKit
@testable import CloudKitClient

/// The credentials of a device, kept in memory.
final class SignedInDevice: DeviceAccount {
    let apiToken: String?
    private let email: String
    private let deviceID: String
    private let token: Mutex<String?>
    private let held: AccountSecret?
    let userRecordName: String?

    /// - Parameter secret: nil: the account's keys are not on this device.
    init(
        apiToken: String, token: String?, email: String, deviceID: String = "device", userRecordName: String? = nil,
        secret: AccountSecret? = nil
    ) {
        self.deviceID = deviceID
        self.userRecordName = userRecordName
        held = secret
        self.apiToken = apiToken
        self.email = email
        self.token = Mutex(token)
    }

    var state: AccountState {
        token.withLock { $0 } == nil ? .noAccount : .available(AccountState.Device(email: email, id: deviceID))
    }

    func webAuthToken() async throws -> String? { token.withLock { $0 } }
    func webAuthToken(insteadOf refused: String) async throws -> String? { nil }
    /// The device's key, by which the cloud would know it, was not kept.
    func webAuthToken(beside apiToken: String) async throws -> String? { nil }
    func secret() throws -> AccountSecret {
        guard let held else { throw CallFailure.keysMissing("The keys of this account are not on this device") }
        return held
    }

    func keep(rotated token: String, of device: String) {
        guard device == deviceID else { return }
        self.token.withLock { $0 = token }
    }
}
