import CloudKitClient
import ScriptedCloud

@testable import CloudKit

extension CKContainer {
    static func scripted(
        _ transport: ScriptedTransport, account: ScriptedAccount = ScriptedAccount(),
        clock: ScriptedClock = ScriptedClock(), epochs: EpochStore = EpochStore()
    ) -> CKContainer {
        CKContainer(
            identifier: "iCloud.com.example.app", endpoint: "https://cloud.test", account: account,
            transport: transport, clientEnvironment: clock.clientEnvironment, epochs: epochs)
    }
}
