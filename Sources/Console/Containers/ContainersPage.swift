import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The containers of the cloud: the Console's first page.
struct ContainersPage: ConsolePage {
    let path = "containers"
    let title = "Containers"
    let navigation: String? = "Containers"
    let audience = PageAudience.everyOperator

    /// Containers on a page.
    private static let containersMax = 50
    /// Private databases that are counted for a page, for all its containers together.
    private static let databasesMax = 400

    func show(_ request: PageRequest) async throws -> PageResponse {
        let all = try await ListContainers(request.cloud).run().filter { request.operator.scope.includes($0) }
        let after = request.query["after"]
        let rest = all.filter { container in after.map { container.name > $0 } ?? true }
        let shown = rest.prefix(Self.containersMax)
        var rows: [[HTML]] = []
        for container in shown {
            for environment in Environment.allCases {
                rows.append(
                    try await row(
                        container, environment, databasesMax: Self.databasesMax / max(1, shown.count), request))
            }
        }
        return .page {
            Part.table(
                caption: "Containers and their environments",
                columns: ["Container", "Environment", "Public database", "Private databases", "Schema"], rows: rows,
                empty:
                    "There is no container yet. One begins with its first API token: welkin token create iCloud.com.example.app"
            )
            if rest.count > shown.count, let last = shown.last {
                Tag.p { Part.link("More containers", Address("containers", query: ["after": last.name])) }
            }
            if after != nil { Tag.p { Part.link("First containers", Address("containers")) } }
        }
    }

    private func row(
        _ container: ContainerID, _ environment: Environment, databasesMax: Int, _ request: PageRequest
    ) async throws -> [HTML] {
        let usage = try await MeasureContainer(request.cloud).run(container, environment, databasesMax: databasesMax)
        let home = Address("containers", container.name, environment.rawValue)
        return [
            Part.link(container.name, home),
            Part.mark(environment.rawValue, environment == .production ? .warn : .quiet),
            UsageText.publicDatabase(usage), UsageText.privateDatabases(usage),
            try await SchemaState(of: container, in: environment, request.cloud).html,
        ]
    }
}

/// The use of a container in words.
enum UsageText {
    /// Returns the records and bytes of the public database.
    static func publicDatabase(_ usage: ContainerUsage) -> HTML {
        HTML([Part.number(usage.publicRecords), HTML(" records, "), Part.bytes(usage.publicBytes)])
    }

    /// Returns the private databases with their records and bytes, as far as they were counted.
    static func privateDatabases(_ usage: ContainerUsage) -> HTML {
        let least = usage.isComplete ? "" : "more than "
        return HTML([
            HTML(least), Part.number(usage.privateDatabases),
            HTML(usage.privateDatabases == 1 ? " database, " : " databases, "),
            Part.number(usage.privateRecords), HTML(" records, "), Part.bytes(usage.privateBytes),
        ])
    }
}
