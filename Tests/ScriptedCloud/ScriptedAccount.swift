import CloudKitClient
import CloudKitDevice
import CloudKitEncryption
import Synchronization

/// A device with or without a signed-in user.
package final class ScriptedAccount: DeviceAccount {
    package let state: AccountState
    package let apiToken: String?
    private let tokens: Mutex<[String]>
    private let rotated = Mutex<[String]>([])
    private let held: AccountSecret?
    package let userRecordName: String?

    /// - Parameters:
    ///   - tokens: The web token, and those that come after it when it is refused.
    ///   - secret: nil: the account's keys are not on this device.
    package init(
        state: AccountState = .available(AccountState.Device(email: "me@example.com", id: "d")),
        apiToken: String? = "api",
        tokens: [String] = ["web"], secret: AccountSecret? = nil, userRecordName: String? = "_me"
    ) {
        self.userRecordName = userRecordName
        held = secret
        self.state = state
        self.apiToken = apiToken
        self.tokens = Mutex(tokens)
    }

    package static var signedOut: ScriptedAccount { ScriptedAccount(state: .noAccount, tokens: []) }

    package var kept: [String] { rotated.withLock { $0 } }

    package func webAuthToken() async throws -> String? { tokens.withLock { $0.first } }

    package func webAuthToken(insteadOf refused: String) async throws -> String? {
        tokens.withLock { tokens in
            tokens.removeAll { $0 == refused }
            return tokens.first
        }
    }

    package func webAuthToken(beside apiToken: String) async throws -> String? {
        tokens.withLock { $0.first }.map { "\($0) beside \(apiToken)" }
    }

    package func secret() throws -> AccountSecret {
        guard let held else { throw CallFailure.keysMissing("The keys of this account are not on this device") }
        return held
    }

    package func keep(rotated token: String, of device: String) { rotated.withLock { $0.append(token) } }
}

/// A clock that moves only when someone sleeps.
package final class ScriptedClock: Sendable {
    private let state = Mutex((now: Duration.zero, slept: [Duration]()))

    package init() {}

    package var slept: [Duration] { state.withLock { $0.slept } }

    package func advance(by duration: Duration) { state.withLock { $0.now += duration } }

    package var clientEnvironment: ClientClock {
        ClientClock(
            now: { self.state.withLock { $0.now } },
            sleep: { duration in
                self.state.withLock { state in
                    state.now += duration
                    state.slept.append(duration)
                }
            },
            random: { 0.5 })
    }
}
