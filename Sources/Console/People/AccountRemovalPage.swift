import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// Asks before an account is removed, and says what goes with it.
struct AccountRemovalPage: FormPage {
    let path = "people/{account}/remove"
    let title = "Remove account"

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let account = try await AccountPage.confirmedAccount(request)
        let keepsRecords = request.form.has("keep")
        let removed = try await request.order(
            "accounts/remove", details: ["account": account.shownID, "records": keepsRecords ? "kept" : "removed"]
        ) {
            try await remove(account, keepsRecords: keepsRecords, request)
        }
        return .redirect(
            Address("people"),
            notice: removed.map {
                "The account is removed, with \($0.records) records and \($0.files) files of \($0.databases) private "
                    + "databases; \($0.shares) shared zones were left."
            } ?? "The account is removed. Its private records stay in the store, and no user can read them.")
    }

    /// Disables the account first, so that its devices save nothing more.
    private func remove(
        _ account: Account, keepsRecords: Bool, _ request: PageRequest
    ) async throws -> RemovedData? {
        let accounts = request.cloud.accountStore.accounts
        defer { request.services.authenticator.forget(account: account.id) }
        var removed: RemovedData?
        if !keepsRecords {
            try await accounts.setDisabled(true, email: account.email)
            request.services.authenticator.forget(account: account.id)
            removed = try await RemoveAccountData(request.cloud).run(ofAccount: account.id)
        }
        try await accounts.remove(email: account.email)
        return removed
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let account = try await AccountPage.account(request)
        let (uses, isComplete) = try await MeasureAccount(request.cloud).run(account.id, containersMax: 50)
        let sessions = try await request.cloud.accountStore.sessions.sessions(of: account).count
        let form = SentForm("remove", of: request, problem)
        let back = AccountPage.address(of: account)
        return .page(
            title: "Remove \(account.email)",
            trail: [TrailLink("People", Address("people")), TrailLink(account.email, back)]
        ) {
            Tag.p("This removes permanently:")
            Tag.ul {
                Tag.li("the account with its keys, and its \(sessions) devices and browsers are signed out")
                uses.map { use in
                    Tag.li {
                        "in "
                        Part.name(use.container.name)
                        ", \(use.environment.rawValue): private records: "
                        Part.number(use.records)
                        ", "
                        Part.bytes(use.recordBytes)
                        "; files: "
                        Part.bytes(use.assetBytes)
                    }
                }
                if !isComplete { Tag.li("the same in further containers") }
                Tag.li("the shares of the account end for all participants, and it leaves the shares of others")
            }
            Tag.p("Records in public databases stay.")
            form.html(request, to: AccountPage.address(of: account, "remove")) {
                AccountPage.confirmation(in: form)
                form.check("Keep the private records in the store; no user can read them", name: "keep")
                Input.submit("Remove the account", isDangerous: true)
            }
            Tag.p { Part.link("Back, change nothing", back) }
        }
    }
}
