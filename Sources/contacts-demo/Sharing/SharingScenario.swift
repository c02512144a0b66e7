import CloudKit

/// The sharing scenario: three users, five devices, four kinds of shares.
struct SharingScenario {
    let options: SharingOptions
    let terminal: Terminal
    let machine: WelkinProgram

    var adasLaptop: SharingApp
    var adasPhone: SharingApp
    var bensLaptop: SharingApp
    var bensPhone: SharingApp
    var cleosPhone: SharingApp

    /// The shares of the scenario, by their subject.
    var folderShare: CKRecord.ID?
    var contactShare: CKRecord.ID?

    private var step = 0

    init(_ options: SharingOptions) {
        self.options = options
        terminal = Terminal(verbose: options.isVerbose)
        machine = WelkinProgram(welkin: options.welkin, container: options.container)
        func app(_ owner: String, _ device: String) -> SharingApp {
            SharingApp(owner, device, container: options.container)
        }
        adasLaptop = app("Ada", "laptop")
        adasPhone = app("Ada", "phone")
        bensLaptop = app("Ben", "laptop")
        bensPhone = app("Ben", "phone")
        cleosPhone = app("Cleo", "phone")
    }

    mutating func run() async throws {
        let start = ContinuousClock.now
        terminal.line(terminal.styled("Three people share", "1"))
        try await step("The users and their devices") { try await $0.meet() }
        try await step("Ada shares a folder with two files") { try await $0.shareFolder() }
        try await step("Ben accepts, reads and writes") { try await $0.joinFolder() }
        try await step("Records moved into the folder are shared, records moved out are not") {
            try await $0.moveInAndOut()
        }
        try await step("Ada shares a whole zone; Ben opens the link outside of the app") { try await $0.shareZone() }
        try await step("A contact for Cleo, who has no account yet") { try await $0.shareContact() }
        try await step("Cleo signs up and accepts") { try await $0.joinContact() }
        try await step("A link for any user who has it") { try await $0.shareByLink() }
        try await step("Leaving and being removed") { try await $0.endShares() }
        terminal.success("All as expected in \((ContinuousClock.now - start).shown).")
    }

    /// Runs one step with a number, a title and its duration.
    private mutating func step(_ title: String, _ body: (inout SharingScenario) async throws -> Void) async throws {
        step += 1
        terminal.heading(step, title)
        let start = ContinuousClock.now
        try await body(&self)
        terminal.row("time", (ContinuousClock.now - start).shown)
    }

    private func meet() async throws {
        var users: Set<String> = []
        for app in [adasLaptop, adasPhone, bensLaptop, bensPhone] {
            guard try await app.container.accountStatus() == .available else {
                throw DemoFailure(
                    .notSignedIn,
                    "\(app.name) is not signed in. Sign in with: welkin login --email EMAIL --profile \(app.profile)")
            }
            users.insert(try await app.container.userRecordID().recordName)
            terminal.row(app.name, "account available", "profile \(app.profile)")
        }
        try expect(users.count == 2, "two people have two devices each.")
        try expect(
            try await cleosPhone.container.accountStatus() == .noAccount, "Cleo's phone is not signed in.")
        terminal.row(cleosPhone.name, "no account", "profile \(cleosPhone.profile)")
    }

    // MARK: Helpers

    /// Ends the scenario if a condition does not hold.
    func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws(DemoFailure) {
        guard condition else { throw DemoFailure(.unexpected, "Not as expected: " + message()) }
    }

    /// Returns the error code of a call that has to fail.
    func refusal(_ body: () async throws -> Void) async throws -> CKError.Code {
        do {
            try await body()
        } catch let error as CKError {
            return error.code
        }
        throw DemoFailure(.unexpected, "Not as expected: the call succeeded.")
    }

    /// Returns a link for display, with its secret after the `#` shortened.
    func shown(_ url: URL?) -> String {
        guard let url else { return "none" }
        let text = url.absoluteString
        guard let fragment = url.fragment else { return text }
        return text.dropLast(fragment.count) + fragment.prefix(4) + "…"
    }

    /// Returns the URL of a saved share.
    func address(of share: CKShare) throws(DemoFailure) -> URL {
        guard let url = share.url else { throw DemoFailure(.unexpected, "Not as expected: the share has no URL.") }
        return url
    }

    /// Creates an empty zone of Ada's; deletes that of an earlier run first.
    func recreateZone(_ name: String) async throws -> CKRecordZone {
        let zone = CKRecordZone(zoneName: name)
        if try await adasLaptop.own.allRecordZones().contains(where: { $0.zoneID.zoneName == name }) {
            try await adasLaptop.own.deleteRecordZone(withID: zone.zoneID)
        }
        return try await adasLaptop.own.save(zone)
    }

    /// Returns the ID of one of Ada's zones as other users see it.
    func sharedZoneID(_ zone: String) async throws -> CKRecordZone.ID {
        CKRecordZone.ID(zoneName: zone, ownerName: try await adasLaptop.container.userRecordID().recordName)
    }

    func showParticipants(of share: CKShare) {
        terminal.table(
            ["participant", "role", "may", "status"],
            share.participants.map { participant in
                let identity = participant.userIdentity
                let name = participant.role == .owner ? "Ada" : identity.lookupInfo?.emailAddress ?? "by the link"
                return [name, "\(participant.role)", "\(participant.permission)", "\(participant.acceptanceStatus)"]
            })
    }
}
