import ArgumentParser
import CloudBackup
import CloudKitHTTP
import CloudKitLogs
import Foundation

/// The options for backups that a cloud takes by itself.
struct ScheduledBackupOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Back up to this place, a folder on another disk or s3://bucket/prefix, at the start if a backup is due and then at intervals.",
            valueName: "place"))
    var backup: String?
    @Option(help: ArgumentHelp(BackupLocation.bucketFileHelp, valueName: "file"))
    var backupBucketFile: String?
    @Option(help: ArgumentHelp("The time between two backups, such as 30m, 1h or 1d.", valueName: "time"))
    var backupEvery: BackupInterval = BackupInterval(seconds: 3600)
    @Flag(help: "Send each change to the backup within a second, between the moments.")
    var backupContinuous = false
    @Option(help: ArgumentHelp("Keep this many moments, and remove older ones.", valueName: "count"))
    var backupKeep: Int = 24
    @Option(
        help: ArgumentHelp(
            "Seal the backup with the passphrase in the first line of a file.", valueName: "file"))
    var backupPassphraseFile: String?
    @Option(
        help: ArgumentHelp(
            "Seal the backup to the recipient that welkin backup key new printed: this machine cannot read what it stores.",
            valueName: "text"))
    var backupRecipient: String?

    func validate() throws {
        guard backupKeep >= 1 else { throw ValidationError("--backup-keep is at least 1.") }
        guard backup != nil || backupPassphraseFile == nil else {
            throw ValidationError("--backup-passphrase-file needs --backup.")
        }
        guard backup != nil || !backupContinuous else {
            throw ValidationError("--backup-continuous needs --backup.")
        }
        guard backup != nil || backupRecipient == nil else {
            throw ValidationError("--backup-recipient needs --backup.")
        }
        guard backupRecipient == nil || backupPassphraseFile == nil else {
            throw ValidationError("--backup-recipient and --backup-passphrase-file exclude each other.")
        }
        guard backup != nil || backupBucketFile == nil else {
            throw ValidationError("--backup-bucket-file needs --backup.")
        }
    }

    /// Returns the schedule; nil if there is none.
    ///
    /// - Throws: `BackupError` for a place that cannot take backups: a cloud without the backups that it is to have does not start.
    func schedule(
        of moments: CloudMoments, log: LogBuffer?, now: @escaping @Sendable () -> Int64
    ) throws -> BackupSchedule? {
        guard let backup else { return nil }
        let passphrase = try backupPassphraseFile.map { try Secret.read(from: $0, asking: "Passphrase") }
        if passphrase?.isEmpty == true { throw ValidationError("The passphrase is empty.") }
        let place = try BackupLocation(backup, bucketFile: backupBucketFile).place()
        try moments.check(backup: place)
        let access = BackupAccess(
            passphrase: passphrase, recipient: try backupRecipient.map { try BackupRecipient($0) },
            writingKeys: CloudMoments.writingKeys(in: moments.folder))
        let opened = try Backup.begin(place, access)
        let last = try opened.momentNames().last.flatMap { try? opened.manifest($0).time }
        var status = BackupStatus(interval: backupEvery.seconds, start: now(), lastTime: last)
        if backupContinuous { status.changesTime = now() }
        return BackupSchedule(
            moments: moments, place: place, access: access, keep: backupKeep, log: log, now: now,
            monitor: BackupMonitor(status), isContinuous: backupContinuous)
    }
}

/// The time between two backups.
struct BackupInterval: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
    /// From a second to a month.
    var seconds: Int64

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    init(seconds: Int64) { self.seconds = seconds }

    init?(argument: String) {
        guard let unit = argument.last.flatMap({ Self.units[$0] }), let count = Int64(argument.dropLast()),
            (1...100_000_000).contains(count), (1...31 * 86_400).contains(count * unit)
        else { return nil }
        seconds = count * unit
    }

    var description: String {
        for (name, unit) in [("d", 86_400), ("h", 3600), ("m", 60)] as [(String, Int64)] where seconds % unit == 0 {
            return "\(seconds / unit)\(name)"
        }
        return "\(seconds)s"
    }

    var defaultValueDescription: String { description }
}

/// When a cloud backs itself up, and to where.
struct BackupSchedule: Sendable {
    var moments: CloudMoments
    /// The place of the backup.
    var place: any BackupPlace
    var access: BackupAccess
    /// The moments to keep.
    var keep: Int
    /// nil without a log of requests.
    var log: LogBuffer?
    /// Milliseconds since 1970.
    var now: @Sendable () -> Int64
    var monitor: BackupMonitor
    /// Whether changes are sent between the moments.
    var isContinuous: Bool
}
