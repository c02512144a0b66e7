import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The faults of a container in development: those that are active, and forms that order others.
struct FaultsPage: FormPage {
    let path = "containers/{container}/{environment}/faults"
    let title = "Faults"
    let navigation: String? = "Faults"

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let place = try request.place
        let kind = request.form[SentForm.idField] ?? ""
        let order = try FaultForm(request).order(kind)
        if order.concernsAccount, request.operator.scope != .all {
            throw RequestFailure(
                .accessDenied, "accounts are for operators of the whole cloud",
                remedy: "Ask one of them.")
        }
        if let question = FaultForm.question(order), !request.isConfirmed {
            return request.confirmation(
                question.title, button: question.button, to: try request.containerAddress("faults"),
                back: try request.containerAddress("faults")
            ) {
                Tag.p(question.text)
            }
        }
        let receipt: FaultOutcome
        do {
            receipt = try await request.order("faults/\(kind)") {
                try await RunFaultOrder(request.cloud).run(order, in: place.container, place.environment)
            }
        } catch let failure as RequestFailure {
            throw FormProblem(failure, field: FaultForm.field(of: failure, kind))
        }
        if let account = receipt.account { request.services.authenticator.forget(account: account) }
        return .redirect(try request.containerAddress("faults"), notice: FaultForm.notice(order, receipt))
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let place = try request.place
        guard place.environment == .development else {
            return .page {
                Tag.p("Faults are ordered in development only: production is never affected.")
                Tag.p {
                    Part.link(
                        "Faults of development",
                        Address("containers", place.container.name, Environment.development.rawValue, "faults"))
                }
            }
        }
        let here = try request.containerAddress("faults")
        let faults = try await ListFaults(request.cloud).run(in: place.container)
        let rows = faults.map { fault in
            [
                Part.code(fault.id), HTML(fault.kind.rawValue), fault.user.map { Part.code($0) } ?? HTML("all users"),
                fault.until.map { Part.time($0) } ?? HTML("until it is removed"),
                fault.bytes.map { Part.bytes($0) } ?? HTML(), HTML(fault.sendsRetryAfter ? "yes" : "no"),
                fault.container == nil
                    ? HTML("in all containers")
                    : request.button(
                        "Remove \(fault.id)", to: here, fields: [SentForm.idField: "remove", "id": fault.id]),
            ]
        }
        let isOfButton = ["remove", "remove-all"].contains(request.form[SentForm.idField] ?? "")
        let hasOwn = faults.contains { $0.container != nil }
        return .page {
            Tag.p(
                .class("quiet"),
                text:
                    "Faults let you see how an app reacts. They act on requests in development within a second, and never in "
                    + "production.")
            if isOfButton { problem.map { Part.failure($0.failure, requestUUID: request.incoming.uuid) } }
            Part.section("Active faults", id: "active") {
                Part.table(
                    caption: "Active faults",
                    columns: ["Id", "Kind", "User", "Until", "Bytes", "Retry-After", "Remove"],
                    rows: rows, empty: "No fault is active.")
                if hasOwn {
                    request.button("Remove all faults", to: here, fields: [SentForm.idField: "remove-all"])
                }
            }
            Self.forms(request, problem, to: here)
        }
    }

    private static func forms(_ request: PageRequest, _ problem: FormProblem?, to here: Address) -> HTML {
        let order = SentForm("order", of: request, problem)
        let expire = SentForm("expire-tokens", of: request, problem)
        let compact = SentForm("compact", of: request, problem)
        let purge = SentForm("purge", of: request, problem)
        let keys = SentForm("reset-keys", of: request, problem)
        let keychain = SentForm("reset-keychain", of: request, problem)
        let device = SentForm("sign-out", of: request, problem)
        return HTML([
            Part.section("Make requests fail, or limit a quota", id: "order") {
                order.html(request, to: here) {
                    order.choice(
                        "Kind", name: "kind", options: FaultForm.kinds,
                        hint: "throttle answers 429, unavailable 503.")
                    person(order, isRequired: false)
                    order.text(
                        "Seconds", name: "seconds", hint: "Empty: until the fault is removed. At most a year.",
                        lengthMax: 20)
                    order.text(
                        "Bytes", name: "bytes", hint: "For a quota: what the private database may hold.", lengthMax: 20)
                    order.check("Say in refusals how long to wait (Retry-After)", name: "retry-after", isChecked: true)
                    Input.submit("Order the fault")
                }
            },
            Part.section("Expire change tokens", id: "expire") {
                expire.html(request, to: here) {
                    person(expire)
                    zone(expire, hint: "Empty: the tokens of the database's feed.", isRequired: false)
                    Input.submit("Expire change tokens")
                }
            },
            Part.section("Forget deletions of a zone", id: "compact") {
                Tag.p(
                    .class("quiet"),
                    text: "As happens over time: tokens from before the last deletion get changeTokenExpired.")
                compact.html(request, to: here) {
                    person(compact)
                    zone(compact)
                    Input.submit("Forget deletions")
                }
            },
            Part.section("Purge a zone", id: "purge") {
                Tag.p(.class("quiet"), text: "As a user does in the system's settings: userDeletedZone.")
                purge.html(request, to: here) {
                    person(purge)
                    zone(purge)
                    Input.submit("Purge the zone…", isDangerous: true)
                }
            },
            Part.section("Lose keys of zones", id: "reset-keys") {
                Tag.p(.class("quiet"), text: "zoneNotFound with CKErrorUserDidResetEncryptedDataKey.")
                keys.html(request, to: here) {
                    person(keys)
                    zone(keys, hint: "Empty: every zone that may hold encrypted data.", isRequired: false)
                    Input.submit("Lose the keys…", isDangerous: true)
                }
            },
            request.operator.scope == .all
                ? HTML([
                    Part.section("Remove the keychain of an account", id: "reset-keychain") {
                        Tag.p(
                            .class("quiet"),
                            text:
                                "As if all devices and recovery words were lost. Not for accounts that a container in production "
                                + "knows.")
                        keychain.html(request, to: here) {
                            person(keychain)
                            Input.submit("Remove the keychain…", isDangerous: true)
                        }
                    },
                    Part.section("Sign out a device", id: "sign-out") {
                        device.html(request, to: here) {
                            person(device)
                            device.text(
                                "Device", name: "device", hint: "Its id, or the first digits.", isRequired: true,
                                lengthMax: 64)
                            Input.submit("Sign out")
                        }
                    },
                ]) : HTML(),
        ])
    }

    private static func person(_ form: SentForm, isRequired: Bool = true) -> HTML {
        form.text(
            "Person", name: "person", hint: isRequired ? PersonField.hint : PersonField.hint + " Empty: all users.",
            isRequired: isRequired, lengthMax: 300)
    }

    private static func zone(_ form: SentForm, hint: String? = nil, isRequired: Bool = true) -> HTML {
        form.text("Zone", name: "zone", hint: hint, isRequired: isRequired, lengthMax: 255)
    }
}
