import CloudKitDevice
import CloudKitEncryption
import Synchronization

@testable import CloudKit
@testable import CloudKitClient

/// A device on which somebody is signed in, or nobody.
final class ScriptedAccount: DeviceAccount {
    let state: AccountState
    let apiToken: String?
    private let tokens: Mutex<[String]>
    private let rotated = Mutex<[String]>([])
    private let held: AccountSecret?
    let userRecordName: String? = "_me"

    /// - Parameters:
    ///   - tokens: The web token, and those that come after it when it is refused.
    ///   - secret: nil: the account's keys are not on this device.
    init(
        state: AccountState = .available(email: "me@example.com", deviceID: "d"), apiToken: String? = "api",
        tokens: [String] = ["web"], secret: AccountSecret? = nil
    ) {
        held = secret
        self.state = state
        self.apiToken = apiToken
        self.tokens = Mutex(tokens)
    }

    static var signedOut: ScriptedAccount { ScriptedAccount(state: .noAccount, tokens: []) }

    var kept: [String] { rotated.withLock { $0 } }

    func webAuthToken() async throws -> String? { tokens.withLock { $0.first } }

    func webAuthToken(insteadOf refused: String) async throws -> String? {
        tokens.withLock { tokens in
            tokens.removeAll { $0 == refused }
            return tokens.first
        }
    }

    func webAuthToken(beside apiToken: String) async throws -> String? {
        tokens.withLock { $0.first }.map { "\($0) beside \(apiToken)" }
    }

    func secret() throws -> AccountSecret {
        guard let held else { throw CallFailure.keysMissing("The keys of this account are not on this device") }
        return held
    }

    func keep(rotated token: String) { rotated.withLock { $0.append(token) } }
}

/// A clock that moves only when someone sleeps.
final class ScriptedClock: Sendable {
    private let state = Mutex((now: Duration.zero, slept: [Duration]()))

    var slept: [Duration] { state.withLock { $0.slept } }

    func advance(by duration: Duration) { state.withLock { $0.now += duration } }

    var timekeeping: ClientClock {
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

extension CKContainer {
    static func scripted(
        _ transport: ScriptedTransport, account: ScriptedAccount = ScriptedAccount(),
        clock: ScriptedClock = ScriptedClock(), epochs: EpochBook = EpochBook()
    ) -> CKContainer {
        CKContainer(
            identifier: "iCloud.com.example.app", endpoint: "https://cloud.test", account: account,
            transport: transport, timekeeping: clock.timekeeping, epochs: epochs)
    }
}
