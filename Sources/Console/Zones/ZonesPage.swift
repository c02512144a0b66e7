import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The zones of a database, and the subscriptions of its user.
struct ZonesPage: FormPage {
    let path = "containers/{container}/{environment}/zones"
    let title = "Zones and changes"
    let navigation: String? = "Zones"

    private static let zonesMax = 100

    /// Finds the zones of a person.
    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let user = try await PersonField.knownUser(request, field: "person")
        return .redirect(try request.containerAddress("zones", query: ["user": user.recordName]), notice: nil)
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        guard let user = database.user else { return try await databases(database, request, problem) }
        let inspection = database.inspection(request.cloud)
        let zones = try await inspection.zones(of: user, after: request.query["after"], limit: Self.zonesMax + 1)
        let own = try await inspection.subscriptions(of: user, in: .private)
        let shared = try await inspection.subscriptions(of: user, in: .shared)
        let open = try await inspection.subscriptions(of: user, in: .public)
        return .page(
            title: "Zones of \(user.recordName)", trail: [TrailLink("Zones", try request.containerAddress("zones"))]
        ) {
            ZoneTable.html(Array(zones.prefix(Self.zonesMax)), of: database)
            if zones.count > Self.zonesMax {
                Tag.p {
                    Part.link("More zones", database.page("zones", query: ["after": zones[Self.zonesMax - 1].name]))
                }
            }
            Part.section("Subscriptions", id: "subscriptions") {
                SubscriptionTable.html(
                    own.map { ("private", $0) } + shared.map { ("shared", $0) } + open.map { ("public", $0) })
            }
            Part.section("Change tokens of the database", id: "tokens") {
                Tag.p("Devices that show a token from before fetch the list of zones again.")
                request.postForm(to: database.page("zones", "expire"), label: "Expire tokens of the database") {
                    database.hiddenField
                    Tag.button(.type("submit"), .class("danger"), text: "Expire the database's tokens")
                }
            }
        }
    }

    private func databases(
        _ database: DatabaseChoice, _ request: PageRequest, _ problem: FormProblem?
    ) async throws -> PageResponse {
        let databases = try await PrivateDatabaseList(database, request)
        return .page {
            Tag.p(.class("quiet"), text: "Custom zones and their feeds are in private databases.")
            databases.html(page: "zones", label: "Zones of a user", request, problem)
        }
    }
}

/// Subscriptions as a table.
enum SubscriptionTable {
    /// Returns the table; `subscriptions` have the words of their databases.
    static func html(_ subscriptions: [(database: String, subscription: Subscription)]) -> HTML {
        Part.table(
            caption: "Subscriptions", columns: ["Subscription", "Database", "About", "Notifies"],
            rows: subscriptions.map { database, subscription in
                [
                    Part.name(subscription.id), HTML(database), interest(subscription.interest),
                    HTML(notice(subscription)),
                ]
            }, empty: "The user has no subscriptions.")
    }

    private static func interest(_ interest: Subscription.Interest) -> HTML {
        switch interest {
        case .query(let query):
            HTML([
                HTML("records of "), Part.name(query.query.recordType),
                HTML(query.query.filters.isEmpty ? "" : " with \(query.query.filters.count) filters"),
                query.zoneID.map { HTML([HTML(" in "), Part.name($0.zoneName)]) } ?? HTML(),
                HTML(query.firesOnce ? ", once" : ""),
            ])
        case .zone(let zone, let type):
            HTML([
                HTML("zone "), Part.name(zone.zoneName),
                type.map { HTML([HTML(", records of "), Part.name($0)]) } ?? HTML(),
            ])
        case .database(let type):
            HTML([HTML("the database"), type.map { HTML([HTML(", records of "), Part.name($0)]) } ?? HTML()])
        }
    }

    private static func notice(_ subscription: Subscription) -> String {
        guard let info = subscription.notificationInfo else {
            if case .query = subscription.interest { return "never: it has no notification info" }
            return "silently"
        }
        return info.alertBody == nil && info.alertLocalizationKey == nil ? "silently" : "with an alert"
    }
}
