import CloudKitDevice
import CloudUnderTest
import Foundation

@testable import CloudKit

/// A machine with a person at it, who uses the built `welkin` program and apps.
struct Machine: Sendable {
    /// What a command came to.
    struct Outcome: Sendable {
        /// nil: a signal ended it.
        var status: Int32?
        /// What went to standard output.
        var output: String
        /// What went to standard error.
        var remarks: String

        func decoded<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(type, from: Data(output.utf8))
        }
    }

    let home: String
    private let program: String
    /// What the person's shell has set.
    var variables: [String: String]

    /// - Parameters:
    ///   - name: Of the machine's folder, below the cloud's.
    ///   - apiToken: Of the app that the person uses.
    init(_ name: String, at cloud: CloudProcess, container: String, apiToken: String) throws {
        guard let program = CloudProcess.program() else {
            throw ChildFailure(program: "welkin", reason: "not built; run swift build, or name it in WELKIN_BINARY")
        }
        self.program = program
        home = cloud.folder + "/" + name
        variables = [
            "HOME": home, "XDG_DATA_HOME": home + "/data", "XDG_CONFIG_HOME": home + "/config",
            "XDG_CACHE_HOME": home + "/cache", "CLOUDKIT_ENDPOINT": "http://127.0.0.1:\(cloud.port)",
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

    /// Runs `welkin` with somebody at a terminal.
    func welkin(_ arguments: String..., at terminal: PseudoTerminal) async throws -> Outcome {
        try await Self.run([program] + arguments, at: terminal.path, variables: variables, in: home)
    }

    /// - Parameter terminal: What the program reads instead of `input`.
    static func run(
        _ command: [String], input: [String] = [], at terminal: String? = nil, variables: [String: String],
        in folder: String
    ) async throws -> Outcome {
        // A thread of its own: waiting for a process would keep other tests from running.
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

    /// What an app on this machine is configured with.
    func configuration(profile: String = "default") throws -> DeviceConfiguration {
        try DeviceConfiguration.resolve(
            variables: variables.merging(["CLOUDKIT_PROFILE": profile]) { $1 }, workingFolder: home)
    }

    /// An app on this machine.
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

/// A cloud, its operator, and machines.
struct Town {
    static let container = "iCloud.com.example.town"
    /// Fewer than people's own passwords get, so that tests are quick.
    static let rounds = "1000"

    let cloud: CloudProcess
    let operatorsMachine: Machine
    let apiToken: String

    static func run(_ body: (Town) async throws -> Void) async throws {
        let cloud = try CloudProcess()
        defer { cloud.end() }
        var desk = try Machine("operator", at: cloud, container: container, apiToken: "")
        let token = try await desk.welkin("token", "create", container, "--data", cloud.data)
        guard token.status == 0 else { throw ChildFailure(program: "welkin token create", reason: token.remarks) }
        let apiToken = token.output.trimmingCharacters(in: .whitespacesAndNewlines)
        desk.variables["CLOUDKIT_API_TOKEN"] = apiToken
        try await body(Town(cloud: cloud, operatorsMachine: desk, apiToken: apiToken))
    }

    func machine(_ name: String) throws -> Machine {
        try Machine(name, at: cloud, container: Self.container, apiToken: apiToken)
    }

    /// Makes an account and signs a machine in.
    func newcomer(_ name: String, password: String = "correct horse") async throws -> Machine {
        let added = try await operate(
            "account", "add", name + "@example.com", "--rounds", Self.rounds, input: [password])
        guard added.status == 0 else { throw ChildFailure(program: "welkin account add", reason: added.remarks) }
        let machine = try machine(name)
        let login = try await machine.welkin(
            "login", "--email", name + "@example.com", "--rounds", Self.rounds, input: [password])
        guard login.status == 0 else { throw ChildFailure(program: "welkin login", reason: login.remarks) }
        return machine
    }

    /// A command of the operator, on the cloud's data folder.
    func operate(_ arguments: String..., input: [String] = []) async throws -> Machine.Outcome {
        guard let program = CloudProcess.program() else { throw ChildFailure(program: "welkin", reason: "not built") }
        return try await Machine.run(
            [program] + arguments + ["--data", cloud.data], input: input, variables: operatorsMachine.variables,
            in: operatorsMachine.home)
    }
}

/// The part of `welkin status --json` that tests look at.
struct Status: Decodable, Sendable {
    var signedIn: Bool
    var state: String
    var email: String?
    var deviceID: String?
    var fingerprint: String?
    var recoveryWords: [String]?
    var trouble: String?
}
