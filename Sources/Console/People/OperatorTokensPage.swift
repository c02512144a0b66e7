import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The tokens of operators: of the whole cloud, and those of one container, which developers use as management tokens.
struct OperatorTokensPage: FormPage {
    let path = "operators"
    let title = "Operators' tokens"
    let navigation: String? = "Operators"

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let tokens = request.cloud.accountStore.operatorTokens
        if request.form["order"] == "revoke" {
            let id = request.form["token"] ?? ""
            guard let row = try await tokens.list().first(where: { $0.id == id && !$0.isRevoked }) else {
                throw FormProblem(nil, "there is no such token in use")
            }
            guard row.id != request.operator.id || request.isConfirmed else {
                return request.confirmation(
                    "Revoke your own token", button: "Revoke it and sign me out", to: Address("operators"),
                    back: Address("operators")
                ) {
                    Tag.p("You are signed in with this token. You and everything else that uses it are signed out.")
                }
            }
            try await request.order("tokens/operator/revoke", details: ["token": row.id]) {
                _ = try await tokens.revoke(row.hash)
            }
            return .redirect(Address("operators"), notice: "Token \(row.id) is revoked.")
        }
        let name = request.form["name"]?.trimming ?? ""
        guard name.utf8.count <= 100 else {
            throw FormProblem("name", "the name is too long", remedy: "Use at most 100 bytes.")
        }
        let container = request.form["container"]?.trimming
        if let container, !ContainerPath.isContainerName(container) {
            throw FormProblem(
                "container", "this is no name of a container",
                remedy: "Use 1 to 255 letters, digits, dots, hyphens and underscores.")
        }
        let made = try await request.order(
            "tokens/operator/create", details: container.map { ["for": $0] } ?? [:]
        ) {
            try await tokens.create(name: name, container: container.map { ContainerID($0) })
        }
        return try await page(request, nil, made: made.token)
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        try await page(request, problem, made: nil)
    }

    /// - Parameter made: The token that was just created.
    private func page(
        _ request: PageRequest, _ problem: FormProblem?, made: String?
    ) async throws -> PageResponse {
        let rows = try await request.cloud.accountStore.operatorTokens.list().map { row in
            [
                Part.code(row.id), Part.name(row.name),
                row.container.map { Part.name($0) } ?? HTML("the whole cloud"), Part.time(row.created),
                row.isRevoked ? Part.mark("revoked") : Part.mark("in use", .good),
                row.isRevoked
                    ? HTML()
                    : request.button(
                        "Revoke \(row.id)", to: Address("operators"), fields: ["order": "revoke", "token": row.id],
                        isDangerous: true),
            ]
        }
        let containers = try await ListContainers(request.cloud).run().map(\.name)
        let roles = try await request.cloud.accountStore.operatorAccounts.list().map { account, role in
            [
                Part.link(account.email, AccountPage.address(of: account)),
                role.container.map { Part.name($0) } ?? HTML("the whole cloud"),
            ]
        }
        let form = SentForm("create", of: request, problem, isDone: made != nil)
        return .page {
            made.map {
                Part.newSecret(
                    $0, what: "Operator's token",
                    hint: "Sign in here with it; programs send it as Authorization: Bearer, and cktool saves it as a "
                        + "management token.")
            }
            Part.table(
                caption: "Tokens", columns: ["Id", "Name", "For", "Created", "State", "Revoke"], rows: rows)
            Part.section("Create a token", id: "create") {
                form.html(request, to: Address("operators")) {
                    form.text("Name", name: "name", hint: "Its purpose, such as whose browser.", lengthMax: 100)
                    form.text(
                        "Only for the container", name: "container",
                        hint: "Empty: for the whole cloud. A token of one container is a developer's management token.",
                        suggestions: containers, lengthMax: 255)
                    Input.submit("Create token")
                }
            }
            if !roles.isEmpty {
                Part.section("Accounts with an operator's role", id: "accounts") {
                    Part.table(caption: "Accounts", columns: ["Account", "For"], rows: roles)
                }
            }
        }
    }
}
