import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// One account: its devices, its use of containers, its roles.
struct AccountPage: FormPage {
    let path = "people/{account}"
    let title = "Account"

    /// Containers whose use is shown.
    private static let containersMax = 50

    /// Returns the address of an account's page: by the beginning of its id, as logs name it, since no address of a page should hold
    /// that of a person.
    static func address(of account: Account, _ segment: String? = nil) -> Address {
        Address(segments: ["people", account.shownID] + (segment.map { [$0] } ?? []))
    }

    /// Returns the account that a page is about.
    ///
    /// - Throws: `endpointNotFound` for none.
    static func account(_ request: PageRequest) async throws -> Account {
        let id = request.parameters["account"] ?? ""
        guard let account = try await request.cloud.accountStore.accounts.account(idPrefix: id), account.shownID == id
        else { throw RequestFailure.endpointNotFound }
        return account
    }

    /// Returns the account that a form is about, whose address the operator has written to make sure.
    ///
    /// - Throws: `FormProblem` for another address; `endpointNotFound` for no account.
    static func confirmedAccount(_ request: PageRequest) async throws -> Account {
        let account = try await account(request)
        guard let sent = request.form["address"], EmailAddress(sent)?.normalised == account.email else {
            throw FormProblem("address", "this is not the address of the account")
        }
        return account
    }

