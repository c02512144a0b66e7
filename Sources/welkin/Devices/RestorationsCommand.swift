import ArgumentParser
import CloudKitDevice

/// Shows what the cloud said about having been restored from a backup, and lets the user go on with its older versions.
struct RestorationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restorations", abstract: "Show whether the cloud says it was restored, and accept its state.",
        discussion: """
            A cloud that was restored from a backup has older versions of what was changed after the backup. Apps on this device send \
            their newer versions again. What no app has any more stays an error on this device, because a cloud that only says that it \
            was restored looks the same. Ask the operator, by other means than this cloud; then accept.

            The same holds for shares. Accepting on one device of a share's owner renews its keys; then look who takes part in it.
            """,
        subcommands: [ListRestorationsCommand.self, AcceptRestorationsCommand.self],
        defaultSubcommand: ListRestorationsCommand.self)
}

struct ListRestorationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Show the restorations that this device noticed.")

    @OptionGroup var device: DeviceOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let configuration = try device.configuration()
        let claims = try configuration.claimedRestorations
        if json { return try Output.json(claims.map { RestorationReport($0) }) }
        guard !claims.isEmpty else { return Output.remark("The cloud has not said that it was restored.") }
        for claim in claims { RestorationReport(claim).show() }
    }
}

struct AcceptRestorationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept", abstract: "Read the cloud's older versions on this device from now on.")

    @OptionGroup var device: DeviceOptions
    @Flag(help: "Do not ask.") var yes = false

    func run() async throws {
        let configuration = try device.configuration()
        let claims = try configuration.claimedRestorations.filter { $0.accepted == nil }
        guard !claims.isEmpty else { return Output.remark("There is nothing to accept.") }
        for claim in claims { RestorationReport(claim).show() }
        guard yes || Confirmation.ask("Has the operator restored the cloud, and shall its versions count? Type yes: ")
        else {
            let hint = Confirmation.isPossible ? "" : "; without a terminal, pass --yes"
            throw CommandFailure("nothing was changed\(hint)")
        }
        try configuration.deviceProfile.acceptRestorations(of: configuration.endpoint)
        Output.remark("Apps on this device read the cloud's versions from now on. Look who takes part in your shares.")
    }
}

extension DeviceConfiguration {
    /// What the configured cloud said about having been restored.
    fileprivate var claimedRestorations: [CloudRestorations.Claim] {
        get throws { try deviceProfile.restorations().clouds[endpoint]?.claims ?? [] }
    }
}

/// A claim of the cloud that it was restored.
struct RestorationReport: Encodable {
    /// When this device noticed.
    var noticed: String
    /// The time of the backup, if the cloud says it.
    var restoredTo: String?
    /// When the user accepted the cloud's versions.
    var accepted: String?
    /// Records that are older in the cloud than this device has seen, as zone and name; the first hundred.
    var older: [String]
    /// Records that were deleted and are there again; the first hundred.
    var returned: [String]

    init(_ claim: CloudRestorations.Claim) {
        noticed = LogTime.text(claim.noticed)
        restoredTo = claim.restoredTo == 0 ? nil : LogTime.text(claim.restoredTo)
        accepted = claim.accepted.map { LogTime.text($0) }
        older = claim.older
        returned = claim.returned
    }

    func show() {
        Output.table([
            ["Noticed", noticed], ["Backup of", restoredTo ?? "unknown time"], ["Accepted", accepted ?? "no"],
            ["Older than seen here", older.isEmpty ? "none so far" : older.joined(separator: ", ").onOneLine],
            ["Deleted, there again", returned.isEmpty ? "none so far" : returned.joined(separator: ", ").onOneLine],
        ])
    }
}
