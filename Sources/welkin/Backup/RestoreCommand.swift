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
    @Option(
        help: ArgumentHelp(
            "The moment, or its beginning; or a time such as 2026-11-23T07:30:44Z, for the newest state until then. The newest state if it is left out.",
            valueName: "moment"))
    var at: String?
    @Flag(help: "Of changes that are damaged, restore what lies before the damage.")
    var acceptDamage = false

    func run() async throws {
        guard let data = data ?? ProcessInfo.processInfo.environment["WELKIN_DATA"] else {
            throw ValidationError("Name the folder to restore to with --data.")
        }
        let backup = try options.open()
        let plan = try self.plan(backup)
        let manifest = try backup.manifest(plan?.moment ?? backup.moment(at))
        let folder = URL(fileURLWithPath: data).path
        try await CloudMoments.restore(manifest, applying: plan, from: backup, to: folder)
        let changes = plan.map { $0.count == 0 ? "" : " and \($0.count) segments of changes" } ?? ""
        Output.result("restored \(manifest.name)\(changes) to \(folder)")
        if let damage = plan?.damage { Output.remark("What follows is lost: \(damage).") }
        let counts = manifest.counts
        Output.remark(
            """
            \(TakeBackupCommand.bytes(counts.storeBytes)) of records and \(counts.assets) files, as of \
            \(Output.time(plan?.time ?? manifest.time)) UTC. A new epoch has begun: devices fetch everything again, and sync engines offer \
            again what they saved or fetched after that time. People who signed up or in after it sign up or in again.
            Next: welkin check --data \(folder), then welkin serve --data \(folder).
            """)
    }

    /// Returns the changes that lead to the state that is asked for; nil: the state of a moment is.
    private func plan(_ backup: Backup) throws -> ChangePlan? {
        var time: Int64?
        if let at {
            // The names of moments have no hyphens.
            guard at.contains("-") || at.contains(":") else { return nil }
            let style = Date.ISO8601FormatStyle()
            let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            guard let date = (try? style.parse(at)) ?? (try? fractional.parse(at)) else {
                throw ValidationError(
                    "--at is the beginning of a moment's name, or a time such as 2026-11-23T07:30:44Z.")
            }
            time = Int64((date.timeIntervalSince1970 * 1000).rounded())
        }
        guard try !backup.momentNames().isEmpty else { return nil }
        return try backup.plan(until: time, acceptsDamage: acceptDamage)
    }
}
