import CloudKitDevice
import Synchronization

@testable import CloudKit

/// The credentials of a device, kept in memory.
final class SignedInDevice: DeviceAccount {
    let apiToken: String?
    private let email: String
    private let token: Mutex<String?>

    init(apiToken: String, token: String?, email: String) {
        self.apiToken = apiToken
        self.email = email
        self.token = Mutex(token)
    }

    var state: AccountState {
        token.withLock { $0 } == nil ? .noAccount : .available(email: email, deviceID: "device")
    }

    func webAuthToken() async throws -> String? { token.withLock { $0 } }
    func webAuthToken(insteadOf refused: String) async throws -> String? { nil }
    func keep(rotated token: String) { self.token.withLock { $0 = token } }
}
