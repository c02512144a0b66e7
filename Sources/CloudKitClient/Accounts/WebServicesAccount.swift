import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import Foundation

/// The user of documented web services: one with a web auth token in a file, the one of a server-to-server key, or none.
struct WebServicesAccount: DeviceAccount {
    let credentials: WebServicesCredentials
    let apiToken: String?

    /// The name of the one device that such a process is.
    private static let deviceID = "web-services"

    var state: AccountState {
        switch credentials {
        case .apiToken: .noAccount
        case .webAuthToken: token == nil ? .noAccount : .available(AccountState.Device(email: "", id: Self.deviceID))
        case .serverKey: .available(AccountState.Device(email: "", id: Self.deviceID))
        }
    }

    private var token: String? {
        guard case .webAuthToken(let file) = credentials, let bytes = (try? PrivateFile.read(file)) ?? nil else {
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }

    func webAuthToken() async throws -> String? { token }

    func webAuthToken(insteadOf refused: String) async throws -> String? {
        // Another process may have received the next one.
        token.flatMap { $0 == refused ? nil : $0 }
    }

    func webAuthToken(beside apiToken: String) async throws -> String? {
        throw CallFailure.beyondWebServices("Only a signed-in device can get a web auth token for another API token")
    }

    func keep(rotated token: String, of device: String) {
        guard case .webAuthToken(let file) = credentials else { return }
        // Without a place for it the present one goes on until the service refuses it.
        try? PrivateFile.replace(file, with: Array(token.utf8))
    }

    func secret() throws -> AccountSecret {
        throw CallFailure.beyondWebServices("Web services give no keys of encrypted values")
    }

    var userRecordName: String? { nil }
}
