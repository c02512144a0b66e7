import CloudKitAccounts
import CloudKitHTTP
import CloudKitServer

/// The accounts of the cloud, a page at a time.
struct PeoplePage: ConsolePage {
    let path = "people"
    let title = "People"
    let navigation: String? = "People"

    /// Accounts on a page.
    private static let accountsMax = 50

    func show(_ request: PageRequest) async throws -> PageResponse { try await page(request, prefix: "", after: nil) }

    /// Finds accounts. Searches are forms, so that no address of a page has that of a person.
    func submit(_ request: PageRequest) async throws -> PageResponse {
        var last: Account?
        if let id = request.form["after"] {
            last = try await request.cloud.accountStore.accounts.account(idPrefix: id)
        }
        return try await page(request, prefix: request.form["address"]?.trimming ?? "", after: last?.email)
    }

    private func page(_ request: PageRequest, prefix: String, after: String?) async throws -> PageResponse {
        let accounts = request.cloud.accountStore.accounts
        let found = try await accounts.page(prefix: prefix, after: after, limit: Self.accountsMax + 1)
        let shown = found.prefix(Self.accountsMax)
        var rows: [[HTML]] = []
        for account in shown {
            let sessions = try await request.cloud.accountStore.sessions.sessions(of: account)
            let devices = sessions.filter { !$0.isBrowser }.count
            rows.append([
                Part.link(account.email, AccountPage.address(of: account)),
                account.name.isEmpty ? HTML("none") : Part.name(account.name),
                Part.time(account.created), AccountText.state(of: account),
                HTML("\(devices) \(devices == 1 ? "device" : "devices"), \(sessions.count - devices) in browsers"),
            ])
        }
        return .page {
            request.postForm(to: Address("people"), label: "Find accounts") {
                Input.text("Address begins with", name: "address", value: prefix, lengthMax: 254)
                Input.submit("Find")
            }
            Part.table(
                caption: prefix.isEmpty ? "Accounts, by their addresses" : "Accounts whose address begins so",
                columns: ["Address", "Name", "Created", "State", "Signed in"], rows: rows,
                empty: prefix.isEmpty
                    ? "There is no account yet. Create one with: welkin account add EMAIL"
                    : "No account has an address that begins so.")
            if found.count > shown.count, let last = shown.last {
                request.button(
                    "More accounts", to: Address("people"), fields: ["address": prefix, "after": last.shownID])
            }
        }
    }
}

/// Accounts in words.
enum AccountText {
    /// Returns whether an account can be used.
    static func state(of account: Account) -> HTML {
        if account.isDisabled { return Part.mark("disabled", .bad) }
        return account.isResettingKeys ? Part.mark("resetting keys", .warn) : Part.mark("active", .good)
    }
}
