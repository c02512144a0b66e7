import ArgumentParser
import CloudKitAccounts

/// Manages the invitations to make an account.
struct InvitationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invitation", abstract: "Manage invitations to make an account, also where sign-up is closed.",
        discussion: """
            An invitation is a link. People open it in a browser, or run: welkin sign-up --invitation LINK. See docs/account.md. A running \
            cloud applies changes at once.
            """,
        subcommands: [AddInvitationCommand.self, ListInvitationsCommand.self, RemoveInvitationCommand.self])
}

struct AddInvitationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Make an invitation and print its link.",
        discussion: "The link is printed once; the cloud stores only a hash of its code.")

    @OptionGroup var folder: DataOptions
    @Option(help: ArgumentHelp("The only address that may use it; any if omitted.", valueName: "address"))
    var email: String?
    @Option(help: "The accounts that it makes at most.") var uses: Int = 1
    @Option(help: "The days for which it is valid.") var days: Int = 14
    @Option(
        help: ArgumentHelp(
            "The address of the cloud in the link; that of the cloud's settings if omitted.", valueName: "url"))
    var publicURL: String?
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (1...AccountInvitations.usesMax).contains(uses) else {
            throw ValidationError("--uses is 1 to \(AccountInvitations.usesMax).")
        }
        guard (1...AccountInvitations.daysMax).contains(days) else {
            throw ValidationError("--days is 1 to \(AccountInvitations.daysMax).")
        }
        guard email == nil || uses == 1 else {
            throw ValidationError("An invitation of one address makes one account; leave --uses out.")
        }
        if let publicURL, !publicURL.hasPrefix("http://"), !publicURL.hasPrefix("https://") {
            throw ValidationError("--public-url begins with http:// or https://.")
        }
    }

    func run() async throws {
        let endpoint = try publicURL ?? CloudSettings().publicURL
        let (code, row) = try await DataFolder.with(folder) { folder in
            try await folder.order("invitations/create", noting: { ["invitation": $0.row.id] }) {
                try await folder.accountStore.invitations.create(email: email, uses: uses, days: days)
            }
        }
        let link = InvitationLink(
            endpoint: endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint, code: code)
        if json { return try Output.json(InvitationLine(row, at: row.created, link: link.text)) }
        Output.result(link.text)
        Output.remark(
            "Invitation \(row.id) for \(row.email ?? "any address"), \(row.usesMax == 1 ? "one account" : "\(row.usesMax) accounts"), "
                + "until \(Output.time(row.expires)). It is not shown again: send it to the person.")
    }
}

struct ListInvitationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the invitations.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let lines = try await DataFolder.with(folder) { folder in
            let now = folder.serverEnvironment.now()
            return try await folder.accountStore.invitations.list().map { InvitationLine($0, at: now) }
        }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else { return Output.remark("No invitations. Make one with: welkin invitation add") }
        Output.table(
            [["ID", "EMAIL", "USED", "CREATED", "UNTIL", "STATE"]]
                + lines.map {
                    [
                        $0.id, $0.email ?? "any", "\($0.uses)/\($0.usesMax)", Output.time($0.created),
                        Output.time($0.expires), $0.state,
                    ]
                })
    }
}

struct RemoveInvitationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove an invitation; the accounts that it made stay.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The invitation's id, its first digits, or the link itself.") var invitation: String

    func run() async throws {
        let removed = try await DataFolder.with(folder) { folder in
            try await folder.order(
                "invitations/remove", noting: { ["invitation": $0.map(\.id).joined(separator: " ")] }
            ) {
                try await folder.accountStore.invitations.remove(InvitationLink(invitation).code)
            }
        }
        try RevocationError.check(removed.map(\.id), kind: "invitation", list: "welkin invitation list")
        Output.result("Invitation \(removed[0].id) removed.")
    }
}

/// The row of an invitation in the list.
struct InvitationLine: Encodable {
    var id: String
    var email: String?
    var uses: Int
    var usesMax: Int
    var created: Int64
    var expires: Int64
    /// `open`, `used` or `expired`.
    var state: String
    var link: String?

    init(_ row: AccountInvitation, at now: Int64, link: String? = nil) {
        id = row.id
        email = row.email
        uses = row.uses
        usesMax = row.usesMax
        created = row.created
        expires = row.expires
        state = row.state(at: now).rawValue
        self.link = link
    }
}
