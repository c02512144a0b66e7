import CloudKitDevice
import CloudKitEncryption
import Foundation
import ScriptedCloud

@testable import CloudKit
@testable import CloudKitClient

/// A device with its own profile, signed in as users sign in: with a password, over HTTP, past the liar.
final class Device: Sendable {
    /// Such as `ada/phone`.
    let name: String
    let configuration: DeviceConfiguration
    let signIn: SignIn
    let container: CKContainer

    init(_ name: String, _ configuration: DeviceConfiguration, over transport: LyingTransport, rounds: Int) {
        self.name = name
        self.configuration = configuration
        signIn = SignIn(configuration: configuration, sendingBy: transport, rounds: rounds)
        container = CKContainer(
            configuration: configuration, transport: transport,
            clientEnvironment: ScriptedClock().clientEnvironment)
    }

    var own: CKDatabase { container.privateCloudDatabase }
    var shared: CKDatabase { container.sharedCloudDatabase }

    /// The account's secret, as the framework gets it.
    var secret: AccountSecret { get throws { try container.connection.cloud.account.secret() } }

    /// The user's record name in the container.
    var userName: String {
        get throws {
            guard let name = container.connection.cloud.account.userRecordName else { throw CancellationError() }
            return name
        }
    }
}
