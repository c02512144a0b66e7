import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// Asks before development is put back to production's schema, without data.
struct SchemaResetPage: FormPage {
    let path = "containers/{container}/{environment}/schema/reset"
    let title = "Reset development"

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let place = try request.developmentPlace
        guard request.form["name"]?.trimming == place.container.name else {
            throw FormProblem("name", "this is not the container's name", remedy: "Write \(place.container.name).")
        }
        try await request.order("schema/reset") { try await ResetSchema(request.cloud).run(of: place.container) }
        return .redirect(
            try request.containerAddress("schema"),
            notice: "Development has production's schema and no records.")
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let place = try request.developmentPlace
        let usage = try await MeasureContainer(request.cloud).run(place.container, .development, databasesMax: 1000)
        let form = SentForm("reset", of: request, problem)
        let here = try request.containerAddress("schema", "reset")
        let back = try request.containerAddress("schema")
        return .page(trail: [TrailLink("Schema", back)]) {
            Tag.p("This deletes, for all users of \(place.container.name) in development:")
            Part.facts([
                ("Public database", UsageText.publicDatabase(usage)),
                ("Private databases", UsageText.privateDatabases(usage)),
            ])
            Tag.p(
                "Zones are purged, and the schema becomes the one of production. Accounts, user records and subscriptions "
                    + "stay, and so does production. It cannot be undone.")
            form.html(request, to: here) {
                form.text(
                    "Name of the container", name: "name", hint: "To make sure, write \(place.container.name).",
                    isRequired: true, lengthMax: 255)
                Input.submit("Reset development", isDangerous: true)
            }
            Tag.p { Part.link("Back, change nothing", back) }
        }
    }
}
