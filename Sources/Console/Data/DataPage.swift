import CloudKitHTTP
import CloudKitModel
import CloudKitSchema
import CloudKitServer

/// The databases of a container; the zones and types of one of them.
struct DataPage: FormPage {
    let path = "containers/{container}/{environment}/data"
    let title = "Data"
    let navigation: String? = "Data"

    /// Finds the private database of a person.
    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let user = try await PersonField.knownUser(request, field: "person")
        return .redirect(try request.containerAddress("data", query: ["user": user.recordName]), notice: nil)
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        if database.user != nil { return try await privateDatabase(database, request) }
        let types = try await types(database, request)
        let databases = try await PrivateDatabaseList(database, request)
        return .page {
            Part.section("Public database", id: "public") {
                types
                Tag.p {
                    Part.link("Browse its records by name", database.page("data", "records"))
                    ", or "
                    Part.link("create a record", database.page("data", "edit"))
                    "."
                }
            }
            Part.section("Private databases", id: "private") {
                Tag.p(.class("quiet")) {
                    "Operators see what is there, not what it says: names, types, counts and sizes. Values are shown with a token "
                    "that the person makes."
                }
                databases.html(page: "data", label: "Private database of a user", request, problem)
            }
        }
    }

    /// Returns the record types, each with a link to a query.
    private func types(_ database: DatabaseChoice, _ request: PageRequest) async throws -> HTML {
        let schema = try await request.cloud.schema(database.place.container, database.place.environment)
        return Part.table(
            caption: "Record types", columns: ["Type", "Fields", "Query"],
            rows: schema.types.values.sorted { $0.name < $1.name }.map { type in
                [
                    Part.name(type.name),
                    HTML("\(type.fields.count)"),
                    database.caller == nil
                        ? Tag.span(.class("quiet"), text: "with consent")
                        : Part.link(
                            "Query \(type.name)",
                            database.page("data", "query", query: ["type": type.name, "zone": request.query["zone"]])),
                ]
            })
    }

    private func privateDatabase(_ database: DatabaseChoice, _ request: PageRequest) async throws -> PageResponse {
        let zones = try await database.inspection(request.cloud).zones(of: database.user, after: nil, limit: 200)
        let types = try await types(database, request)
        return .page(title: database.title, trail: [TrailLink("Data", try request.containerAddress("data"))]) {
            ConsentPart.state(of: database, request)
            Part.section("Zones", id: "zones") {
                ZoneTable.html(zones, of: database)
                Tag.p { Part.link("Changes, shares and subscriptions", database.page("zones")) }
            }
            Part.section("Record types", id: "types") { types }
        }
    }
}

/// The zones of a database as a table.
enum ZoneTable {
    /// Returns the table.
    static func html(_ zones: [ZoneSummary], of database: DatabaseChoice) -> HTML {
        Part.table(
            caption: "Zones", columns: ["Zone", "State", "Records", "Size", "Shared", "Look at"],
            rows: zones.map { zone in
                [
                    Part.link(zone.name, database.page("zones", "zone", query: ["zone": zone.name])),
                    state(zone), Part.number(zone.recordCount), Part.bytes(zone.recordBytes), sharing(zone),
                    zone.state == .live
                        ? Part.link(
                            "Records of \(zone.name)", database.page("data", "records", query: ["zone": zone.name]))
                        : HTML(),
                ]
            })
    }

    /// Returns the state of a zone in words.
    static func state(_ zone: ZoneSummary) -> HTML {
        switch zone.state {
        case .live: Part.mark("live", .good)
        case .deleted: Part.mark("deleted")
        case .purged: Part.mark("purged", .warn)
        case .keysReset: Part.mark("keys reset", .warn)
        }
    }

    /// Returns how a zone is shared.
    static func sharing(_ zone: ZoneSummary) -> HTML {
        if zone.isShared { return HTML("as a whole") }
        return HTML(zone.sharedTrees == 0 ? "no" : "\(zone.sharedTrees) \(zone.sharedTrees == 1 ? "tree" : "trees")")
    }
}
