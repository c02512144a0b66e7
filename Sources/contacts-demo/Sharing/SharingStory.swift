import CloudKit

/// The story about sharing: three people, five devices, four ways to share.
struct SharingStory {
    let options: SharingOptions
    let terminal: Terminal
    let machine: OwnMachine

    var adasLaptop: SharingApp
    var adasPhone: SharingApp
    var bensLaptop: SharingApp
    var bensPhone: SharingApp
    var cleosPhone: SharingApp

    /// The shares of the story, by what they are of.
    var folderShare: CKRecord.ID?
    var contactShare: CKRecord.ID?

    private var step = 0

    init(_ options: SharingOptions) {
        self.options = options
        terminal = Terminal(verbose: options.isVerbose)
        machine = OwnMachine(welkin: options.welkin, container: options.container)
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
        try await tell("Who is here") { try await $0.meet() }
        try await tell("Ada shares a folder with two files") { try await $0.shareFolder() }
        try await tell("Ben takes part, reads and writes") { try await $0.joinFolder() }
        try await tell("What moves into the folder is shared, what moves out is not") { try await $0.moveInAndOut() }
        try await tell("Ada shares a whole zone; Ben opens the link outside of the app") { try await $0.shareZone() }
        try await tell("A contact for Cleo, who has no account yet") { try await $0.shareContact() }
        try await tell("Cleo signs up and takes part") { try await $0.joinContact() }
        try await tell("A link for everybody who has it") { try await $0.shareByLink() }
        try await tell("Leaving and being removed") { try await $0.part() }
        terminal.success("All as expected in \((ContinuousClock.now - start).shown).")
    }

    /// Numbers, titles and times one step.
    private mutating func tell(_ title: String, _ body: (inout SharingStory) async throws -> Void) async throws {
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

    // MARK: Parts of the telling

    /// Ends the story when something is not as it should be.
    func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws(DemoFailure) {
        guard condition else { throw DemoFailure(.unexpected, "Not as expected: " + message()) }
    }

    /// The code with which something is refused, which it must be.
    func refusal(_ body: () async throws -> Void) async throws -> CKError.Code {
        do {
            try await body()
        } catch let error as CKError {
            return error.code
        }
        throw DemoFailure(.unexpected, "Not as expected: something was allowed.")
    }

    /// A link as it is shown: the secret behind the `#` is no reading matter.
    func shown(_ url: URL?) -> String {
        guard let url else { return "none" }
        let text = url.absoluteString
        guard let fragment = url.fragment else { return text }
        return text.dropLast(fragment.count) + fragment.prefix(4) + "…"
    }

    /// An address that a share must have after it was saved.
    func address(of share: CKShare) throws(DemoFailure) -> URL {
        guard let url = share.url else { throw DemoFailure(.unexpected, "Not as expected: the share has no URL.") }
        return url
    }

    /// A zone of Ada's that begins empty: one that an earlier run left behind goes first.
    func freshZone(_ name: String) async throws -> CKRecordZone {
        let zone = CKRecordZone(zoneName: name)
        if try await adasLaptop.own.allRecordZones().contains(where: { $0.zoneID.zoneName == name }) {
            try await adasLaptop.own.deleteRecordZone(withID: zone.zoneID)
        }
        return try await adasLaptop.own.save(zone)
    }

    /// One of Ada's zones as others see it.
    func seenByOthers(_ zone: String) async throws -> CKRecordZone.ID {
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
