import ArgumentParser
import CloudKitModel
import CloudKitServer

/// Injects faults into requests, so that a developer can test how an app handles them.
struct FaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fault",
        abstract:
            "Inject faults for apps in development: throttling, an outage, a full quota, expired tokens, lost keys…",
        discussion: """
            A running cloud applies them within a second. Production is never affected. The admin API does the same over \
            HTTP: docs/admin-api.md.
            """,
        subcommands: [
            OrderFaultCommand.self, ListFaultsCommand.self, RemoveFaultCommand.self, ExpireTokensCommand.self,
            CompactZoneCommand.self, PurgeDevelopmentZoneCommand.self, LoseKeysCommand.self, SignOutCommand.self,
        ])
}

struct OrderFaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order", abstract: "Make requests fail, or limit a quota.",
        discussion: """
            welkin fault order throttle iCloud.com.example.app --seconds 30
            welkin fault order throttle iCloud.com.example.app --email ada@example.com --no-retry-after
            welkin fault order unavailable iCloud.com.example.app --seconds 5
            welkin fault order quota iCloud.com.example.app --email ada@example.com --bytes 100000

            welkin fault order managedAccountRestricted iCloud.com.example.app --email ada@example.com

            throttle answers 429, unavailable 503, both with Retry-After unless --no-retry-after is given. managedAccountRestricted \
            refuses users as if their employer or school excluded the service.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "throttle, unavailable, quota or managedAccountRestricted.") var kind: Fault.Kind
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Option(help: "The account whose requests fail; all accounts if omitted.") var email: String?
    @Option(help: "The duration; until the fault is removed if omitted.") var seconds: Double?
    @Option(help: "The size that the quota allows for the private database.") var bytes: UInt64?
    @Flag(inversion: .prefixedNo, help: "Send Retry-After with refusals.") var retryAfter = true

    func validate() throws { try ContainerOptions.check(container) }

    func run() async throws {
        let receipt = try await folder.execute(
            .fault(
                kind, for: email.map { .email($0) }, seconds: seconds, bytes: bytes, sendsRetryAfter: retryAfter),
            as: kind.rawValue, in: container, of: email)
        guard let fault = receipt.fault else { return }
        Output.result(fault.id)
        Output.remark("Fault injected. Remove it with: welkin fault remove \(fault.id)")
    }
}

struct ListFaultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the active faults.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let faults = try await DataFolder.with(folder) { try await $0.cloud.faults.list() }
        if json { return try Output.json(faults) }
        guard !faults.isEmpty else { return Output.remark("No faults are active.") }
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
        commandName: "remove", abstract: "Remove a fault, or all of them with --all.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The fault's id.") var id: String?
    @Flag(help: "Remove all faults.") var all = false

    func validate() throws {
        guard (id != nil) != all else { throw ValidationError("Give an id, or --all.") }
    }

    func run() async throws {
        try await DataFolder.with(folder) { folder in
            try await folder.order("faults/remove", details: ["fault": id ?? "all"]) {
                guard let id else {
                    _ = try await folder.cloud.faults.removeAll()
                    return
                }
                guard try await folder.cloud.faults.remove(id) else {
                    throw RevocationError(description: "There is no such fault. See: welkin fault list")
                }
            }
        }
        Output.result(id.map { "Fault \($0) removed." } ?? "All faults removed.")
    }
}

extension Fault.Kind: ExpressibleByArgument {}

extension DataOptions {
    /// Executes an order in development, as the admin API does.
    ///
    /// - Parameters:
    ///   - name: The name of the order in the log.
    ///   - email: The address of the account that it is about.
    func execute(
        _ order: FaultOrder, as name: String, in container: String, of email: String?
    ) async throws -> FaultOutcome {
        try await DataFolder.with(self) { folder in
            try await folder.order("faults/\(name)", in: ContainerID(container), .development, of: email) {
                try await RunFaultOrder(folder.cloud).run(order, in: ContainerID(container), .development)
            }
        }
    }
}
