import ArgumentParser
import CloudKitDevice

/// Shows whether this device is signed in.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the cloud and the account that this device uses.",
        discussion: "Exits with 1 unless an account is signed in and can be used.")

    @OptionGroup var device: DeviceOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let configuration = try device.configuration()
        if let container = configuration.container {
            // The cloud's answer is stored; an unreachable cloud changes nothing.
            try? await SignIn(configuration: configuration, send: WebSend.send).verify(container: container)
        }
        let report = StatusReport(configuration)
        try report.show(json: json)
        guard report.state == .available else { throw ExitCode.failure }
    }
}

/// The state of a device, without secrets other than recovery words created by this command.
struct StatusReport: Encodable {
    var endpoint: String
    var container: String?
    var environment: String
    var profile: String
    var folder: String
    var signedIn: Bool
    var state: State
    /// The reason why the account cannot be used, and the remedy.
    var trouble: String?
    var email: String?
    var deviceID: String?
    var userRecordName: String?
    /// The fingerprint by which other users recognise the account's keys.
    var fingerprint: String?
    var recoveryWords: [String]?
    /// The participants of shares who wait until the user confirms them.
    var unconfirmedParticipants: [ShareQuestionReport]?
    /// What the cloud said about having been restored from a backup, and the user has not accepted.
    var restorations: [RestorationReport]?

    /// The names of `CKAccountStatus`.
    enum State: String, Encodable {
        case available, noAccount, couldNotDetermine, restricted, temporarilyUnavailable
    }

    init(_ configuration: DeviceConfiguration) {
        let profile = configuration.deviceProfile
        endpoint = configuration.endpoint
        container = configuration.container
        environment = configuration.environment
        self.profile = configuration.profile
        folder = profile.folder
        let credentials = try? profile.credentials()
        signedIn = credentials != nil
        email = credentials?.email
        deviceID = credentials?.deviceID
        userRecordName = configuration.container.flatMap {
            credentials?[$0, configuration.environment]?.userRecordName
        }
        switch profile.accountState {
        case .available: state = .available
        case .noAccount: state = .noAccount
        case .restricted:
            state = .restricted
            trouble = AccountIssue.disabled.explanation
        case .temporarilyUnavailable(let trouble, _):
            state = .temporarilyUnavailable
            self.trouble = trouble.explanation
        case .couldNotDetermine:
            state = .couldNotDetermine
        }
        do {
            fingerprint = try profile.keychain()?.fingerprint
        } catch {
            trouble = "\(error)"
        }
        let claims = (try? profile.restorations())?.clouds[configuration.endpoint]?.claims ?? []
        let open = claims.filter { $0.accepted == nil && !($0.older.isEmpty && $0.returned.isEmpty) }
        if !open.isEmpty { restorations = open.map { RestorationReport($0) } }
        let questions = (try? profile.shareQuestions())?.open ?? []
        if !questions.isEmpty { unconfirmedParticipants = questions.map { ShareQuestionReport($0) } }
    }

    func show(json: Bool) throws {
        if json { return try Output.json(self) }
        var rows = [
            ["Cloud", endpoint], ["Container", container ?? "none configured"], ["Environment", environment],
        ]
        rows.append(["Profile", "\(profile) (\(folder))"])
        rows.append(["Account", email ?? "not signed in; sign in with: welkin login --email EMAIL"])
        if let userRecordName { rows.append(["User record", userRecordName]) }
        if let fingerprint { rows.append(["Keys", fingerprint]) }
        if signedIn || state == .couldNotDetermine { rows.append(["Status", state.rawValue]) }
        Output.table(rows)
        if let trouble { Output.remark(trouble) }
        if let restorations {
            let count = restorations.reduce(0) { $0 + $1.older.count }
            Output.remark(
                "The cloud says that it was restored from a backup; \(count) or more records are older there than seen here: "
                    + "see welkin restorations")
        }
        for waiting in unconfirmedParticipants ?? [] {
            let person = waiting.person ?? "any user who has the link"
            Output.remark(
                "\(person) waits for a key of share \(waiting.share) in zone \(waiting.zone): ".onOneLine
                    + "confirm with welkin share confirm")
        }
    }

    /// Prints the report after a sign-in, with new recovery words.
    func show(json: Bool, signedIn outcome: SignIn.Outcome) throws {
        var report = self
        if case .made(let words) = outcome.keys { report.recoveryWords = words }
        try report.show(json: json)
        if !json, let words = report.recoveryWords { RecoverySheet.show(words) }
    }
}
