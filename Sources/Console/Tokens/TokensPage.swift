import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The API tokens of apps and the keys of servers, of a container and environment.
struct TokensPage: FormPage {
    let path = "containers/{container}/{environment}/tokens"
    let title = "Tokens and keys"
    let navigation: String? = "Tokens"

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let here = try request.containerAddress("tokens")
        switch request.form["order"] {
        case "revoke-token":
            let id = request.form["token"] ?? ""
            guard let row = try await tokens(request).first(where: { $0.id == id && !$0.isRevoked }) else {
                throw FormProblem(nil, "there is no such API token in use")
            }
            try await request.order("tokens/api/revoke", details: ["token": row.id]) {
                _ = try await request.cloud.accountStore.apiTokens.revoke(row.hash)
            }
            request.services.authenticator.forgetAll()
            return .redirect(here, notice: "API token \(row.id) is revoked.")
        case "revoke-key":
            let id = request.form["key"] ?? ""
            guard let key = try await keys(request).first(where: { $0.id == id && !$0.isRevoked }) else {
                throw FormProblem(nil, "there is no such key in use")
            }
            try await request.order("keys/server/revoke", details: ["key": key.id]) {
                _ = try await request.cloud.accountStore.serverKeys.revoke(key.id)
            }
            request.services.authenticator.forgetAll()
            return .redirect(here, notice: "Key \(key.id.prefix(12)) is revoked.")
        default: break
        }
        if request.form[SentForm.idField] == "key" {
            let key = try await addKey(request)
            return .redirect(here, notice: "The key is registered. Its id, which is no secret: \(key.id)")
        }
        return try await page(request, nil, made: try await createToken(request))
    }

    // MARK: Orders

    private func createToken(_ request: PageRequest) async throws -> String {
        let place = try request.place
        let name = try Self.name(request)
        let origins = (request.form["origins"] ?? "").split(whereSeparator: \.isNewline)
            .compactMap { String($0).trimming }
        guard origins.count <= Self.originsMax else {
            throw FormProblem("origins", "a token has at most \(Self.originsMax) origins")
        }
        for origin in origins where !Self.isOrigin(origin) {
            throw FormProblem(
                "origins", "\(origin.prefix(100)) is no origin",
                remedy: "Write it like https://app.example.com, without a path.")
        }
        let callback = request.form["callback"]?.trimming
        if let callback, !Self.isWebAddress(callback) {
            throw FormProblem(
                "callback", "this is no address of a web page", remedy: "It begins with https:// or http://.")
        }
        let made = try await request.order("tokens/api/create") {
            try await request.cloud.accountStore.apiTokens.create(
                container: place.container, environment: place.environment, name: name, allowedOrigins: origins,
                callback: callback)
        }
        return made.token
    }

    private func addKey(_ request: PageRequest) async throws -> ServerKey {
        let place = try request.place
        let name = try Self.name(request)
        let text = request.form["public-key"]?.trimming ?? ""
        guard !text.contains("PRIVATE KEY") else {
            throw FormProblem(
                "public-key", "this is a private key",
                remedy: "It stays on the app's server: paste the public one alone.")
        }
        do {
            return try await request.order("keys/server/create") {
                try await request.cloud.accountStore.serverKeys.add(
                    publicKey: text + "\n", container: place.container, environment: place.environment, name: name)
            }
        } catch is ServerKeyError {
            throw FormProblem(
                "public-key", "this is not a public P-256 key in PEM form",
                remedy: "Make a pair with the commands below, and paste public.pem.")
        }
    }

    private static func name(_ request: PageRequest) throws -> String {
        let name = request.form["name"]?.trimming ?? ""
        guard name.utf8.count <= 100 else {
            throw FormProblem("name", "the name is too long", remedy: "Use at most 100 bytes.")
        }
        return name
    }

    private static let originsMax = 100

    /// Returns whether a text is a scheme, a host and perhaps a port, as browsers send it.
    private static func isOrigin(_ text: String) -> Bool {
        guard isWebAddress(text), let rest = text.firstRange(of: "://").map({ text[$0.upperBound...] }) else {
            return false
        }
        return !rest.isEmpty
            && rest.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || Array(".-:[]".utf8).contains(byte)
            }
    }

    private static func isWebAddress(_ text: String) -> Bool {
        (text.hasPrefix("https://") || text.hasPrefix("http://")) && text.utf8.count <= 2000
            && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
    }

    // MARK: Parts

    private func tokens(_ request: PageRequest) async throws -> [APIToken] {
        let place = try request.place
        return try await request.cloud.accountStore.apiTokens.list().filter {
            $0.container == place.container.name && $0.environment == place.environment.rawValue
        }
    }

    private func keys(_ request: PageRequest) async throws -> [ServerKey] {
        let place = try request.place
        return try await request.cloud.accountStore.serverKeys.list().filter {
            $0.container == place.container.name && $0.environment == place.environment.rawValue
        }
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        try await page(request, problem, made: nil)
    }

    /// - Parameter made: The token that was just created.
    private func page(
        _ request: PageRequest, _ problem: FormProblem?, made: String?
    ) async throws -> PageResponse {
        let here = try request.containerAddress("tokens")
        let tokenRows = try await tokens(request).map { row in
            [
                Part.code(row.id), Part.name(row.name),
                row.allowedOrigins.isEmpty
                    ? HTML("any") : HTML(row.allowedOrigins.flatMap { [Part.name($0), HTML(" ")] }),
                row.callback.map { Part.name($0) } ?? HTML("none"), Part.time(row.created),
                row.isRevoked ? Part.mark("revoked") : Part.mark("in use", .good),
                row.isRevoked
                    ? HTML()
                    : request.button(
                        "Revoke \(row.id)", to: here, fields: ["order": "revoke-token", "token": row.id],
                        isDangerous: true),
            ]
        }
        let keyRows = try await keys(request).map { key in
            [
                Part.code(key.id), Part.name(key.name), Part.code(key.userRecordName), Part.time(key.created),
                key.isRevoked ? Part.mark("revoked") : Part.mark("in use", .good),
                key.isRevoked
                    ? HTML()
                    : request.button(
                        "Revoke \(key.id.prefix(12))", to: here, fields: ["order": "revoke-key", "key": key.id],
                        isDangerous: true),
            ]
        }
        let tokenForm = SentForm("token", of: request, problem, isDone: made != nil)
        let keyForm = SentForm("key", of: request, problem)
        let isOfButton = request.form[SentForm.idField] == nil
        return .page {
            if isOfButton { problem.map { Part.failure($0.failure, requestUUID: request.incoming.uuid) } }
            made.map {
                Part.newSecret(
                    $0, what: "API token", hint: "Apps read it from CLOUDKIT_API_TOKEN or their cloudkit.json.")
            }
            Part.section("API tokens of apps", id: "tokens") {
                Part.table(
                    caption: "API tokens",
                    columns: ["Id", "Name", "Origins", "After signing in", "Created", "State", "Revoke"],
                    rows: tokenRows,
                    empty: "There is no API token; no app reaches the container.")
                Tag.h3("Create an API token")
                tokenForm.html(request, to: here, label: "Create an API token") {
                    tokenForm.text("Name", name: "name", hint: "Its purpose.", lengthMax: 100)
                    tokenForm.text(
                        "Address after signing in", name: "callback",
                        hint: "Browsers are sent there; empty: the page that opened the sign-in gets a message.",
                        lengthMax: 2000)
                    tokenForm.lines(
                        "Origins of web pages", name: "origins",
                        hint: "One a line, such as https://app.example.com. Empty: pages of any origin.", rows: 3)
                    Input.submit("Create API token")
                }
            }
            Part.section("Keys of servers", id: "keys") {
                Part.table(
                    caption: "Server-to-server keys", columns: ["Id", "Name", "User", "Created", "State", "Revoke"],
                    rows: keyRows, empty: "There is no key.")
                Tag.h3("Register a key")
                keyForm.html(request, to: here, label: "Register a key") {
                    keyForm.text("Name", name: "name", hint: "Its purpose.", lengthMax: 100)
                    keyForm.lines(
                        "Public key", name: "public-key",
                        hint: "PEM, P-256. The private one never leaves your server.", rows: 5, isCode: true)
                    Input.submit("Register key")
                }
                Tag.details {
                    Tag.summary("Commands that make a pair of keys")
                    Tag.pre {
                        Tag.code(
                            "openssl ecparam -name prime256v1 -genkey -noout -out key.pem\n"
                                + "openssl ec -in key.pem -pubout -out public.pem")
                    }
                }
            }
        }
    }
}
