import ArgumentParser
import CloudBackup
import Foundation

/// Backs up a cloud, and looks after its backups.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Back up a cloud, also while it runs.",
        discussion: """
            `welkin backup PLACE` adds one moment of the data folder to a backup: records, files, the secret and all keys. What the backup \
            has already is not written again. A moment is whole or not there. Restore one with `welkin restore`. The place is a folder, or \
            s3://bucket/prefix of an object store.
            """,
        subcommands: [
            TakeBackupCommand.self, ListBackupCommand.self, VerifyBackupCommand.self, PruneBackupCommand.self,
            BackupKeyCommand.self,
        ], defaultSubcommand: TakeBackupCommand.self)
}

/// The options for the passphrase of a backup.
struct BackupOptions: ParsableArguments {
    @Argument(help: "The place of the backup: a folder, or s3://bucket/prefix.")
    var backup: String
    @Option(help: ArgumentHelp(BackupLocation.bucketFileHelp, valueName: "file"))
    var bucketFile: String?
    @Option(
        help: ArgumentHelp(
            "Take the passphrase of the backup from the first line of a file; - is standard input.",
            valueName: "file"))
    var passphraseFile: String?
    @Option(
        help: ArgumentHelp(
            "The private key of a backup that is sealed to a recipient, as welkin backup key new made it.",
            valueName: "file"))
    var keyFile: String?
    @Option(help: ArgumentHelp("N of scrypt for a new backup, a power of two.", visibility: .hidden))
    var scryptCost: Int?

    func validate() throws {
        if let scryptCost, !(2...1 << 21).contains(scryptCost) || scryptCost.nonzeroBitCount != 1 {
            throw ValidationError("--scrypt-cost is a power of two up to 2097152.")
        }
    }

    func location() throws -> BackupLocation { try BackupLocation(backup, bucketFile: bucketFile) }

    /// Returns what opens the backup.
    ///
    /// - Parameters:
    ///   - recipient: The recipient of a new backup.
    ///   - data: The data folder, which has the writing keys of this machine.
    func access(recipient: String? = nil, data: String? = nil) throws -> BackupAccess {
        BackupAccess(
            passphrase: try passphrase(), cost: scryptCost, recipient: try recipient.map { try BackupRecipient($0) },
            privateKey: try keyFile.map { try BackupPrivateKey(file: $0) },
            writingKeys: data.map { CloudMoments.writingKeys(in: $0) })
    }

    private func passphrase() throws -> String? {
        try passphraseFile.map { file in
            let passphrase = try Secret.read(from: file, asking: "Passphrase")
            guard !passphrase.isEmpty else { throw ValidationError("The passphrase is empty.") }
            return passphrase
        }
    }

    func open(data: String? = nil) throws -> Backup { try Backup.open(location().place(), access(data: data)) }

    func begin(recipient: String? = nil, data: String) throws -> Backup {
        try Backup.begin(location().place(), access(recipient: recipient, data: data))
    }
}

/// Adds a moment to a backup.
struct TakeBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take", abstract: "Add the present moment to a backup. The default.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var options: BackupOptions
    @Option(help: ArgumentHelp("Keep this many moments, and remove older ones.", valueName: "count"))
    var keep: Int?

    @Option(
        help: ArgumentHelp(
            "Seal a new backup to the recipient that welkin backup key new printed: this machine cannot read what it stores.",
            valueName: "text"))
    var recipient: String?
    @Flag(help: "Write also what the backup has already, for one that has lost something.")
    var all = false

    func validate() throws {
        if let keep, keep < 1 { throw ValidationError("--keep is at least 1.") }
    }

    func run() async throws {
        let options = options
        let keep = keep
        try folder.requireStoreInFolder(for: "welkin backup")
        let backup = try options.begin(recipient: recipient, data: self.folder.data)
        backup.putsEverything = all
        let (manifest, pruned) = try await DataFolder.with(folder, rows: .any) { folder in
            let moments = CloudMoments(folder: folder.path)
            let manifest = try moments.take(into: backup)
            return (manifest, try keep.map { try PruneMoments(backup).run(keeping: $0) })
        }
        let counts = manifest.counts
        Output.result(manifest.name)
        Output.remark(
            "\(Self.bytes(counts.storeBytes)) of records, \(counts.assets) files of \(Self.bytes(counts.assetBytes)); "
                + "\(Self.bytes(counts.bytesAdded)) were new, in \(counts.duration) ms")
        if let pruned, !pruned.moments.isEmpty { Output.remark(pruned.sentence) }
    }

    static func bytes(_ count: Int64) -> String {
        let units = ["bytes", "KB", "MB", "GB", "TB"]
        var value = Double(count)
        var unit = 0
        while value >= 1000, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return unit == 0 ? "\(count) bytes" : "\((value * 10).rounded() / 10) \(units[unit])"
    }
}

extension PruneMoments.Outcome {
    /// The sentence for people.
    var sentence: String {
        "removed \(moments.count) moments and \(chunks) chunks of \(TakeBackupCommand.bytes(bytes)) that no other needs"
    }
}

