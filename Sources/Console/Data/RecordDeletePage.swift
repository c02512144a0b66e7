import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// Deletes a record, after asking.
struct RecordDeletePage: ConsolePage {
    let path = "containers/{container}/{environment}/data/delete"
    let title = "Delete"

    func show(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        try database.checkChanges()
        let address = ChosenRecord(request.query)
        guard let record = try await address.record(database, request.cloud) else {
            throw RequestFailure.endpointNotFound
        }
        return .page(
            title: "Delete \(address.name)?",
            trail: [TrailLink("Data", try request.containerAddress("data")), database.trail]
                + [TrailLink(address.name, database.page("data", "record", query: address.query))]
        ) {
            Tag.p {
                "The record "
                Part.code(address.name)
                " of the type "
                Part.name(record.recordType)
                " is deleted, and with it records that belong to it. This cannot be undone."
            }
            request.postForm(to: database.page("data", "delete"), label: "Delete the record") {
                database.hiddenField
                address.hiddenFields
                Input.hidden("tag", record.changeTag.value)
                Input.submit("Delete", isDangerous: true)
            }
            Tag.p { Part.link("Keep it", database.page("data", "record", query: address.query)) }
        }
    }

    func submit(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        try database.checkChanges()
        let caller = try database.requiredCaller()
        let address = ChosenRecord(request.form)
        let change = RecordChange(
            recordName: address.name, changeTag: request.form["tag"].map { ChangeTag($0) })
        try await request.order(
            "data/delete", details: database.details(["zone": address.zoneName, "record": address.name]),
            records: [database.pseudonym(of: address, request)]
        ) {
            let outcomes = try await ModifyRecords(request.cloud).run(
                ModifyRecordsRequest(
                    operations: [RecordOperation(.delete, change)], zoneID: ZoneID(zoneName: address.zoneName)),
                in: database.address, by: caller)
            if case .failed(_, let failure)? = outcomes.first { throw failure }
        }
        return .redirect(
            database.page("data", "records", query: ["zone": address.zoneName]), notice: "The record is deleted.")
    }
}
