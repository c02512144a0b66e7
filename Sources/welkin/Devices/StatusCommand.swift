import ArgumentParser
import CloudKitDevice

/// Shows whether this device is signed in.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show which cloud this device uses and as whom.",
        discussion: "Exits with 1 when nobody is signed in.")

    @OptionGroup var device: DeviceOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let report = try StatusReport(try device.configuration())
        try report.show(json: json)
        guard report.signedIn else { throw ExitCode.failure }
    }
}

/// What a device knows of itself; no secrets.
struct StatusReport: Encodable {
    var endpoint: String
    var container: String?
    var environment: String
    var profile: String
    var folder: String
    var signedIn: Bool
    var email: String?
    var deviceID: String?
    var userRecordName: String?

    init(_ configuration: DeviceConfiguration) throws {
        let credentials = try configuration.deviceProfile.credentials()
        endpoint = configuration.endpoint
        container = configuration.container
        environment = configuration.environment
        profile = configuration.profile
        folder = configuration.deviceProfile.folder
        signedIn = credentials != nil
        email = credentials?.email
        deviceID = credentials?.deviceID
        userRecordName = configuration.container.flatMap {
            credentials?[$0, configuration.environment]?.userRecordName
        }
    }

    func show(json: Bool) throws {
        if json { return try Output.json(self) }
        var rows = [
            ["Cloud", endpoint], ["Container", container ?? "none configured"], ["Environment", environment],
        ]
        rows.append(["Profile", "\(profile) (\(folder))"])
        rows.append(["Account", email ?? "not signed in; sign in with: welkin login --email EMAIL"])
        if let userRecordName { rows.append(["User record", userRecordName]) }
        Output.table(rows)
    }
}
