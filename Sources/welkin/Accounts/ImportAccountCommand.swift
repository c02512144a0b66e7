import AccountArchive
import ArgumentParser

/// Puts an export into the account that this device is signed in to.
struct ImportAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Put an export into your account, at this cloud or another.",
        discussion: """
            The export is checked before anything is sent. Zones and records keep their names; encrypted values and files are encrypted \
            again with the keys of this account. The command can be repeated: records that are there as new as in the export, or newer, are \
            left. Development learns record types from the records; production must have the schema of the app. Dates, creators and change \
            tags are those of the import, and nobody is invited to shares: they are listed, to be made again.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("The folder of the export.", valueName: "folder")) var folder: String
    @Flag(help: "Leave out containers that the cloud does not have.") var skipMissing = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let account = SignedInAccount(configuration: configuration, container: container)
        let report = try await AccountImport(account).run(from: folder, skipsMissing: skipMissing) {
            Output.remark("Importing \($0)")
        }
        Output.table([
            ["created", "\(report.created)"], ["updated", "\(report.updated)"], ["left as they are", "\(report.left)"],
            ["incomplete in the export", "\(report.incomplete)"], ["failed", "\(report.failed)"],
        ])
        if !report.missingContainers.isEmpty {
            Output.remark("Left out: \(report.missingContainers.joined(separator: ", "))")
        }
        for share in report.shares {
            let people = share.participants.filter { $0.role != "owner" }.map {
                ($0.contact ?? $0.name ?? $0.userRecordName ?? "a participant").onOneLine
            }
            let title = (share.title ?? share.root ?? share.zone).onOneLine
            Output.remark("Share again: \(title) with \(people.isEmpty ? "nobody" : people.joined(separator: ", "))")
        }
        for share in report.joinedShares {
            Output.remark("Ask its owner to share again: \((share.title ?? share.zone).onOneLine)")
        }
        for failure in report.failures {
            Output.remark(
                "\(failure.container), \(failure.zone ?? "public database"), \(failure.recordName.onOneLine): \(failure.reason)"
            )
        }
        if report.failed > report.failures.count {
            Output.remark("… and \(report.failed - report.failures.count) more")
        }
        guard report.failed == 0 else {
            throw CommandFailure(
                "\(report.failed) records were not imported; repeat the import once the reasons are gone")
        }
    }
}
