import AccountArchive
import ArgumentParser
import CloudKitHTTP

/// Writes everything of the account that this device is signed in to into a folder.
struct ExportAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write everything of your account into a new folder.",
        discussion: """
            The folder gets the records of all containers in which the account has data, in development and production: private zones, what \
            you created in public databases, the files of assets, your shares and those that others share with you. Encrypted values are \
            opened on this device and are in the folder in clear: keep it where only you can read it. The form is documented in \
            docs/account.md. Records that change meanwhile are exported as they were read. With --since, records that are as they were in an \
            earlier export are taken from there with their files, also from one that was not finished.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("The folder, which must not exist.", valueName: "folder")) var folder: String
    @Option(
        help: ArgumentHelp(
            "The folder of an earlier export, finished or not: what it has is not fetched again.", valueName: "folder"))
    var since: String?
    @Flag(help: "Print the manifest as JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let account = SignedInAccount(configuration: configuration, container: container)
        let export = AccountExport(account, program: "welkin \(BuildVersion.text)")
        let manifest = try await export.run(into: folder, since: try since.map { try EarlierExport($0) }) {
            Output.remark("Exporting \($0)")
        }
        if json { return try Output.json(manifest) }
        Output.table(
            [["CONTAINER", "RECORDS", "ZONES", "SHARES", "SHARED WITH YOU"]]
                + manifest.containers.map { container in
                    [
                        container.title, "\(container.recordCount)", "\(container.zones.count)",
                        "\(container.shares.lines)", "\(container.sharedWithMe.lines)",
                    ]
                })
        Output.result("\(manifest.assetCount) files, \(manifest.assetBytes) bytes")
        if manifest.problemCount > 0 {
            Output.remark(
                "\(manifest.problemCount) records are incomplete: search the files for \"problem\", which says why.")
        }
        Output.remark("The folder \(folder) holds your data in clear.")
    }
}
