import CloudKitHTTP
import CloudKitModel
import CloudKitSchema
import CloudKitServer

/// The record types and roles of a container and environment.
struct SchemaPage: FormPage {
    let path = "containers/{container}/{environment}/schema"
    let title = "Schema"
    let navigation: String? = "Schema"

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let place = try request.developmentPlace
        switch request.form[SentForm.idField] {
        case "add-type":
            let name = request.form["name"] ?? ""
            try await request.edit(.addType(name), details: ["recordType": name], field: "name")
            return .redirect(
                try request.containerAddress("schema", "types", name), notice: "Record type \(name) is added.")
        case "add-role":
            let name = request.form["name"] ?? ""
            try await request.edit(.addRole(name), details: ["role": name], field: "name")
            return .redirect(
                Address("containers", place.container.name, place.environment.rawValue, "schema"),
                notice: "Role \(name) is added. Grant it something on the pages of record types.")
        default: throw RequestFailure(.badRequest, "the form is not one of this page")
        }
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let place = try request.place
        let schema = try await request.cloud.schema(place.container, place.environment)
        let state = try await SchemaState(of: place.container, in: place.environment, request.cloud)
        let isEditable = place.environment == .development
        let types = schema.types.values.filter { !schema.implicitTypes.contains($0.name) || $0.name == "Users" }
            .sorted { $0.name < $1.name }
        let typeRows = try types.map { try row(of: $0, request) }
        let roleRows = try schema.roleMembers.sorted { $0.key < $1.key }.map { role, members in
            [
                Part.link(role, try request.containerAddress("schema", "roles", role)), Part.number(members.count),
            ]
        }
        let here = try request.containerAddress("schema")
        let reset = try request.containerAddress("schema", "reset")
        let text = try request.containerAddress("schema", "text")
        return .page {
            Part.facts([("State", state.html)])
            Tag.ul(.class("links")) {
                Tag.li { Part.link(isEditable ? "Export and import as text" : "Export as text", text) }
                Tag.li { Part.link("Compare and deploy", SchemaDeploymentPage.address(of: place.container)) }
                if isEditable { Tag.li { Part.link("Reset development", reset) } }
            }
            Part.section("Record types", id: "types") {
                Part.table(
                    caption: "Record types", columns: ["Record type", "Fields", "Indexed", "Encrypted", "Grants"],
                    rows: typeRows, empty: "There is no record type yet.")
                if isEditable {
                    SentForm("add-type", of: request, problem).formOfName(
                        "Name of a record type", button: "Add record type", to: here, request)
                } else {
                    Tag.p(
                        .class("quiet"),
                        text: "Production takes what is deployed to it. Edit the schema in development.")
                }
            }
            Part.section("Roles", id: "roles") {
                Tag.p(
                    .class("quiet"),
                    text:
                        "Roles count in the public database. Besides these there are _world, all callers, _icloud, all with "
                        + "an account, and _creator, the user who created the record.")
                Part.table(
                    caption: "Custom roles", columns: ["Role", "Users"], rows: roleRows,
                    empty: "There is no custom role.")
                if isEditable {
                    SentForm("add-role", of: request, problem).formOfName(
                        "Name of a role", button: "Add role", to: here, request)
                }
            }
        }
    }

    private func row(of type: RecordTypeDefinition, _ request: PageRequest) throws -> [HTML] {
        let fields = type.fields.values
        return [
            Part.link(type.name, try request.containerAddress("schema", "types", type.name)),
            Part.number(fields.count), Part.number(fields.filter { !$0.indexes.isEmpty }.count),
            Part.number(fields.filter { $0.type.isEncrypted }.count), HTML(GrantText.text(of: type)),
        ]
    }
}

extension SentForm {
    /// Returns a form with one field, for a name.
    fileprivate func formOfName(_ label: String, button: String, to address: Address, _ request: PageRequest) -> HTML {
        html(request, to: address, label: button) {
            text(
                label, name: "name", hint: "A letter, then letters, digits and underscores.", isRequired: true,
                lengthMax: 255)
            Input.submit(button)
        }
    }
}

/// The grants of a record type in words.
enum GrantText {
    /// Returns what each role may do.
    static func text(of type: RecordTypeDefinition) -> String {
        if type.grants.isEmpty { return "none" }
        return Set(type.grants.map(\.role)).sorted().map { role in
            let words = Grant.Privilege.allCases.filter { type.grants.contains(Grant($0, to: role)) }.map {
                $0.rawValue.lowercased()
            }
            return "\(role): \(words.joined(separator: ", "))"
        }.joined(separator: "; ")
    }
}

extension PageRequest {
    /// The container and environment of a page that changes the schema of development.
    ///
    /// - Throws: `accessDenied` in production.
    var developmentPlace: ContainerPath {
        get throws(RequestFailure) {
            let place = try place
            guard place.environment == .development else {
                throw RequestFailure(
                    .accessDenied, "the schema of production is changed by deployments only",
                    remedy: "Change it in development, then deploy it.")
            }
            return place
        }
    }

    /// Makes one change to the schema of development.
    ///
    /// - Parameter field: The field of the form that a refusal is about.
    func edit(
        _ edit: SchemaEdit, details: [String: String], removesData: Bool = false, field: String? = nil
    ) async throws {
        let place = try developmentPlace
        do {
            try await order("schema/edit", details: details.mapValues { String($0.prefix(255)) }) {
                try await EditSchema(cloud).run(edit, in: place.container, removesData: removesData)
            }
        } catch let failure as RequestFailure {
            throw FormProblem(failure, field: field)
        }
    }
}
