import ArgumentParser
import CloudKitDevice
import Foundation
import OrderedStoreSQLite

/// Gives the space of deleted data back to the disk.
struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Give the space of deleted data back to the disk.",
        discussion: """
            Works while the cloud runs, a few pages at a time. A store of an earlier build has to be written anew once: stop the cloud for it; it \
            takes as much space again as the store has.
            """)

    @OptionGroup var folder: DataOptions

    func run() async throws {
        try folder.requireStoreInFolder(for: "welkin compact")
        let path = try await DataFolder.with(folder) { $0.path }
        let store = path + "/" + CloudMoments.storeName
        let outcome = try await CloudMoments.onThread {
            if try SQLiteStore.canCompactLive(path: store) {
                return try SQLiteStore.compactLive(path: store) { usleep(Self.pause) }
            }
            // The lock that a running cloud holds.
            guard let claim = FileClaim(path + "/serve.lock") else {
                throw CommandFailure(
                    "the store is of an earlier build and has to be written anew once, which a running cloud does not allow; stop the cloud, "
                        + "run this command, and start the cloud again")
            }
            defer { withExtendedLifetime(claim) {} }
            return try SQLiteStore.rewrite(path: store)
        }
        let saved = outcome.bytesBefore - outcome.bytesAfter
        Output.result(
            "\(TakeBackupCommand.bytes(saved)) given back: the store has \(TakeBackupCommand.bytes(outcome.bytesAfter))"
        )
        if outcome.isRewritten { Output.remark("From now on the store can be compacted while the cloud runs.") }
    }

    /// Microseconds between two transactions, for those who wait to write.
    private static let pause: UInt32 = 5_000
}
