import ArgumentParser
import CloudBackup
import CloudKitDevice
import CloudKitServer
import Foundation
import OrderedStore

/// Makes the store of an earlier version into one of this version.
struct UpgradeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade", abstract: "Upgrade the store of an earlier version.",
        discussion: """
            Takes a backup first, then changes the store a few rows at a time. An upgrade that was ended at any moment goes on where it \
            was when the command is repeated. No cloud may run meanwhile, and no earlier version can serve the store from then on: to \
            go back, restore the backup with that version. A store of this version is left as it is.
            """)

    @OptionGroup var folder: DataOptions
    @Flag(help: "Say what would be done, and change nothing.")
    var dryRun = false
    @Option(
        help: ArgumentHelp(
            "Where the backup is taken, a folder on another disk or s3://bucket/prefix; what the file of settings says by default.",
            valueName: "place"))
    var backup: String?
    @Option(help: ArgumentHelp(BackupLocation.bucketFileHelp, valueName: "file"))
    var backupBucketFile: String?
    @Option(
        help: ArgumentHelp("The passphrase of the backup, in the first line of a file.", valueName: "file"))
    var backupPassphraseFile: String?
    @Flag(help: "Take no backup: you have one, and have tried to restore it.")
    var noBackup = false

    func validate() throws {
        guard !noBackup || backup == nil else {
            throw ValidationError("--backup and --no-backup exclude each other.")
        }
    }

    func run() async throws {
        try await DataFolder.with(folder, rows: .any) { folder in
            let upgrade = StoreUpgrade(folder.cloud)
            let rows = upgrade.rows(partitions: try await folder.store.partitionNames())
            let plan: StoreUpgrade.Plan
            do {
                plan = try await rows.plan()
            } catch let error as StoreError {
                throw CommandFailure("the store cannot be upgraded: \(error)")
            }
            guard !plan.steps.isEmpty else {
                return Output.result("nothing to do: the rows of the store have format \(plan.to), the newest")
            }
            show(plan)
            if dryRun { return Output.remark("Nothing was changed.") }
            let claim = try claim(folder)
            defer { withExtendedLifetime(claim) {} }
            guard try await !upgrade.isServed() else {
                throw CommandFailure("a cloud serves the store; stop all of its nodes first")
            }
            if plan.from.upgrade == nil {
                try await takeBackup(of: folder)
            } else {
                Output.remark("The backup was taken when the upgrade began.")
            }
            try await upgradeRows(rows, plan)
        }
    }

    private func show(_ plan: StoreUpgrade.Plan) {
        let begun = plan.from.upgrade == nil ? "has rows of format \(plan.from.number)" : "is half upgraded"
        Output.result("the store \(begun); the newest is \(plan.to)")
        for step in plan.steps {
            Output.result("format \(step.format): \(step.summary)")
            Output.result("  \(step.rowCount) rows to read, \(step.changeCount) to write")
        }
    }

    /// Claims a data folder whose store is in it, as a cloud does that runs.
    private func claim(_ folder: DataFolder) throws -> FileClaim? {
        guard !folder.isShared else { return nil }
        guard let claim = FileClaim(folder.path + "/serve.lock") else {
            throw CommandFailure("a cloud is running on \(folder.path); stop it first")
        }
        return claim
    }

    private func takeBackup(of folder: DataFolder) async throws {
        if noBackup { return }
        guard !folder.isShared else {
            throw CommandFailure(
                "back up the database with its own tools and the data folder with it (docs/postgresql.md), then repeat the command with "
                    + "--no-backup")
        }
        let settings = try backup == nil ? CloudSettings() : nil
        guard let place = backup ?? settings?.text("backup") else {
            throw CommandFailure(
                "name the place of a backup with --backup, or pass --no-backup if you have one and have tried to restore it"
            )
        }
        let bucketFile = backupBucketFile ?? settings?.text("backup-bucket-file")
        let passphraseFile = backupPassphraseFile ?? settings?.text("backup-passphrase-file")
        let passphrase = try passphraseFile.map { try Secret.read(from: $0, asking: "Passphrase") }
        let recipient = try settings?.text("backup-recipient").map { try BackupRecipient($0) }
        let moments = CloudMoments(folder: folder.path)
        let access = BackupAccess(
            passphrase: passphrase, recipient: recipient, writingKeys: CloudMoments.writingKeys(in: folder.path))
        let opened = try Backup.begin(try BackupLocation(place, bucketFile: bucketFile).place(), access)
        let manifest = try moments.take(into: opened)
        Output.result("backup \(manifest.name) in \(place)")
    }

    private func upgradeRows(_ rows: StoreUpgrade.Rows, _ plan: StoreUpgrade.Plan) async throws {
        let start = ContinuousClock.now
        var shown = start
        do {
            let done = try await rows.run { step in
                guard shown.duration(to: .now) > Self.betweenRemarks else { return }
                shown = .now
                let total = plan.steps.first { $0.format == step.format }?.rowCount ?? 0
                Output.remark("format \(step.format): \(step.rowCount) of \(total) rows")
            }
            let written = done.reduce(0) { $0 + $1.changeCount }
            let seconds = start.duration(to: .now) / .seconds(1)
            Output.result(
                "upgraded to format \(plan.to): \(written) rows written in \((seconds * 10).rounded() / 10) s")
            Output.remark("Next: welkin check, then start the cloud.")
        } catch let error as StoreError {
            throw CommandFailure("the upgrade was not finished; repeat the command to go on: \(error)")
        }
    }

    private static let betweenRemarks = Duration.seconds(1)
}
