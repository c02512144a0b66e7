import ArgumentParser
import CloudKitAccounts
import Foundation
import HTTPTransfer

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
        commandName: "add", abstract: "Make an invitation, or invite the people of a list.",
        discussion: """
            Invitations of an address are mailed to it where the cloud's settings name a mail server (smtp-url), and printed otherwise. \
            A link is printed once; the cloud stores only a hash of its code. A list is CSV with the columns email and, if wanted, name, group \
            and quota, or JSON Lines with these keys. People of a list who have an account or an invitation get no other one: their group and \
            quota become those of the list. Nothing is done if a line is wrong.
            """)

    @OptionGroup var folder: DataOptions
    @Option(help: ArgumentHelp("The only address that may use it; any if omitted.", valueName: "address"))
    var email: String?
    @Option(help: ArgumentHelp("Invite everyone in a list; - is standard input.", valueName: "file"))
    var file: String?
    @Option(help: "The accounts that it makes at most.") var uses: Int = 1
    @Option(help: "The days for which it is valid.") var days: Int = 14
    @Option(help: ArgumentHelp("The group of the accounts, where a list names none.", valueName: "name"))
    var group: AccountGroup?
    @Option(help: "The quota of the accounts, where a list names none: bytes, none or default.")
    var quota: AccountQuota?
    @Option(
        help: ArgumentHelp(
            "The address of the cloud in the link; that of the cloud's settings if omitted.", valueName: "url"))
    var publicURL: String?
    @Flag(help: "With --file: new links, in place of earlier ones, for those who are invited and have no account.")
    var again = false
    @Flag(help: "With --file: show what would be done, and change nothing.") var dryRun = false
    @Flag(help: "Print links, also where the cloud sends mail.") var noMail = false
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (1...AccountInvitations.usesMax).contains(uses) else {
            throw ValidationError("--uses is 1 to \(AccountInvitations.usesMax).")
        }
        guard (1...AccountInvitations.daysMax).contains(days) else {
            throw ValidationError("--days is 1 to \(AccountInvitations.daysMax).")
        }
        guard uses == 1 || (email == nil && file == nil) else {
            throw ValidationError("An invitation of one address makes one account; leave --uses out.")
        }
        guard email == nil || file == nil else { throw ValidationError("Give --email or --file, not both.") }
        guard file != nil || (!again && !dryRun) else { throw ValidationError("--again and --dry-run go with --file.") }
        if let publicURL, !publicURL.hasPrefix("http://"), !publicURL.hasPrefix("https://") {
            throw ValidationError("--public-url begins with http:// or https://.")
        }
    }

    func run() async throws {
        let settings = try CloudSettings()
        let given = publicURL ?? settings.publicURL
        let endpoint = given.hasSuffix("/") ? String(given.dropLast()) : given
        let server = noMail || (email == nil && file == nil) ? nil : try settings.mailServer()
        let mail = server.map { InvitationMail(client: MailClient($0), endpoint: endpoint, days: days) }
        if let file { return try await invite(try people(of: file), endpoint, mail) }
        let plan = AccountPlan(group: group, quota: quota)
        let (code, row) = try await DataFolder.with(folder) { folder in
            let invitations = folder.accountStore.invitations
            let made = try await folder.order("invitations/create", noting: { ["invitation": $0.row.id] }) {
                try await invitations.create(email: email, uses: uses, days: days, plan: plan, isMailed: mail != nil)
            }
            if let problem = await mail?.send(code: made.code, made.row) {
                _ = try await invitations.remove(made.row.hash)
                throw CommandFailure("nobody was invited: \(problem). Print the link with --no-mail.")
            }
            return made
        }
        let link = mail == nil ? InvitationLink(endpoint: endpoint, code: code).text : nil
        if json { return try Output.json(InvitationLine(row, at: row.created, link: link)) }
        if let link { Output.result(link) }
        Output.remark(
            "Invitation \(row.id) for \(row.email ?? "any address"), \(row.usesMax == 1 ? "one account" : "\(row.usesMax) accounts"), "
                + "until \(Output.time(row.expires)). "
                + (link == nil ? "It was mailed." : "It is not shown again: send it to the person."))
    }

    /// Returns the people of a list, with the group and quota of the command where it names none.
    private func people(of file: String) throws -> [PeopleFile.Line] {
        let data =
            file == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: file)
        guard let data else { throw CommandFailure("the file \(file) cannot be read") }
        guard let text = String(bytes: data, encoding: .utf8) else {
            throw CommandFailure("the file \(file) is not UTF-8")
        }
        do {
            return try PeopleFile(text).lines.map { line in
                var line = line
                line.person.plan.group = line.person.plan.group ?? group
                line.person.plan.quota = line.person.plan.quota ?? quota
                return line
            }
        } catch { throw CommandFailure("\(file), \(error)") }
    }

    private func invite(_ people: [PeopleFile.Line], _ endpoint: String, _ mail: InvitationMail?) async throws {
        let lines = try await DataFolder.with(folder) { folder in
            let invitations = folder.accountStore.invitations
            func invite() async throws -> [AccountInvitations.Outcome] {
                try await invitations.invite(
                    people.map(\.person), days: days, isRepeated: again, isDryRun: dryRun, isMailed: mail != nil)
            }
            let outcomes =
                if dryRun {
                    try await invite()
                } else {
                    try await folder.order("invitations/list", details: ["people": String(people.count)]) {
                        try await invite()
                    }
                }
            var lines = zip(people, outcomes).map { InvitedLine($0, $1, endpoint: dryRun ? nil : endpoint) }
            guard let mail, !dryRun else { return lines }
            for (index, outcome) in outcomes.enumerated() {
                guard case .invited(let code, let row) = outcome else { continue }
                lines[index].link = nil
                guard let problem = await mail.send(code: code, row) else { continue }
                _ = try await invitations.remove(row.hash)
                lines[index].state = .mailFailed
                Output.remark("line \(lines[index].line): \(problem)")
            }
            return lines
        }
        if json {
            try Output.json(lines)
        } else {
            Output.table(
                [["LINE", "EMAIL", "STATE", "LINK"]]
                    + lines.map { [String($0.line), $0.email, $0.state.rawValue, $0.link ?? "-"] })
        }
        let invited = lines.count { $0.state == .invited }
        Output.remark(
            dryRun
                ? "Nothing was changed. Without --dry-run, \(invited) of \(lines.count) people would be invited."
                : "\(invited) of \(lines.count) people were invited. "
                    + (mail == nil ? "Links are not shown again: send each to its person." : "Their links were mailed.")
        )
        let failed = lines.count { $0.state == .mailFailed }
        guard failed == 0 else {
            throw CommandFailure("\(failed) people were not invited, since no mail left; repeat the command for them")
        }
    }
}

