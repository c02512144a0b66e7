import CloudKitClient
import ScriptedCloud

@testable import CloudKit

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
