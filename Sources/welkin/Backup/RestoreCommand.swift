import ArgumentParser
import CloudBackup
import Foundation

/// Restores a moment of a backup into an empty folder.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a cloud from a backup, into an empty folder.",
        discussion: """
            Verifies every digest, writes the whole folder or nothing, and begins a new epoch: devices fetch everything again, and \
            offer again what they saved after the moment. The old cloud must not be served any more.
            """)

    @OptionGroup var options: BackupOptions
    @Option(help: ArgumentHelp("The folder to restore to, empty or new. [env: WELKIN_DATA]", valueName: "dir"))
    var data: String?
    @Option(help: ArgumentHelp("The moment, or its beginning; the newest one if it is left out.", valueName: "moment"))
    var at: String?

    func run() async throws {
        guard let data = data ?? ProcessInfo.processInfo.environment["WELKIN_DATA"] else {
            throw ValidationError("Name the folder to restore to with --data.")
        }
        let backup = try options.open()
        let manifest = try backup.manifest(try backup.moment(at))
        let folder = URL(fileURLWithPath: data).path
        try await CloudMoments.restore(manifest, from: backup, to: folder)
        Output.result("restored \(manifest.name) to \(folder)")
        let counts = manifest.counts
        Output.remark(
            """
            \(TakeBackupCommand.bytes(counts.storeBytes)) of records and \(counts.assets) files, as of \
            \(Output.time(manifest.time)) UTC. A new epoch has begun: devices fetch everything again, and sync engines offer \
            again what they saved or fetched after that time. People who signed up or in after it sign up or in again.
            Next: welkin check --data \(folder), then welkin serve --data \(folder).
            """)
    }
}
