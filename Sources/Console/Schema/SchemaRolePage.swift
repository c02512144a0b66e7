import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// A custom role with its users.
struct SchemaRolePage: FormPage {
    let path = "containers/{container}/{environment}/schema/roles/{role}"
    let title = "Role"

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let place = try request.place
        let role = try await members(request).role
        let isGiven = request.form[SentForm.idField] == "give"
        let user =
            isGiven
            ? try await PersonField.user(request, field: "person") : UserID(request.form["user"] ?? "")
        try await request.order(
            "schema/roles", details: ["role": role, "user": user.recordName, "given": isGiven ? "yes" : "no"]
        ) {
            try await SetRoles(request.cloud).run(
                role, isGiven: isGiven, to: user, in: place.container, place.environment)
        }
        return .redirect(
            try request.containerAddress("schema", "roles", role),
            notice: "\(user.recordName) \(isGiven ? "has" : "no longer has") the role.")
    }

    private func members(_ request: PageRequest) async throws -> (role: String, users: [UserID]) {
        let place = try request.place
        let role = request.parameters["role"] ?? ""
        let members = try await SetRoles(request.cloud).members(in: place.container, place.environment)
        guard let users = members[role] else { throw RequestFailure.endpointNotFound }
        return (role, users.sorted { $0.recordName < $1.recordName })
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let place = try request.place
        let (role, users) = try await members(request)
        let here = try request.containerAddress("schema", "roles", role)
        let rows = users.map { user in
            [
                Part.code(user.recordName),
                request.button("Take the role from \(user.recordName)", to: here, fields: ["user": user.recordName]),
            ]
        }
        let form = SentForm("give", of: request, problem)
        let remove = try request.containerAddress("schema", "remove", query: ["role": role])
        let isDeployed = try await request.cloud.schema(place.container, .production).roles.contains(role)
        return .page(
            title: "Role \(role)", trail: [TrailLink("Schema", try request.containerAddress("schema"))]
        ) {
            Part.section("Users", id: "users") {
                Part.table(
                    caption: "Users with the role in \(place.environment.rawValue)", columns: ["User", "Take"],
                    rows: rows, empty: "No user has the role in \(place.environment.rawValue).")
                form.html(request, to: here, label: "Give the role") {
                    form.text("Person", name: "person", hint: PersonField.hint, isRequired: true, lengthMax: 300)
                    Input.submit("Give the role")
                }
            }
            if place.environment == .development, !isDeployed {
                Tag.p { Part.link("Remove the role…", remove) }
            }
        }
    }
}
