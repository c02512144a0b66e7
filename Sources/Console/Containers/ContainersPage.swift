import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The containers of the cloud, and the form for a new one: the Console's first page.
struct ContainersPage: FormPage {
    let path = "containers"
    let title = "Containers"
    let navigation: String? = "Containers"
    let audience = PageAudience.everyOperator

    /// Containers on a page.
    private static let containersMax = 50
    /// Private databases that are counted for a page, for all its containers together.
    private static let databasesMax = 400

    /// Makes a container, which begins with its first API token.
    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        guard request.operator.scope == .all else { throw RequestFailure.endpointNotFound }
        guard let name = request.form["container"]?.trimming, ContainerPath.isContainerName(name) else {
            throw FormProblem(
                "container", "this is no name of a container", remedy: "Write it like iCloud.com.example.app.")
        }
        let container = ContainerID(name)
        guard try await !ListContainers(request.cloud).run().contains(container) else {
            throw FormProblem(
                "container", "there is a container of this name already", remedy: "Its page Tokens makes API tokens.")
        }
        let environment: Environment = request.form["environment"] == "production" ? .production : .development
        let made = try await request.order("tokens/api/create", details: ["container": container.name]) {
            try await request.cloud.accountStore.apiTokens.create(
                container: container, environment: environment, name: "first token")
        }
        return try await page(request, nil, made: made.token)
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        try await page(request, problem, made: nil)
    }

    /// - Parameter made: The API token of the container that was just made.
    private func page(
        _ request: PageRequest, _ problem: FormProblem?, made: String?
    ) async throws -> PageResponse {
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
        let form = SentForm("container", of: request, problem, isDone: made != nil)
        return .page {
            made.map {
                Part.newSecret(
                    $0, what: "API token of the container",
                    hint: "Apps read it from CLOUDKIT_API_TOKEN or their cloudkit.json.")
            }
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
            if request.operator.scope == .all {
                Part.section("New container", id: "new") {
                    form.html(request, to: Address("containers"), label: "New container") {
                        form.text(
                            "Name", name: "container",
                            hint: "Such as iCloud.com.example.app. It begins with its API token.",
                            isRequired: true, lengthMax: 255)
                        form.choice(
                            "Environment of the token", name: "environment",
                            options: [("development", "development"), ("production", "production")],
                            selected: "development")
                        Input.submit("Make the container")
                    }
                }
            }
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