    /// Returns the field in which the operator writes the account's address to make sure.
    static func confirmation(in form: SentForm) -> HTML {
        form.text(
            "Address of the account", name: "address", hint: "To make sure, write the address.", isRequired: true,
            lengthMax: 254)
    }

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let account = try await Self.account(request)
        let store = request.cloud.accountStore
        let notice: String
        switch request.form["order"] {
        case "operator": notice = try await setOperator(account, request)
        case "add-phone": notice = try await addPhoneNumber(account, request)
        case "remove-phone":
            let number = request.form["number"] ?? ""
            guard account.phoneNumbers.contains(number) else {
                throw FormProblem(nil, "the account has no such number, or it was removed meanwhile")
            }
            try await request.order("accounts/phone/remove", details: ["account": account.shownID]) {
                try await store.accounts.removePhoneNumber(number, email: account.email)
            }
            notice = "The phone number is removed. Invitations that were accepted stay so."
        case "sign-out":
            let id = request.form["device"] ?? ""
            let sessions = try await store.sessions.sessions(of: account)
            guard let session = sessions.first(where: { $0.id == id }) else {
                throw FormProblem(nil, "the account has no such device, or it was signed out meanwhile")
            }
            try await request.order("devices/revoke", details: ["account": account.shownID]) {
                _ = try await store.sessions.revoke(session.id, ofAccount: account.id)
            }
            notice = "\(session.name) is signed out."
        case "disable", "enable":
            let isDisabled = request.form["order"] == "disable"
            try await request.order(
                isDisabled ? "accounts/disable" : "accounts/enable", details: ["account": account.shownID]
            ) {
                try await store.accounts.setDisabled(isDisabled, email: account.email)
            }
            notice =
                isDisabled
                ? "The account is disabled: its devices and browsers are refused, its data stays."
                : "The account is enabled."
        default: throw RequestFailure(.badRequest, "the form is not one of this page")
        }
        request.services.authenticator.forget(account: account.id)
        return .redirect(Self.address(of: account), notice: notice)
    }

    private func addPhoneNumber(_ account: Account, _ request: PageRequest) async throws -> String {
        let text = request.form["number"]?.trimming ?? ""
        do {
            try await request.order("accounts/phone/add", details: ["account": account.shownID]) {
                _ = try await request.cloud.accountStore.accounts.addPhoneNumber(text, email: account.email)
            }
        } catch AccountError.phoneNumberInvalid {
            throw FormProblem(
                "number", "this is not a phone number with its country code", remedy: "Write it like +44 1632 960083.")
        } catch AccountError.phoneNumberTaken {
            throw FormProblem("number", "another account has this number", remedy: "Remove it there first.")
        } catch AccountError.tooManyPhoneNumbers {
            throw FormProblem(
                "number", "the account has \(Accounts.phoneNumbersMax) phone numbers", remedy: "Remove one first.")
        }
        return "The phone number is added: invitations to it can be accepted."
    }

    /// Gives the account the role of an operator, or takes it away.
    private func setOperator(_ account: Account, _ request: PageRequest) async throws -> String {
        let scope = request.form["scope"]
        var container: ContainerID?
        if scope == "container" {
            guard let name = request.form["container"]?.trimming, ContainerPath.isContainerName(name) else {
                throw FormProblem("container", "name the container", remedy: "Write it like iCloud.com.example.app.")
            }
            container = ContainerID(name)
        }
        let isOperator = scope == "all" || container != nil
        let only = container
        try await request.order(
            "accounts/operator",
            details: ["account": account.shownID, "role": only?.name ?? (isOperator ? "all" : "none")]
        ) {
            try await request.cloud.accountStore.operatorAccounts.set(
                isOperator, email: account.email, container: only)
        }
        guard isOperator else { return "The account is no operator's." }
        return "The account is an operator's, \(only.map { "of \($0.name)" } ?? "of the whole cloud")."
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let account = try await Self.account(request)
        let store = request.cloud.accountStore
        let here = Self.address(of: account)
        let sessions = try await store.sessions.sessions(of: account)
        let containers = try await ListContainers(request.cloud).run().map(\.name)
        let roleForm = SentForm("operator", of: request, problem)
        let role = try await store.operatorAccounts.list().first { $0.account.id == account.id }?.role
        let (uses, isComplete) = try await MeasureAccount(request.cloud).run(
            account.id, containersMax: Self.containersMax)
        return .page(title: account.email, trail: [TrailLink("People", Address("people"))]) {
            if request.form[SentForm.idField] == nil {
                problem.map { Part.failure($0.failure, requestUUID: request.incoming.uuid) }
            }
            Part.facts(facts(account, role))
            Part.section("Devices and browsers", id: "devices") {
                Part.table(
                    caption: "Signed in", columns: ["Name", "Kind", "Since", "Until", "Keys", "Sign out"],
                    rows: sessions.map { row(of: $0, account, here: here, request) },
                    empty: "The account is not signed in anywhere.")
            }
            Part.section("Use of containers", id: "use") {
                Part.table(
                    caption: "Private databases, and roles",
                    columns: ["Container", "Environment", "User", "Records", "Files", "Quota", "Custom roles"],
                    rows: uses.map { row(of: $0) }, empty: "The account has nothing stored, and no role.")
                if !isComplete { Tag.p("Shown are the first \(Self.containersMax) containers.") }
            }
            Part.section("Phone numbers", id: "phones") { phoneNumbers(account, here: here, request, problem) }
            Part.section("Operator", id: "operator") {
                roleForm.html(request, to: here) {
                    Input.hidden("order", "operator")
                    roleForm.choice(
                        "Role", name: "scope",
                        options: [
                            ("none", "no operator"), ("container", "operator of one container"),
                            ("all", "operator of the whole cloud"),
                        ], selected: role.map { $0.container == nil ? "all" : "container" } ?? "none",
                        hint: "An operator signs in to the Console with the account's password.")
                    roleForm.text(
                        "Container", name: "container", value: role?.container ?? "",
                        hint: "For an operator of one container.", suggestions: containers, lengthMax: 255)
                    Input.submit("Set the role")
                }
            }
            Part.section("Access", id: "access") {
                if account.isDisabled {
                    request.button("Enable the account", to: here, fields: ["order": "enable"])
                } else {
                    Tag.p(
                        .class("quiet"),
                        text:
                            "A disabled account keeps its data; its devices and browsers are refused until it is enabled."
                    )
                    request.button(
                        "Disable the account", to: here, fields: ["order": "disable"], isDangerous: true)
                }
                Tag.p { Part.link("Reset the keys of encrypted data…", Self.address(of: account, "reset-keys")) }
                Tag.p { Part.link("Remove the account…", Self.address(of: account, "remove")) }
            }
        }
    }

    private func phoneNumbers(
        _ account: Account, here: Address, _ request: PageRequest, _ problem: FormProblem?
    ) -> HTML {
        let form = SentForm("phone", of: request, problem)
        return HTML([
            Part.table(
                caption: "Phone numbers", columns: ["Number", "Remove"],
                rows: account.phoneNumbers.map { number in
                    [
                        Part.name(number),
                        request.button(
                            "Remove \(number)", to: here, fields: ["order": "remove-phone", "number": number]),
                    ]
                }, empty: "The account has no phone number."),
            form.html(request, to: here, label: "Add a phone number") {
                Input.hidden("order", "add-phone")
                form.text(
                    "Number", name: "number",
                    hint: "With its country code. The cloud sends no messages: verify before that it is the person's.",
                    isRequired: true, lengthMax: 40)
                Input.submit("Add the number")
            },
        ])
    }

    private func facts(_ account: Account, _ role: OperatorAccount?) -> [(name: String, value: HTML)] {
        var facts: [(name: String, value: HTML)] = [
            ("Name", account.name.isEmpty ? Tag.span(.class("quiet"), text: "none") : Part.name(account.name)),
            ("State", AccountText.state(of: account)),
            ("Created", Part.time(account.created)),
            ("Id in logs", Part.code(account.shownID)),
            (
                "Keys of encrypted data",
                HTML(
                    account.keychainGeneration == 0
                        ? "none yet: the first device makes them"
                        : account.keychainGeneration == 1
                            ? "made once" : "reset \(account.keychainGeneration - 1) times")
            ),
            ("Found by other users", HTML(account.isDiscoverable == true ? "yes" : "no")),
        ]
        if let role {
            facts.append(("Operator", role.container.map { Part.name("of \($0)") } ?? HTML("of the whole cloud")))
        }
        return facts
    }

    private func row(
        of session: DeviceSession, _ account: Account, here: Address, _ request: PageRequest
    ) -> [HTML] {
        [
            Part.name(session.name), HTML(session.isBrowser ? "browser" : "device"), Part.time(session.created),
            Part.time(session.expires),
            session.isBrowser
                ? HTML("none")
                : session.isOutdated(for: account) ? Part.mark("outdated", .warn) : Part.mark("current", .good),
            request.button("Sign out \(session.name)", to: here, fields: ["order": "sign-out", "device": session.id]),
        ]
    }

    private func row(of use: AccountUse) -> [HTML] {
        let used = use.recordBytes.addingReportingOverflow(use.assetBytes).partialValue
        let quota = use.quotaBytes.map { bytes -> HTML in
            HTML([
                Part.bytes(used), HTML(" of "), Part.bytes(bytes), HTML(" "),
                used >= bytes ? Part.mark("full", .bad) : HTML(),
            ])
        }
        return [
            Part.link(use.container.name, Address("containers", use.container.name, use.environment.rawValue)),
            Part.mark(use.environment.rawValue, use.environment == .production ? .warn : .quiet),
            Part.code(use.user.recordName),
            HTML([
                Part.number(use.records), HTML(use.records == 1 ? " record, " : " records, "),
                Part.bytes(use.recordBytes),
            ]), Part.bytes(use.assetBytes),
            quota ?? HTML("no limit"), use.roles.isEmpty ? HTML("none") : Part.name(use.roles.joined(separator: ", ")),
        ]
    }
}