/// Mails the links of invitations.
private struct InvitationMail {
    var client: MailClient
    /// The address of the cloud.
    var endpoint: String
    var days: Int

    /// Mails a link to the address that it is for.
    ///
    /// - Returns: The reason why it was not sent.
    func send(code: String, _ row: AccountInvitation) async -> String? {
        guard let receiver = row.email else { return "the invitation has no address" }
        do {
            try await SMTPDelivery(client: client, now: DataFolder.now).send(
                .invitation(
                    InvitationLink(endpoint: endpoint, code: code).text, to: receiver, cloud: endpoint, days: days))
            return nil
        } catch { return String(describing: error) }
    }
}

/// What became of a person in a list.
private struct InvitedLine: Encodable {
    enum State: String, Encodable {
        case invited = "invited"
        case invitedBefore = "invited before"
        case invitationChanged = "invitation changed"
        case account = "has an account"
        case accountChanged = "account changed"
        case mailFailed = "mail failed"
    }

    var line: Int
    var email: String
    var state: State
    var link: String?

    init(_ line: PeopleFile.Line, _ outcome: AccountInvitations.Outcome, endpoint: String?) {
        self.line = line.number
        email = line.person.email.normalised
        switch outcome {
        case .account(let isChanged): state = isChanged ? .accountChanged : .account
        case .invitedBefore(_, let isChanged): state = isChanged ? .invitationChanged : .invitedBefore
        case .invited(let code, _):
            state = .invited
            link = endpoint.map { InvitationLink(endpoint: $0, code: code).text }
        }
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
        Output.table([["ID", "EMAIL", "USED", "CREATED", "UNTIL", "STATE", "GROUP"]] + lines.map(\.cells))
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
    var group: String?
    var quota: String?
    var link: String?

    init(_ row: AccountInvitation, at now: Int64, link: String? = nil) {
        id = row.id
        email = row.email
        uses = row.uses
        usesMax = row.usesMax
        created = row.created
        expires = row.expires
        state = row.state(at: now).rawValue
        group = row.group
        quota = row.quota?.argument
        self.link = link
    }

    /// The row of the table.
    var cells: [String] {
        let times = [Output.time(created), Output.time(expires)]
        return [id, email ?? "any", "\(uses)/\(usesMax)"] + times + [state, group ?? "-"]
    }
}
