import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// One record: its fields, its attributes, its relations.
struct RecordPage: ConsolePage {
    let path = "containers/{container}/{environment}/data/record"
    let title = "Record"
    /// The requests that named the record.
    var history = RecordHistory(store: nil)

    func show(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        let address = ChosenRecord(request.query)
        let outline = try await database.inspection(request.cloud)
            .record(address.name, inZone: address.zoneName, of: database.user)
        let record = try await address.record(database, request.cloud)
        let requests = await history.html(
            of: address, created: outline.created.timestamp, in: database, request)
        return .page(
            title: address.name,
            trail: [TrailLink("Data", try request.containerAddress("data")), database.trail]
                + [TrailLink(address.zoneName, database.page("data", "records", query: ["zone": address.zoneName]))]
        ) {
            ConsentPart.state(of: database, request)
            if let record, database.allowsChanges {
                Tag.p(.class("actions")) {
                    Part.link("Edit", database.page("data", "edit", query: address.query))
                    " "
                    Part.link("Delete…", database.page("data", "delete", query: address.query))
                    record.recordType == Validity.shareRecordType ? HTML(" (a share)") : HTML()
                }
            }
            Part.section("Fields", id: "fields") { fields(outline, record, database, address) }
            Part.section("System", id: "system") { system(outline, database, address) }
            record?.sharing.map { share in
                Part.section("Share", id: "share") { SharePart.html(share, database, zoneName: address.zoneName) }
            }
            Part.section("History in the log", id: "history") { requests }
        }
    }

    private func fields(
        _ outline: RecordOutline, _ record: Record?, _ database: DatabaseChoice, _ address: ChosenRecord
    ) -> HTML {
        let values = Dictionary(uniqueKeysWithValues: record?.fields.map { ($0.name, $0) } ?? [])
        let text = FieldText(database: database, recordName: address.name, zoneName: address.zoneName)
        return Part.table(
            caption: "Fields", columns: ["Field", "Type", "Value", "Size"],
            rows: outline.fields.map { field in
                [
                    Part.name(field.name), Part.code(field.type.description),
                    values[field.name].map { text.html($0) }
                        ?? (field.type.isEncrypted
                            ? FieldText.sealed(bytes: max(0, field.bytes - 2) / 4 * 3)
                            : Tag.span(.class("quiet"), text: "not shown")),
                    Part.bytes(field.bytes),
                ]
            }, empty: "The record has no fields.")
    }

    private func system(_ outline: RecordOutline, _ database: DatabaseChoice, _ address: ChosenRecord) -> HTML {
        func link(_ name: String) -> HTML {
            Part.link(name, database.page("data", "record", query: ["zone": address.zoneName, "name": name]))
        }
        var facts: [(name: String, value: HTML)] = [
            ("Record name", Part.code(outline.name)), ("Type", Part.name(outline.recordType)),
            ("Zone", Part.link(address.zoneName, database.page("zones", "zone", query: ["zone": address.zoneName]))),
            ("Change tag", Part.code(outline.changeTag.value)),
            ("Created", stamp(outline.created)), ("Modified", stamp(outline.modified)),
            ("Size", Part.bytes(outline.storedBytes)),
        ]
        if let parent = outline.parent { facts.append(("Parent", link(parent))) }
        if let share = outline.share { facts.append(("Share", link(share))) }
        if let epoch = outline.keyEpoch { facts.append(("Key epoch", HTML("\(epoch)"))) }
        return Part.facts(facts)
    }

    private func stamp(_ stamp: Stamp) -> HTML {
        HTML([Part.time(stamp.timestamp), HTML(" by "), Part.code(stamp.user.recordName)])
    }
}

/// The name of a record and its zone, as addresses and forms have them.
struct ChosenRecord {
    var name: String
    var zoneName: String

    init(_ fields: FormFields) {
        name = fields["name"] ?? ""
        zoneName = fields["zone"] ?? ZoneID.defaultZoneName
    }

    /// The fields of an address.
    var query: KeyValuePairs<String, String?> { ["zone": zoneName, "name": name] }

    /// The fields of a form.
    var hiddenFields: [HTML] { [Input.hidden("zone", zoneName), Input.hidden("name", name)] }

    /// Returns the record with its values, as the API returns it; nil where operators do not see values.
    ///
    /// - Throws: The failures of `LookupRecords`; `itemNotFound`.
    func record(_ database: DatabaseChoice, _ cloud: Cloud) async throws -> Record? {
        guard let caller = database.caller else { return nil }
        let outcome = try await LookupRecords(cloud).run(
            LookupRecordsRequest(records: [.init(recordName: name)], zoneID: ZoneID(zoneName: zoneName)),
            in: database.address, by: caller
        ).first
        switch outcome {
        case .record(let record)?: return record
        case .failed(_, let failure)?: throw failure
        case .deleted?, nil: throw RequestFailure(.itemNotFound, "Record not found")
        }
    }
}