/// Lists the moments of a backup.
struct ListBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the moments of a backup.")

    @OptionGroup var options: BackupOptions
    @OptionGroup var writing: WritingKeyOptions
    @Flag(help: "Print JSON.") var json = false

    private struct Row: Encodable {
        var moment: String
        var time: Int64
        var version: String
        var storeBytes: Int64
        var files: Int
        var fileBytes: Int64
        var bytesAdded: Int64
        var epoch: String
    }

    func run() async throws {
        let backup = try options.open(data: writing.folder)
        let rows = try backup.momentNames().map { name in
            let manifest = try backup.manifest(name)
            let counts = manifest.counts
            return Row(
                moment: name, time: manifest.time, version: manifest.program, storeBytes: counts.storeBytes,
                files: counts.assets, fileBytes: counts.assetBytes, bytesAdded: counts.bytesAdded,
                epoch: manifest.facts.epoch)
        }
        if json { return try Output.json(rows) }
        guard !rows.isEmpty else { return Output.remark("no moments yet") }
        Output.table(
            [["MOMENT", "RECORDS", "FILES", "NEW", "VERSION"]]
                + rows.map { row in
                    [
                        row.moment, TakeBackupCommand.bytes(row.storeBytes),
                        "\(row.files) of \(TakeBackupCommand.bytes(row.fileBytes))",
                        TakeBackupCommand.bytes(row.bytesAdded), row.version,
                    ]
                })
    }
}

/// Verifies that a moment can be restored.
struct VerifyBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Read all that a moment needs, and verify its digests.",
        discussion: """
            Prints a line for each file that cannot be restored. The exit status is 0 without one and 1 otherwise.
            """)

    @OptionGroup var options: BackupOptions
    @Argument(help: "The moment; the newest one if it is left out, or `all`.")
    var moment: String?

    func run() async throws {
        let backup = try options.open()
        let names = moment == "all" ? try backup.momentNames() : [try backup.moment(moment)]
        var count = 0
        for name in names {
            do {
                let findings = try VerifyMoment(backup).run(
                    name, storeName: CloudMoments.storeName, immutableFiles: CloudMoments.immutableFiles)
                for finding in findings { Output.result("\(name): \(finding.part): \(finding.problem)") }
                count += findings.count
            } catch let error as BackupError where error.code == .damaged {
                Output.result("\(name): \(error.details["problem"] ?? error.reason)")
                count += 1
            }
        }
        for (index, name) in names.enumerated() {
            let findings = try VerifyChanges(backup).run(from: name, isNewest: index == names.count - 1)
            for finding in findings { Output.result("\(name): \(finding.part): \(finding.problem)") }
            count += findings.count
        }
        let moments = names.count == 1 ? "1 moment" : "\(names.count) moments"
        Output.remark("\(moments): " + (count == 0 ? "no problems" : "\(count) problems"))
        if count > 0 { throw ExitCode(1) }
    }
}

extension Backup {
    /// Returns the name of a moment.
    ///
    /// - Parameter text: The name or its beginning; nil for the newest.
    /// - Throws: `CommandFailure` if there is none, or if several begin like that.
    func moment(_ text: String?) throws -> String {
        let names = try momentNames()
        guard let text else {
            guard let newest = names.last else {
                throw CommandFailure("the backup \(address) has no moment yet; take one with: welkin backup \(address)")
            }
            return newest
        }
        let found = names.filter { $0.hasPrefix(text) }
        guard let name = found.first, found.count == 1 else {
            let reason = found.isEmpty ? "no moment begins with" : "several moments begin with"
            throw CommandFailure("\(reason) \(text.onOneLine); see: welkin backup list \(address)")
        }
        return name
    }
}

/// Removes old moments.
struct PruneBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune", abstract: "Remove old moments, and what no other moment needs.")

    @OptionGroup var options: BackupOptions
    @OptionGroup var writing: WritingKeyOptions
    @Option(help: ArgumentHelp("The number of newest moments to keep.", valueName: "count"))
    var keep: Int

    func validate() throws {
        guard keep >= 1 else { throw ValidationError("--keep is at least 1.") }
    }

    func run() async throws {
        // An existing backup only: pruning begins none.
        _ = try options.open(data: writing.folder)
        Output.remark(try PruneMoments(try options.begin(data: writing.folder)).run(keeping: keep).sentence)
    }
}

/// The option of commands that need no cloud, but the writing key of a machine that backs one up.
struct WritingKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The data folder whose writing key opens the lists of a backup that is sealed to a recipient. [env: WELKIN_DATA]",
            valueName: "dir"))
    var data: String?

    /// The path of the data folder.
    var folder: String { data ?? ProcessInfo.processInfo.environment["WELKIN_DATA"] ?? "data" }
}

/// Makes keys for backups that are sealed to a recipient.
struct BackupKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make the keys of backups that are sealed to a recipient.",
        subcommands: [NewBackupKeyCommand.self])
}

/// Makes a pair of keys.
struct NewBackupKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make a pair of keys: the private one in a new file, the recipient printed.",
        discussion: """
            Make it on another machine than the one that backs up, and keep the file there: without it a backup that is sealed to the recipient cannot be \
            verified or restored.
            """)

    @Argument(help: "The file to make; only its owner can read it.")
    var file: String

    func run() async throws {
        let key = BackupPrivateKey()
        try key.write(to: file)
        Output.result(key.recipient.description)
        Output.remark("the private key is in \(file.onOneLine); seal backups with --recipient and the line above")
    }
}
