import ArgumentParser
import CloudKitModel
import CloudKitServer

/// Whom a fault strikes, and where.
struct StruckOptions: ParsableArguments {
    @Argument(help: "Whose: the account's e-mail address.") var email: String
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String

    func validate() throws { try PlaceOptions.check(container) }

    var person: FaultOrder.Person { .email(email) }
}

struct ExpireTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expire-tokens",
        abstract: "Make somebody's change tokens too old: apps get changeTokenExpired and fetch anew.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var struck: StruckOptions
    @Option(help: "The zone; the database's own feed without it.") var zone: String?

    func run() async throws {
        _ = try await folder.carryOut(.expireTokens(of: struck.person, zone: zone), in: struck.container)
        Output.result("Change tokens of \(zone ?? "the database") expired.")
    }
}

struct CompactZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Forget the deletions in somebody's zone, as time does.",
        discussion: "Change tokens from before the last deletion get changeTokenExpired.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var struck: StruckOptions
    @Argument(help: "The zone's name.") var zone: String

    func run() async throws {
        let receipt = try await folder.carryOut(.compactZone(zone, of: struck.person), in: struck.container)
        Output.result("\(receipt.forgotten ?? 0) deletions in \(zone) forgotten.")
    }
}

struct PurgeDevelopmentZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Remove a zone, as a user does in the system's settings: userDeletedZone.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var struck: StruckOptions
    @Argument(help: "The zone's name.") var zone: String

    func run() async throws {
        _ = try await folder.carryOut(.purgeZone(zone, of: struck.person), in: struck.container)
        Output.result("Zone \(zone) of \(struck.email) purged.")
    }
}

struct LoseKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset-keys",
        abstract: "Let the keys of somebody's zones be lost: zoneNotFound with CKErrorUserDidResetEncryptedDataKey.",
        discussion: """
            Without --zone it concerns every zone of the container that may hold something encrypted. With --account the \
            keychain itself goes, as by welkin keys reset, unless the account has been to a container in production.
            """)

    @OptionGroup var folder: DataOptions
    @OptionGroup var struck: StruckOptions
    @Option(help: "One zone.") var zone: String?
    @Flag(help: "The account's keychain: its devices have to sign in again.") var account = false

    func validate() throws {
        guard zone == nil || !account else { throw ValidationError("--zone and --account exclude each other.") }
    }

    func run() async throws {
        let order: FaultOrder =
            account ? .resetKeychain(of: struck.person) : .resetKeys(ofZone: zone, of: struck.person)
        let receipt = try await folder.carryOut(order, in: struck.container)
        Output.result(
            account
                ? "The keychain of \(struck.email) is gone; its devices have to sign in again."
                : "Keys of \(receipt.zones ?? 0) zones count as lost.")
    }
}

struct SignOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out", abstract: "Sign a device of somebody out, as its owner does for one that was lost.",
        discussion: """
            Accounts that have been to a container in production are left alone; welkin account revoke is for them. See \
            welkin account devices for ids.
            """)

    @OptionGroup var folder: DataOptions
    @OptionGroup var struck: StruckOptions
    @Argument(help: "The device's id, or its first digits.") var device: String

    func run() async throws {
        let receipt = try await folder.carryOut(.signOut(device: device, of: struck.person), in: struck.container)
        Output.result("Device \(receipt.device?.name ?? device) of \(struck.email) signed out.")
    }
}
