import ArgumentParser
import CloudKitModel
import CloudKitServer

/// Trouble on demand, so that a developer can see what an app makes of it.
struct FaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fault",
        abstract:
            "Order trouble for apps in development: throttling, an outage, a full quota, expired tokens, lost keys…",
        discussion: """
            A running cloud notices within a second. Production is never touched. The admin API orders the same over HTTP: \
            docs/admin-api.md.
            """,
        subcommands: [
            OrderFaultCommand.self, ListFaultsCommand.self, RemoveFaultCommand.self, ExpireTokensCommand.self,
            CompactZoneCommand.self, PurgeDevelopmentZoneCommand.self, LoseKeysCommand.self, SignOutCommand.self,
        ])
}

struct OrderFaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order", abstract: "Let requests fail, or a quota be met.",
        discussion: """
            welkin fault order throttle iCloud.com.example.app --seconds 30
            welkin fault order throttle iCloud.com.example.app --email ada@example.com --no-retry-after
            welkin fault order unavailable iCloud.com.example.app --seconds 5
            welkin fault order quota iCloud.com.example.app --email ada@example.com --bytes 100000

            throttle answers 429, unavailable 503, both with Retry-After unless told otherwise.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "throttle, unavailable or quota.") var kind: Fault.Kind
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Option(help: "Whose requests; everybody's without it.") var email: String?
    @Option(help: "How long; until it is removed without it.") var seconds: Double?
    @Option(help: "What a quota lets the private database hold.") var bytes: UInt64?
    @Flag(inversion: .prefixedNo, help: "Whether refusals say how long to wait.") var retryAfter = true

    func validate() throws { try PlaceOptions.check(container) }

    func run() async throws {
        let receipt = try await folder.carryOut(
            .fault(
                kind, for: email.map { .email($0) }, seconds: seconds, bytes: bytes, tellsWait: retryAfter),
            in: container)
        guard let fault = receipt.fault else { return }
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
            guard let id else {
                _ = try await folder.cloud.faults.removeAll()
                return
            }
            guard try await folder.cloud.faults.remove(id) else {
                throw RevocationError(description: "There is no such fault. See: welkin fault list")
            }
        }
        Output.result(id.map { "Fault \($0) taken back." } ?? "All faults taken back.")
    }
}

extension Fault.Kind: ExpressibleByArgument {}

extension DataOptions {
    /// Carries an order out in development, as the admin API does.
    func carryOut(_ order: FaultOrder, in container: String) async throws -> FaultOutcome {
        try await DataFolder.with(data) { folder in
            try await RunFaultOrder(folder.cloud).run(order, in: ContainerID(container), .development)
        }
    }
}
