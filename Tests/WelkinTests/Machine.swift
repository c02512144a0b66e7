import CloudKitDevice
import CloudUnderTest
import Foundation

@testable import CloudKit

/// A user's machine with the built `welkin` program and apps.
struct Machine: Sendable {
    /// The outcome of a command.
    struct Outcome: Sendable {
        /// The exit status; nil if a signal ended the command.
        var status: Int32?
        /// The standard output.
        var output: String
        /// The standard error.
        var remarks: String

        func decoded<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(type, from: Data(output.utf8))
        }
    }

    let home: String
    private let program: String
    /// The variables of the user's shell.
    var variables: [String: String]

    /// - Parameters:
    ///   - name: The name of the machine's folder, below the cloud's.
    ///   - apiToken: The token of the user's app.
    init(_ name: String, at cloud: CloudProcess, container: String, apiToken: String) throws {
        try self.init(
            name, in: cloud.folder, endpoint: "http://127.0.0.1:\(cloud.port)", container: container, apiToken: apiToken
        )
    }

    /// - Parameters:
    ///   - name: The name of the machine's folder, below `folder`.
    ///   - endpoint: The address of the cloud.
    ///   - apiToken: The token of the user's app.
    init(_ name: String, in folder: String, endpoint: String, container: String, apiToken: String) throws {
        guard let program = CloudProcess.program() else {
            throw ChildFailure(program: "welkin", reason: "not built; run swift build, or name it in WELKIN_BINARY")
        }
        self.program = program
        home = folder + "/" + name
        variables = [
            "HOME": home, "XDG_DATA_HOME": home + "/data", "XDG_CONFIG_HOME": home + "/config",
            "XDG_CACHE_HOME": home + "/cache", "CLOUDKIT_ENDPOINT": endpoint,
            "CLOUDKIT_CONTAINER": container, "CLOUDKIT_API_TOKEN": apiToken, "CLOUDKIT_ENVIRONMENT": "",
            "CLOUDKIT_PROFILE": "", "CLOUDKIT_CONFIGURATION": "", "CLOUDKIT_ASSET_CACHE": "",
        ]
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    }

    /// Runs `welkin` without a terminal.
    ///
    /// - Parameter input: The lines of standard input.
    func welkin(_ arguments: String..., input: [String] = []) async throws -> Outcome {
        try await Self.run([program] + arguments, input: input, variables: variables, in: home)
    }

    /// Runs `welkin` with a terminal.
    func welkin(_ arguments: String..., at terminal: PseudoTerminal) async throws -> Outcome {
        try await Self.run([program] + arguments, at: terminal.path, variables: variables, in: home)
    }

    /// Runs a program.
    ///
    /// - Parameter terminal: The terminal that the program reads instead of `input`.
    static func run(
        _ command: [String], input: [String] = [], at terminal: String? = nil, variables: [String: String],
        in folder: String
    ) async throws -> Outcome {
        // A separate thread, since waiting for a process would block other tests.
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let scratch = folder + "/run-" + UUID().uuidString
                        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
                        defer { try? FileManager.default.removeItem(atPath: scratch) }
                        let lines = input.map { $0 + "\n" }.joined()
                        try Data(lines.utf8).write(to: URL(fileURLWithPath: scratch + "/input"))
                        let process = try ChildProcess(
                            command, variables: variables, input: terminal ?? scratch + "/input",
                            output: scratch + "/output",
                            errors: scratch + "/errors")
                        let status = process.wait()
                        func text(_ name: String) -> String {
                            String(
                                decoding: FileManager.default.contents(atPath: scratch + "/" + name) ?? Data(),
                                as: UTF8.self)
                        }
                        return Outcome(status: status, output: text("output"), remarks: text("errors"))
                    })
            }
        }
    }

    /// Returns the configuration of apps on this machine.
    func configuration(profile: String = "default") throws -> DeviceConfiguration {
        try DeviceConfiguration.resolve(
            variables: variables.merging(["CLOUDKIT_PROFILE": profile]) { $1 }, workingFolder: home)
    }

    /// Returns the container of an app on this machine.
    func app(profile: String = "default") throws -> CKContainer {
        CKContainer(configuration: try configuration(profile: profile))
    }

    func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: home + "/" + path) }

    /// The files below a folder, as paths from there.
    func files(below path: String) -> [String] {
        let all = FileManager.default.enumerator(atPath: home + "/" + path)?.compactMap { $0 as? String } ?? []
        return all.filter { file in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: home + "/\(path)/\(file)", isDirectory: &isFolder)
                && !isFolder.boolValue
        }
    }
}

/// A cloud with its operator and users' machines.
struct CloudAndMachines {
    static let container = "iCloud.com.example.setup"
    /// The rounds of key derivation; few, so that tests are fast.
    static let rounds = "1000"

    let cloud: CloudProcess
    let operatorsMachine: Machine
    let apiToken: String

    /// Runs a test with a cloud.
    ///
    /// - Parameters:
    ///   - options: Further options of `welkin serve`.
    ///   - store: The address of the cloud's database; nil for a file in its data folder.
    static func run(
        serving options: [String] = [], store: String? = nil, _ body: (CloudAndMachines) async throws -> Void
    ) async throws {
        let cloud = try CloudProcess(arguments: options, environment: store.map { ["WELKIN_STORE": $0] } ?? [:])
        defer { cloud.end() }
        var desk = try Machine("operator", at: cloud, container: container, apiToken: "")
        if let store { desk.variables["WELKIN_STORE"] = store }
        let token = try await desk.welkin("token", "create", container, "--data", cloud.data)
        guard token.status == 0 else { throw ChildFailure(program: "welkin token create", reason: token.remarks) }
        let apiToken = token.output.trimmingCharacters(in: .whitespacesAndNewlines)
        desk.variables["CLOUDKIT_API_TOKEN"] = apiToken
        try await body(CloudAndMachines(cloud: cloud, operatorsMachine: desk, apiToken: apiToken))
    }

    func machine(_ name: String) throws -> Machine {
        try Machine(name, at: cloud, container: Self.container, apiToken: apiToken)
    }

    /// Creates an account and signs in a machine.
    func signedInMachine(_ name: String, password: String = "correct horse") async throws -> Machine {
        let added = try await runAsOperator(
            "account", "add", name + "@example.com", "--rounds", Self.rounds, input: [password])
        guard added.status == 0 else { throw ChildFailure(program: "welkin account add", reason: added.remarks) }
        let machine = try machine(name)
        let login = try await machine.welkin(
            "login", "--email", name + "@example.com", "--rounds", Self.rounds, input: [password])
        guard login.status == 0 else { throw ChildFailure(program: "welkin login", reason: login.remarks) }
        return machine
    }

    /// Runs an operator's command on the cloud's data folder.
    func runAsOperator(_ arguments: String..., input: [String] = []) async throws -> Machine.Outcome {
        try await runAsOperator(arguments, input: input)
    }

    func runAsOperator(_ arguments: [String], input: [String] = []) async throws -> Machine.Outcome {
        guard let program = CloudProcess.program() else { throw ChildFailure(program: "welkin", reason: "not built") }
        return try await Machine.run(
            [program] + arguments + ["--data", cloud.data], input: input, variables: operatorsMachine.variables,
            in: operatorsMachine.home)
    }
}

/// The part of `welkin status --json` that tests use.
struct Status: Decodable, Sendable {
    var signedIn: Bool
    var state: String
    var email: String?
    var deviceID: String?
    var fingerprint: String?
    var recoveryWords: [String]?
    var trouble: String?
}
