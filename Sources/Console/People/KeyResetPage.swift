import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// Asks before the keys of an account's encrypted data are removed.
struct KeyResetPage: FormPage {
    let path = "people/{account}/reset-keys"
    let title = "Reset keys"

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let account = try await AccountPage.confirmedAccount(request)
        try await request.order("accounts/keys/reset", details: ["account": account.shownID]) {
            try await request.cloud.accountStore.keychains(request.services.proofLimiter).reset(email: account.email)
            try await FinishKeyResets(request.cloud).run()
        }
        request.services.authenticator.forget(account: account.id)
        return .redirect(
            AccountPage.address(of: account),
            notice:
                "The keys are removed. The devices of the account have to sign in again; the first one makes new keys.")
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let account = try await AccountPage.account(request)
        let devices = try await request.cloud.accountStore.sessions.sessions(of: account).count { !$0.isBrowser }
        let form = SentForm("reset-keys", of: request, problem)
        let back = AccountPage.address(of: account)
        return .page(
            title: "Reset the keys of \(account.email)",
            trail: [TrailLink("People", Address("people")), TrailLink(account.email, back)]
        ) {
            Tag.p("This removes the account's keychain, as if all its devices and recovery words were lost:")
            Tag.ul {
                Tag.li("what is encrypted in its private databases becomes unreadable permanently, for everyone")
                Tag.li(
                    "zones with encrypted fields or assets report the reset until an app deletes and saves them again")
                Tag.li("\(devices) devices have to sign in again, and the first one makes new keys")
            }
            form.html(request, to: AccountPage.address(of: account, "reset-keys")) {
                AccountPage.confirmation(in: form)
                Input.submit("Reset the keys", isDangerous: true)
            }
            Tag.p { Part.link("Back, change nothing", back) }
        }
    }
}
