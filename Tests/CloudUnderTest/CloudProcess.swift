import Foundation

/// A `welkin serve` process with its own folder, which can be killed and restarted.
package final class CloudProcess {
    /// The folder of the cloud and its users, removed by `end`.
    package let folder: String
    package var port: UInt16 { held.number }
    private let held: HeldPort
    private let binary: String
    private let logLevel: String
    private let arguments: [String]
    /// Further variables for `welkin serve`, from its next start on, and for other commands.
    package var environment: [String: String]
    private let descriptorsMax: Int?
    private var process: ChildProcess?
    /// The length of `log` before the latest start.
    private var earlierOutput = 0

    /// Starts a cloud on an empty folder.
    ///
    /// - Parameters:
    ///   - binary: The `welkin` program; nil for the result of `Self.program()`.
    ///   - parent: The parent of the folder; nil for the system's temporary folder.
    ///   - logLevel: The log level of the cloud.
    ///   - arguments: Further options of `welkin serve`.
    ///   - environment: Further variables for `welkin serve` and for other commands.
    ///   - descriptorsMax: The descriptors that `welkin serve` may have open; nil for those of this process.
    ///   - other: A cloud of whose nodes this is another one: it gets its secret.
    package init(
        binary: String? = nil, in parent: String? = nil, logLevel: String = "warning", arguments: [String] = [],
        environment: [String: String] = [:], descriptorsMax: Int? = nil, nodeOf other: CloudProcess? = nil
    ) throws {
        guard let program = binary ?? Self.program() else {
            throw ChildFailure(program: "welkin", reason: "not built; run swift build, or name it in WELKIN_BINARY")
        }
        self.binary = program
        self.logLevel = logLevel
        self.arguments = arguments
        self.environment = environment
        self.descriptorsMax = descriptorsMax
        folder = (parent ?? NSTemporaryDirectory()) + "/welkin-under-test-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        held = try HeldPort()
        if let other {
            try FileManager.default.createDirectory(
                atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try FileManager.default.copyItem(atPath: other.data + "/secret", toPath: data + "/secret")
        }
        try restart()
    }

    /// Returns the program next to the running one, or for `welkin` that of `WELKIN_BINARY`.
    package static func program(named name: String = "welkin") -> String? {
        var candidates: [String] = []
        if name == "welkin", let named = ProcessInfo.processInfo.environment["WELKIN_BINARY"] {
            candidates.append(named)
        }
        var place = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        for _ in 0..<4 {
            place.deleteLastPathComponent()
            candidates.append(place.appendingPathComponent(name).path)
        }
        return candidates.first { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
        }
    }

    /// Kills the process (SIGKILL) and waits until it has ended.
    package func kill() {
        process?.kill()
        process = nil
    }

    /// Sends a signal to the process, such as SIGSTOP to freeze it.
    package func send(_ signal: Int32) { process?.send(signal) }

    /// Stops the process (SIGTERM) and waits until it has ended.
    package func stop() {
        process?.send(SIGTERM)
        _ = process?.wait()
        process = nil
    }

    /// Starts the process on the same folder and the same port, and waits until it answers.
    ///
    /// - Parameter further: Options of this start alone.
    package func restart(timeout seconds: Double = 300, further: [String] = []) throws {
        kill()
        earlierOutput = FileManager.default.contents(atPath: log)?.count ?? 0
        let limited = descriptorsMax.map { ["/bin/sh", "-c", "ulimit -n \($0) && exec \"$0\" \"$@\""] } ?? []
        let process = try ChildProcess(
            limited + [binary, "serve", "--data", data, "--port", String(port), "--log-level", logLevel] + arguments
                + further,
            variables: variables.merging(environment) { $1 },
            output: log)
        self.process = process
        let deadline = Moment.now.advanced(bySeconds: seconds)
        while Moment.now < deadline {
            if let exchange = try? RawExchange(port: port, connections: 1),
                let answer = try? exchange.ask(.get("/health")), answer.status == 200
            {
                return
            }
            guard process.isRunning else { break }
            usleep(5_000)
        }
        throw ChildFailure(
            program: "welkin serve", reason: "does not answer; it \(process.end) and said: \(tail(of: log))")
    }

    /// What the server printed at its latest start. It prints the last line, which begins with `Next:`, beside its first requests.
    package func startupOutput(timeout seconds: Double = 60) throws -> String {
        let deadline = Moment.now.advanced(bySeconds: seconds)
        while true {
            let bytes = FileManager.default.contents(atPath: log) ?? Data()
            let output = String(decoding: bytes.dropFirst(earlierOutput), as: UTF8.self)
            if output.split(separator: "\n").contains(where: { $0.hasPrefix("Next:") }) { return output }
            guard Moment.now < deadline else {
                throw ChildFailure(program: "welkin serve", reason: "does not say what is next; it said: \(output)")
            }
            usleep(5_000)
        }
    }

    /// Ends the process and removes the folder.
    package func end() {
        kill()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Whether the process runs.
    package var isRunning: Bool { process?.isRunning ?? false }

    /// The processor time of the server since its latest start, in seconds.
    package var processorSeconds: Double { process?.processorSeconds ?? 0 }

    /// The resident memory of the server in bytes.
    package var residentBytes: Int { process?.residentBytes ?? 0 }

    /// Creates an account and an API token of the container, signs in a device and returns its credentials.
    package func signIn(container: String, profile: String) throws -> SignedInUser {
        try run(
            "quickstart", "--endpoint", "http://127.0.0.1:\(port)", "--container", container, "--profile", profile,
            "--rounds", "1000")
        let path = folder + "/share/welkin/profiles/\(profile)/credentials.json"
        let held = try JSONDecoder().decode(
            Credentials.self, from: FileManager.default.contents(atPath: path) ?? Data())
        guard let entry = held.containers.first(where: { $0.container == container }) else {
            throw ChildFailure(program: "welkin quickstart", reason: "the profile has no credentials for \(container)")
        }
        return SignedInUser(
            container: container, userRecordName: entry.userRecordName, apiToken: entry.apiToken,
            webAuthToken: entry.webAuthToken)
    }

    /// Runs another command of the program on this cloud's data folder.
    package func run(_ command: String...) throws {
        let output = folder + "/command"
        let tool = try ChildProcess(
            [binary] + command + ["--data", data], variables: variables.merging(environment) { $1 }, output: output)
        guard tool.wait() == 0 else {
            throw ChildFailure(program: "welkin " + command.prefix(2).joined(separator: " "), reason: tail(of: output))
        }
    }

    /// The part of a profile's file that a plain client needs.
    private struct Credentials: Decodable {
        struct Container: Decodable {
            var container: String
            var apiToken: String
            var webAuthToken: String
            var userRecordName: String
        }

        var containers: [Container]
    }

    /// The data folder of the cloud.
    package var data: String { folder + "/data" }
    /// The cloud's log; each start appends to it.
    package var log: String { folder + "/log" }

    /// The environment variables of devices, whose files are below this cloud's folder.
    private var variables: [String: String] {
        [
            "XDG_DATA_HOME": folder + "/share", "XDG_CONFIG_HOME": folder + "/config", "HOME": folder,
            "CLOUDKIT_ENDPOINT": "http://127.0.0.1:\(port)",
            // The settings of a cloud that is installed on this machine are not those of the test.
            "WELKIN_CONFIG": "",
        ]
    }

    private func tail(of path: String) -> String {
        String(decoding: (FileManager.default.contents(atPath: path) ?? Data()).suffix(600), as: UTF8.self)
    }
}
