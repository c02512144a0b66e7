import ArgumentParser
import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// The arguments for the account and the container that a fault affects.
struct FaultTargetOptions: ParsableArguments {
    @Argument(help: "The account's e-mail address.") var email: String
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String

    func validate() throws { try ContainerOptions.check(container) }

    var person: FaultOrder.Person { .email(email) }
}

struct ExpireTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expire-tokens",
        abstract: "Expire an account's change tokens: apps get changeTokenExpired and fetch everything again.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var target: FaultTargetOptions
    @Option(help: "The zone; the database's change tokens if omitted.") var zone: String?

    func run() async throws {
        _ = try await folder.execute(
            .expireTokens(of: target.person, zone: zone), as: "expire-tokens", in: target.container, of: target.email)
        Output.result("Change tokens of \(zone ?? "the database") expired.")
    }
}

struct CompactZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Remove the deletions from a zone's history, as happens over time.",
        discussion: "Change tokens from before the last deletion get changeTokenExpired.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var target: FaultTargetOptions
    @Argument(help: "The zone's name.") var zone: String

    func run() async throws {
        let receipt = try await folder.execute(
            .compactZone(zone, of: target.person), as: "compact", in: target.container, of: target.email)
        Output.result("\(receipt.forgotten ?? 0) deletions removed from the history of \(zone).")
    }
}

struct PurgeDevelopmentZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Remove a zone, as a user does in the system's settings: userDeletedZone.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var target: FaultTargetOptions
    @Argument(help: "The zone's name.") var zone: String

    func run() async throws {
        _ = try await folder.execute(
            .purgeZone(zone, of: target.person), as: "purge", in: target.container, of: target.email)
        Output.result("Zone \(zone) of \(target.email) purged.")
    }
}

struct LoseKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset-keys",
        abstract: "Simulate lost zone keys: zoneNotFound with CKErrorUserDidResetEncryptedDataKey.",
        discussion: """
            Without --zone it affects every zone of the container that may hold encrypted data. With --account it removes the \
            keychain itself, as welkin keys reset does, unless the account has used a container in production.
            """)

    @OptionGroup var folder: DataOptions
    @OptionGroup var target: FaultTargetOptions
    @Option(help: "One zone.") var zone: String?
    @Flag(help: "Remove the account's keychain: its devices have to sign in again.") var account = false

    func validate() throws {
        guard zone == nil || !account else { throw ValidationError("--zone and --account exclude each other.") }
    }

    func run() async throws {
        let order: FaultOrder =
            account ? .resetKeychain(of: target.person) : .resetKeys(ofZone: zone, of: target.person)
        let receipt = try await folder.execute(
            order, as: "reset-keys", in: target.container, of: target.email)
        Output.result(
            account
                ? "The keychain of \(target.email) is removed; its devices have to sign in again."
                : "Keys of \(receipt.zones ?? 0) zones count as lost.")
    }
}

struct SignOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out", abstract: "Sign out a device of an account, as its owner does for a lost device.",
        discussion: """
            Accounts that have used a container in production are refused; use welkin account revoke for them. welkin account \
            devices lists the ids.
            """)

    @OptionGroup var folder: DataOptions
    @OptionGroup var target: FaultTargetOptions
    @Argument(help: "The device's id, or its first digits.") var device: String

    func run() async throws {
        let receipt = try await folder.execute(
            .signOut(device: device, of: target.person), as: "sign-out", in: target.container, of: target.email)
        Output.result("Device \(receipt.device?.name ?? device) of \(target.email) signed out.")
    }
}
