import CloudUnderTest
import Foundation

/// A PostgreSQL server on an empty folder, with the settings that PostgreSQL has by itself: commits are synced.
final class DatabaseServer {
    let folder: String
    let port: UInt16
    private let held: HeldPort
    private let programs: String
    private var process: ChildProcess?

    /// Makes a cluster and starts its server. PostgreSQL refuses to run as root: then its user needs a way to the temporary folder.
    ///
    /// - Parameter environment: Further variables, such as those of a slower disk.
    init(environment: [String: String] = [:]) throws {
        guard let programs = Self.programs() else {
            throw BenchError("PostgreSQL is not installed (Debian: postgresql)")
        }
        self.programs = programs
        // A short path: those of sockets have at most 107 bytes. With a user of its own it is not below the folder of the benchmark.
        folder = NSTemporaryDirectory() + "/bench-pg-\(UUID().uuidString.prefix(8))"
        held = try HeldPort()
        port = held.number
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        if getuid() == 0 { try Self.run(["/bin/chown", "nobody", folder], output: "/dev/null") }
        try Self.run(
            way + [programs + "/initdb", "-D", data, "-U", "welkin", "--auth=trust", "-E", "UTF8", "--locale=C"],
            output: "/dev/null")
        let settings =
            "listen_addresses = ''\nport = \(port)\nunix_socket_directories = '\(folder)'\nmax_connections = 200\n"
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: data + "/postgresql.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data(settings.utf8))
        try file.close()
        process = try ChildProcess(
            way + [programs + "/postgres", "-D", data], variables: environment, output: folder + "-log")
        let deadline = Moment.now.advanced(bySeconds: 60)
        while (try? sql("SELECT 1")) == nil {
            guard Moment.now < deadline, process?.isRunning == true else {
                throw BenchError("PostgreSQL does not start: \(logText.suffix(600))")
            }
            usleep(50_000)
        }
    }

    /// The address of a schema for `welkin serve`.
    func address(schema: String) -> String {
        "postgres://welkin@/postgres?host=\(folder.replacingOccurrences(of: "/", with: "%2F"))&port=\(port)&schema=\(schema)"
    }

    /// Runs SQL and returns what psql prints, one row a line.
    @discardableResult
    func sql(_ sql: String) throws -> String {
        let output = NSTemporaryDirectory() + "/bench-psql-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: output) }
        try Self.run(
            [programs + "/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql] + place, output: output)
        return Self.text(output).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Runs a script of pgbench with prepared statements and returns its transactions a second.
    ///
    /// - Parameter variables: Texts that the script names.
    func transactionsPerSecond(
        script: String, clients: Int, seconds: Double, variables: [String: String] = [:]
    ) throws -> Double {
        let path = NSTemporaryDirectory() + "/bench-pgbench-\(UUID().uuidString.prefix(8))"
        defer { for end in ["", ".out"] { try? FileManager.default.removeItem(atPath: path + end) } }
        try Data(script.utf8).write(to: URL(fileURLWithPath: path))
        try Self.run(
            [
                programs + "/pgbench", "-n", "-M", "prepared", "-c", String(clients), "-j", "2", "-T",
                String(Int(max(1, seconds))), "-f", path,
            ]
                + variables.flatMap { ["-D", "\($0.key)=\($0.value)"] } + place,
            output: path + ".out")
        let text = Self.text(path + ".out")
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("tps = ") }),
            let rate = line.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) })
        else { throw BenchError("pgbench: \(text.suffix(600))") }
        return rate
    }

    /// What the server has logged.
    var logText: String { Self.text(folder + "-log") }

    func end() {
        process?.send(SIGQUIT)
        _ = process?.wait()
        process = nil
        for path in [folder, folder + "-log"] { try? FileManager.default.removeItem(atPath: path) }
    }

    private var data: String { folder + "/data" }
    private var place: [String] { ["-h", folder, "-p", String(port), "-U", "welkin", "postgres"] }
    private var way: [String] {
        getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
    }

    private static func run(_ arguments: [String], output: String) throws {
        // The settings of the cloud's sessions, for pgbench.
        let process = try ChildProcess(
            arguments,
            variables: [
                "PGOPTIONS":
                    "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c max_parallel_workers_per_gather=0"
            ],
            output: output)
        guard process.wait() == 0 else {
            throw BenchError("\(arguments.joined(separator: " ").prefix(200)): \(text(output).suffix(600))")
        }
    }

    private static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    private static func programs() -> String? {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return versions.compactMap { Int($0) }.sorted(by: >).map { "/usr/lib/postgresql/\($0)/bin" }.first {
            FileManager.default.isExecutableFile(atPath: $0 + "/pgbench")
        }
    }
}
