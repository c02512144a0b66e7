import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The records of a zone in the order of their names, without values: this needs no index.
struct RecordsPage: ConsolePage {
    let path = "containers/{container}/{environment}/data/records"
    let title = "Records"

    private static let recordsMax = 50

    func show(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        let zoneName = request.query["zone"] ?? ZoneID.defaultZoneName
        let (records, next) = try await database.inspection(request.cloud).records(
            inZone: zoneName, of: database.user, after: request.query["after"], limit: Self.recordsMax)
        return .page(
            title: "Records of \(zoneName)",
            trail: [TrailLink("Data", try request.containerAddress("data")), database.trail]
        ) {
            viewForm(database.page("data", "record"), label: "A record by its name") {
                database.hiddenField
                Input.hidden("zone", zoneName)
                Input.text("Record name", name: "name", isRequired: true)
                Input.submit("Show")
            }
            Part.table(
                caption: "Records in the order of their names",
                columns: ["Record", "Type", "Fields", "Size", "Created", "Modified", "Parent"],
                rows: records.map { record in
                    [
                        Part.link(
                            record.name,
                            database.page("data", "record", query: ["zone": zoneName, "name": record.name])),
                        Part.name(record.recordType), HTML("\(record.fields.count)"), Part.bytes(record.storedBytes),
                        Part.time(record.created.timestamp), Part.time(record.modified.timestamp),
                        record.parent.map {
                            Part.link($0, database.page("data", "record", query: ["zone": zoneName, "name": $0]))
                        } ?? HTML(),
                    ]
                }, empty: next == nil ? "There are no records." : "Only deleted records here; see the next page.")
            if let next {
                Tag.p {
                    Part.link(
                        "More records", database.page("data", "records", query: ["zone": zoneName, "after": next]))
                }
            }
        }
    }
}
