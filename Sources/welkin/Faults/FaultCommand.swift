import ArgumentParser
import CloudKitModel
import CloudKitServer

/// Trouble on demand, so that a developer can see what an app makes of it.
struct FaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fault", abstract: "Order trouble for apps in development: throttling, an outage, a full quota.",
        discussion: "A running cloud notices within a second. Production is never touched.",
        subcommands: [
            OrderFaultCommand.self, ListFaultsCommand.self, RemoveFaultCommand.self, ExpireTokensCommand.self,
        ])
}

struct OrderFaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order", abstract: "Let requests fail, or a quota be met.",
        discussion: """
            welkin fault order throttle iCloud.com.example.app --seconds 30
            welkin fault order throttle iCloud.com.example.app --email ada@example.com
            welkin fault order unavailable iCloud.com.example.app --seconds 5
            welkin fault order quota iCloud.com.example.app --email ada@example.com --bytes 100000
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "throttle, unavailable or quota.") var kind: Fault.Kind
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Option(help: "Whose requests; everybody's without it.") var email: String?
    @Option(help: "How long; until it is removed without it.") var seconds: Double?
    @Option(help: "What a quota lets the private database hold.") var bytes: UInt64?

    func validate() throws {
        if let seconds, !(0...31_536_000).contains(seconds) {
            throw ValidationError("--seconds is 0 to a year.")
        }
        guard (kind == .quota) == (bytes != nil) else {
            throw ValidationError("--bytes goes with quota, and quota with --bytes.")
        }
    }

    func run() async throws {
        let fault = try await DataFolder.with(folder.data) { folder in
            try await folder.cloud.faults.order(
                kind, in: ContainerID(container), for: try await folder.user(email, in: container), seconds: seconds,
                bytes: bytes)
        }
        Output.result(fault.id)
        Output.remark("Ordered. Take it back with: welkin fault remove \(fault.id)")
    }
}

struct ListFaultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show the faults ordered now.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let faults = try await DataFolder.with(folder.data) { try await $0.cloud.faults.list() }
        if json { return try Output.json(faults) }
        guard !faults.isEmpty else { return Output.remark("No faults are ordered.") }
        Output.table(
            [["ID", "KIND", "CONTAINER", "USER", "UNTIL", "BYTES"]]
                + faults.map {
                    [
                        $0.id, $0.kind.rawValue, $0.container ?? "all", $0.user ?? "all",
                        $0.until.map(Output.time) ?? "removed", $0.bytes.map(String.init) ?? "",
                    ]
                })
    }
}

struct RemoveFaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take a fault back, or all of them with --all.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The fault's id.") var id: String?
    @Flag(help: "Take all back.") var all = false

    func validate() throws {
        guard (id != nil) != all else { throw ValidationError("Give an id, or --all.") }
    }

    func run() async throws {
        try await DataFolder.with(folder.data) { folder in
            guard let id else { return try await folder.cloud.faults.removeAll() }
            guard try await folder.cloud.faults.remove(id) else {
                throw RevocationError(description: "There is no such fault. See: welkin fault list")
            }
        }
        Output.result(id.map { "Fault \($0) taken back." } ?? "All faults taken back.")
    }
}

struct ExpireTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expire-tokens",
        abstract: "Make somebody's change tokens too old: apps get changeTokenExpired and fetch anew.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "Whose.") var email: String
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Option(help: "The zone; the database's own feed without it.") var zone: String?

    func run() async throws {
        try await DataFolder.with(folder.data) { folder in
            guard let user = try await folder.user(email, in: container) else { return }
            let container = ContainerID(container)
            if let zone {
                try await folder.cloud.expireTokens(ofZone: zone, of: user, in: container, .development)
            } else {
                try await folder.cloud.expireDatabaseTokens(of: user, in: container, .development)
            }
        }
        Output.result("Change tokens of \(zone ?? "the database") expired.")
    }
}

extension Fault.Kind: ExpressibleByArgument {}

extension DataFolder {
    /// The name by which a container knows an account; nil without an address.
    ///
    /// - Throws: `AccountError.notFound`.
    fileprivate func user(_ email: String?, in container: String) async throws -> UserID? {
        guard let email else { return nil }
        guard let account = try await accounts.account(email: email) else { throw AccountError.notFound(email) }
        return try await UserNames(book: .accounts(in: store), surroundings: surroundings)
            .name(of: account.id, in: ContainerID(container))
    }
}
