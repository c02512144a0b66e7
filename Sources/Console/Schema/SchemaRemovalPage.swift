import CloudKitHTTP
import CloudKitModel
import CloudKitSchema
import CloudKitServer

/// Asks before a record type, a field or a role is removed from development.
struct SchemaRemovalPage: FormPage {
    let path = "containers/{container}/{environment}/schema/remove"
    let title = "Remove"

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let subject = try Subject(request.form)
        try await request.edit(
            subject.edit, details: subject.details, removesData: request.form.has("data"))
        var address = try request.containerAddress("schema")
        if let type = subject.type, subject.field != nil {
            address = try request.containerAddress("schema", "types", type)
        }
        return .redirect(address, notice: "\(subject.words) is removed.")
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let place = try request.developmentPlace
        let subject = try Subject(request.form.names.isEmpty ? request.query : request.form)
        let schema = try await request.cloud.schema(place.container, place.environment)
        guard subject.isThere(in: schema) else { throw RequestFailure.endpointNotFound }
        var back = try request.containerAddress("schema")
        if let type = subject.type { back = try request.containerAddress("schema", "types", type) }
        let form = SentForm("remove", of: request, problem)
        let here = try request.containerAddress("schema", "remove")
        return .page(title: "Remove \(subject.words)", trail: [TrailLink("Schema", back)]) {
            Tag.p(subject.consequence)
            form.html(request, to: here) {
                subject.type.map { Input.hidden("type", $0) }
                subject.field.map { Input.hidden("field", $0) }
                subject.role.map { Input.hidden("role", $0) }
                if subject.role == nil {
                    form.check("Delete the records of development that have it, for all users", name: "data")
                }
                Input.submit("Remove \(subject.words)", isDangerous: true)
                Tag.p { Part.link("Back, change nothing", back) }
            }
        }
    }

    /// What is removed.
    private struct Subject {
        var type: String?
        var field: String?
        var role: String?

        init(_ fields: FormFields) throws(RequestFailure) {
            type = fields["type"]
            field = fields["field"]
            role = fields["role"]
            guard (type != nil) != (role != nil) else { throw .endpointNotFound }
        }

        var edit: SchemaEdit {
            if let role { return .removeRole(role) }
            let type = type ?? ""
            return field.map { .removeField($0, of: type) } ?? .removeType(type)
        }

        var details: [String: String] {
            ["recordType": type, "field": field, "role": role].compactMapValues { $0 }
        }

        var words: String {
            if let role { return "role \(role)" }
            return field.map { "field \(type ?? "").\($0)" } ?? "record type \(type ?? "")"
        }

        var consequence: String {
            if role != nil { return "The users of the role lose it, and record types lose the grants to it." }
            return
                "This changes the schema of development. While records have it, it is removed only together with them."
        }

        func isThere(in schema: Schema) -> Bool {
            if let role { return schema.roles.contains(role) }
            guard let type = type.flatMap({ schema[$0] }) else { return false }
            return field.map { type.fields[$0] != nil } ?? true
        }
    }
}
