import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// One zone: its state, its feed from any token, its shares.
struct ZonePage: ConsolePage {
    let path = "containers/{container}/{environment}/zones/zone"
    let title = "Zone"

    private static let changesMax = 50

    func show(_ request: PageRequest) async throws -> PageResponse {
        try await page(DatabaseChoice(request), zoneName: request.query["zone"] ?? "", token: nil, request)
    }

    /// Shows the feed after a token: tokens are sent in forms, never in addresses.
    func submit(_ request: PageRequest) async throws -> PageResponse {
        let token = (request.form["token"] ?? "").filter { !$0.isWhitespace }
        return try await page(
            DatabaseChoice(request), zoneName: request.form["zone"] ?? "", token: token.isEmpty ? nil : token, request)
    }

    private func page(
        _ database: DatabaseChoice, zoneName: String, token: String?, _ request: PageRequest
    ) async throws -> PageResponse {
        let inspection = database.inspection(request.cloud)
        let zone = try await inspection.zone(zoneName, of: database.user)
        var shares: [(name: String, share: Share)] = []
        var changes = HTML()
        if let user = database.user {
            if zone.isShared || zone.sharedTrees > 0 {
                shares = try await inspection.shares(inZone: zoneName, of: user)
            }
            if zone.state == .live, zone.syncToken != nil {
                changes = HTML([
                    try await feed(zone, user, token, inspection, database, request),
                    orders(on: zone, in: database, request),
                ])
            }
        }
        return .page(
            title: zoneName,
            trail: [
                TrailLink("Zones", try request.containerAddress("zones")),
                TrailLink(database.title, database.page("zones")),
            ]
        ) {
            Part.facts(facts(zone, database))
            changes
            if !shares.isEmpty {
                Part.section("Shares", id: "shares") {
                    shares.map { name, share in
                        HTML([
                            Tag.h3 {
                                Part.link(
                                    name, database.page("data", "record", query: ["zone": zoneName, "name": name]))
                            },
                            SharePart.html(share, database, zoneName: zoneName),
                        ])
                    }
                }
            }
        }
    }

    private func facts(_ zone: ZoneSummary, _ database: DatabaseChoice) -> [(name: String, value: HTML)] {
        var facts: [(name: String, value: HTML)] = [
            ("State", ZoneTable.state(zone)),
            ("Since", zone.since == 0 ? HTML("always") : Part.time(zone.since)),
            (
                "Records",
                HTML([
                    Part.number(zone.recordCount), HTML(", "), Part.bytes(zone.recordBytes), HTML(" "),
                    zone.state == .live
                        ? Part.link("Browse", database.page("data", "records", query: ["zone": zone.name])) : HTML(),
                ])
            ),
            ("Shared", ZoneTable.sharing(zone)),
            (
                "Keys",
                HTML(
                    "epoch \(zone.keyEpoch), \(zone.encryptionScope == .perZone ? "one for the zone" : "one for each record")"
                )
            ),
        ]
        if let token = zone.syncToken { facts.append(("Newest token", Part.code(token))) }
        return facts
    }

    private func feed(
        _ zone: ZoneSummary, _ user: UserID, _ token: String?, _ inspection: InspectDatabases,
        _ database: DatabaseChoice,
        _ request: PageRequest
    ) async throws -> HTML {
        let content: HTML
        do {
            let (changes, next, moreComing) = try await inspection.changes(
                inZone: zone.name, of: user, after: token, limit: Self.changesMax)
            content = HTML([
                Part.table(
                    caption: token == nil
                        ? "Changes from the beginning, oldest first" : "Changes after the token, oldest first",
                    columns: ["Record", "Type", "Change", "Change tag", "Size", "Token after it"],
                    rows: changes.map { row($0, of: zone, in: database) }, empty: "Nothing changed after this token."),
                moreComing
                    ? request.postForm(to: database.page("zones", "zone"), label: "More changes") {
                        hidden(zone, database)
                        Input.hidden("token", next)
                        Input.submit("More changes")
                    } : HTML(),
            ])
        } catch let failure as RequestFailure {
            content = Part.failure(failure, requestUUID: request.incoming.uuid)
        }
        return Part.section("Changes", id: "changes") {
            request.postForm(to: database.page("zones", "zone"), label: "Changes after a token") {
                hidden(zone, database)
                Input.text(
                    "Server change token", name: "token", value: token ?? "",
                    hint: "From a device or a table below; empty: from the beginning")
                Input.submit("Show changes")
            }
            content
        }
    }

    private func row(_ change: FeedOutline, of zone: ZoneSummary, in database: DatabaseChoice) -> [HTML] {
        [
            change.isDeleted
                ? Part.name(change.recordName)
                : Part.link(
                    change.recordName,
                    database.page("data", "record", query: ["zone": zone.name, "name": change.recordName])),
            Part.name(change.recordType), change.isDeleted ? Part.mark("deleted", .warn) : Part.mark("saved", .good),
            Part.code(change.changeTag.value), Part.bytes(change.bytes), Part.code(change.syncToken),
        ]
    }

    private func orders(on zone: ZoneSummary, in database: DatabaseChoice, _ request: PageRequest) -> HTML {
        Part.section("Orders", id: "orders") {
            Tag.p("After tokens have expired, devices fetch the zone again from the beginning.")
            request.postForm(to: database.page("zones", "expire"), label: "Expire tokens of the zone") {
                hidden(zone, database)
                Tag.button(.type("submit"), .class("danger"), text: "Expire the zone's tokens")
            }
            Tag.p { Part.link("Purge the zone…", database.page("zones", "purge", query: ["zone": zone.name])) }
        }
    }

    private func hidden(_ zone: ZoneSummary, _ database: DatabaseChoice) -> HTML {
        HTML([database.hiddenField ?? HTML(), Input.hidden("zone", zone.name)])
    }
}
