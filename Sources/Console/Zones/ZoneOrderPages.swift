import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// Makes the change tokens of a zone, or of a database, expire.
struct ExpireTokensPage: ConsolePage {
    let path = "containers/{container}/{environment}/zones/expire"
    let title = "Expire tokens"

    func show(_ request: PageRequest) async throws -> PageResponse {
        .redirect(try request.containerAddress("zones"), notice: nil)
    }

    func submit(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        guard let user = database.user else { throw RequestFailure(.badRequest, "there is no such user") }
        let (container, environment) = (database.place.container, database.place.environment)
        let zone = request.form["zone"]
        try await request.order("tokens/expire", details: database.details(["zone": zone])) {
            if let zone {
                try await ExpireTokens(request.cloud).run(ofZone: zone, of: user, in: container, environment)
            } else {
                // Writing creates databases; only a known one has tokens.
                guard try await request.cloud.accountStore.userNames.owner(of: user, in: container) != nil else {
                    throw RequestFailure(.itemNotFound, "the container knows no user of this name")
                }
                try await ExpireTokens(request.cloud).run(ofDatabaseOf: user, in: container, environment)
            }
        }
        return .redirect(
            zone.map { database.page("zones", "zone", query: ["zone": $0]) } ?? database.page("zones"),
            notice: "Tokens from before have expired.")
    }
}

/// Purges a zone, after asking.
struct PurgeZonePage: ConsolePage {
    let path = "containers/{container}/{environment}/zones/purge"
    let title = "Purge a zone"

    func show(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        let zoneName = request.query["zone"] ?? ""
        return try await page(database, zoneName, failure: nil, request)
    }

    func submit(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        guard let user = database.user, let zoneName = request.form["zone"] else {
            throw RequestFailure(.zoneNotFound, "Zone does not exist")
        }
        guard request.form.exact("confirmation") == zoneName else {
            return try await page(
                database, zoneName,
                failure: RequestFailure(
                    .badRequest, "the name is not that of the zone", remedy: "Write the zone's name to purge it."),
                request)
        }
        try await request.order("zones/purge", details: database.details(["zone": zoneName])) {
            try await EndZone(request.cloud)
                .purge(zoneName, of: user, in: database.place.container, database.place.environment)
        }
        return .redirect(database.page("zones"), notice: "The zone is purged.")
    }

    private func page(
        _ database: DatabaseChoice, _ zoneName: String, failure: RequestFailure?, _ request: PageRequest
    ) async throws -> PageResponse {
        let zone = try await database.inspection(request.cloud).zone(zoneName, of: database.user)
        return .page(
            title: "Purge \(zoneName)?",
            trail: [
                TrailLink("Zones", try request.containerAddress("zones")),
                TrailLink(database.title, database.page("zones")),
            ],
            status: failure == nil ? .ok : .badRequest
        ) {
            failure.map { Part.failure($0, requestUUID: request.incoming.uuid) }
            Tag.p {
                "All "
                Part.number(zone.recordCount)
                " records of "
                Part.code(zoneName)
                " are removed, as when the user deletes the app's data. Devices are told so, and ask the user before they save the zone "
                "again. This cannot be undone."
            }
            request.postForm(to: database.page("zones", "purge"), label: "Purge the zone") {
                database.hiddenField
                Input.hidden("zone", zoneName)
                Input.text("Zone's name, to confirm", name: "confirmation", isRequired: true)
                Input.submit("Purge", isDangerous: true)
            }
            Tag.p { Part.link("Keep it", database.page("zones", "zone", query: ["zone": zoneName])) }
        }
    }
}
