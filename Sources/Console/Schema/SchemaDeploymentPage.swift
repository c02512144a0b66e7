import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitSchema
import CloudKitServer

/// Compares development with production, and deploys.
struct SchemaDeploymentPage: FormPage {
    let path = "containers/{container}/{environment}/schema/deployment"
    let title = "Compare and deploy"

    /// Returns the address of the page; it is that of production, where a deployment happens.
    static func address(of container: ContainerID) -> Address {
        Address("containers", container.name, Environment.production.rawValue, "schema", "deployment")
    }

    func show(_ request: PageRequest) async throws -> PageResponse {
        let place = try request.place
        guard place.environment == .production else {
            return .redirect(Self.address(of: place.container), notice: nil)
        }
        return try await page(request, nil)
    }

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let place = try request.place
        guard place.environment == .production else { throw RequestFailure.endpointNotFound }
        let report = try await DeploySchema(request.cloud).report(on: place.container)
        guard request.form["report"] == Self.digest(of: report) else {
            throw FormProblem(
                nil, "the schemas have changed since the report was shown", remedy: "Look at the new report below.")
        }
        guard !report.isRefused else {
            throw FormProblem(nil, "production cannot follow", remedy: "Mend what the report says is refused.")
        }
        let isForced = request.form.has("force")
        guard report.isSafe || isForced else {
            throw FormProblem("force", "apps could notice this deployment", remedy: "Tick the box to deploy it.")
        }
        let done = try await request.order("schema/deploy", details: ["force": isForced ? "yes" : "no"]) {
            try await DeploySchema(request.cloud).run(of: place.container, force: isForced, waits: false)
        }
        return .redirect(
            Self.address(of: place.container), notice: "Deployed to production: \(ChangeText.count(done.changes)).")
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let place = try request.place
        let report = try await DeploySchema(request.cloud).report(on: place.container)
        let all = try await ExportSchema(request.cloud).difference(of: place.container)
        let kept = all.filter { !report.changes.contains($0) }
        let progress = request.cloud.indexBuilds.progress(of: place.container, .production)
        let form = SentForm("deploy", of: request, problem)
        return .page(trail: [TrailLink("Schema", try request.containerAddress("schema"))]) {
            progress.map { SchemaTypePage.progressText($0) }
            Part.section("What a deployment changes in production", id: "changes") {
                if report.changes.isEmpty {
                    Tag.p("Nothing: production has all that development has.")
                } else {
                    ChangeText.table(report.changes, caption: "From production to development")
                }
                if !kept.isEmpty {
                    Tag.p(
                        .class("quiet"),
                        text: "Development differs in this, too; a deployment takes nothing away from production:")
                    ChangeText.table(kept, caption: "Differences that stay")
                }
            }
            Part.section("Report", id: "report") {
                Tag.p(
                    .class("quiet"),
                    text: "From the changes, and from the requests that both environments have served.")
                Part.table(
                    caption: "Findings, the gravest first", columns: ["Finding", "Weight", "What to do"],
                    rows: report.findings.map { Self.row($0) },
                    empty: "No finding: every request that production serves has the same answer afterwards.")
            }
            if !report.changes.isEmpty {
                Part.section("Deploy", id: "deploy") {
                    if report.isRefused {
                        Tag.p("Production cannot follow. Mend what the report says is refused, then deploy.")
                    } else {
                        form.html(request, to: Self.address(of: place.container)) {
                            Input.hidden("report", Self.digest(of: report))
                            if !report.isSafe {
                                form.check(
                                    "Deploy although apps could notice what the report calls a risk", name: "force")
                            }
                            Input.submit("Deploy to production", isDangerous: !report.isSafe)
                        }
                        Tag.p(
                            .class("hint"),
                            text: "No data is copied. New indexes are built while apps go on reading and writing.")
                    }
                }
            }
        }
    }

    private static func row(_ finding: DeploymentReport.Finding) -> [HTML] {
        switch finding.kind {
        case .conflict: [Part.name(finding.text), Part.mark("refused", .bad), HTML("Undo the change in development.")]
        case .risk: [Part.name(finding.text), Part.mark("risk", .bad), HTML("Deploy only if no app needs it.")]
        case .missingIndex:
            [Part.name(finding.text), Part.mark("missing index", .warn), HTML("Add the index in development.")]
        case .pending: [Part.name(finding.text), Part.mark("pending", .quiet), HTML("Deploy.")]
        }
    }

    /// Returns a text that differs when a report does, so that what is deployed is what was shown.
    private static func digest(of report: DeploymentReport) -> String {
        let lines = report.changes.map(\.line) + report.findings.map { "\($0.kind.rawValue) \($0.text)" }
        return APIToken.hash(of: lines.joined(separator: "\n"))
    }
}
