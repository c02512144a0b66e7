import Foundation
import FreePorts
import Synchronization

/// A PostgreSQL server for tests: a cluster of its own in a temporary folder, which is gone when the process of the tests ends,
/// however it ends.
package final class PostgresServer: Sendable {
    private let control: FileHandle
    private let answers: FileHandle
    private let folder: String
    /// The port on the loopback address.
    package let port: Int
    /// The password of the user `welkin`, needed over TCP only.
    package let password = "a secret: 100% of it?"
    private let turn = Mutex(())

    /// Why there is no server; nil: PostgreSQL is installed.
    package static let missing: String? =
        programs == nil ? "PostgreSQL is not installed; script/test installs it (Debian: postgresql)" : nil

    /// A server that all tests of the process share, each with a schema of its own. Nothing is synced to its disk.
    package static func shared() async throws -> PostgresServer { try await sharedTask.value }

    private static let sharedTask = Task { try PostgresServer() }

    /// Makes a cluster and starts its server.
    package init() throws {
        guard let programs = Self.programs else { throw Failure(text: Self.missing ?? "") }
        // A short path: those of sockets have at most 107 bytes.
        folder = "/tmp/welkin-pg-" + UUID().uuidString.prefix(8).lowercased()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data((password + "\n").utf8).write(to: URL(fileURLWithPath: folder + "/password"))
        port = try freePorts(1)[0]
        let (input, output) = (Pipe(), Pipe())
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", Self.script, "welkin-postgres", folder, programs, String(port)]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        // A child that holds the other end would keep the server alive.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        control = input.fileHandleForWriting
        answers = output.fileHandleForReading
        try process.run()
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        try expectAnswer()
    }

    /// The address of a schema over the Unix socket, without a password.
    package func address(schema: String) -> String {
        "postgres://welkin@/postgres?host=\(folder.replacing("/", with: "%2F"))&port=\(port)&schema=\(schema)"
    }

    /// The address over TCP.
    package func networkAddress(password: String? = nil, database: String = "postgres", query: String = "") -> String {
        let allowed = CharacterSet.alphanumerics
        let secret = (password ?? self.password).addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        return "postgres://welkin:\(secret)@127.0.0.1:\(port)/\(database)\(query.isEmpty ? "" : "?" + query)"
    }

    /// A name that no other test uses.
    package static func freshSchema() -> String {
        "t_" + UUID().uuidString.lowercased().replacing("-", with: "")
    }

    /// Kills the server as a crash would.
    package func kill() throws { try order("kill") }

    /// Starts the server again.
    package func start() throws { try order("start") }

    /// Runs SQL as the superuser and returns what psql prints, one row a line.
    @discardableResult
    package func sql(_ sql: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: (Self.programs ?? "") + "/psql")
        process.arguments = [
            "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", folder, "-p", String(port), "-U", "welkin", "-d",
            "postgres", "-c", sql,
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(text: text) }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The reason why the server does not run.
    package struct Failure: Error, CustomStringConvertible {
        let text: String
        package var description: String { "PostgreSQL: \(text)" }
    }

    private func order(_ word: String) throws {
        try turn.withLock { _ in
            try control.write(contentsOf: Data((word + "\n").utf8))
            try expectAnswer()
        }
    }

    private func expectAnswer() throws {
        var line: [UInt8] = []
        while line.last != 10 {
            guard let byte = try answers.read(upToCount: 1)?.first else { throw Failure(text: "the server ended") }
            line.append(byte)
        }
        let text = String(decoding: line.dropLast(), as: UTF8.self)
        guard text == "done" else { throw Failure(text: text) }
    }

    /// The folder of PostgreSQL's programs.
    private static let programs: String? = {
        let installed =
            (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql"))?
            .compactMap { Int($0) }.sorted(by: >).map { "/usr/lib/postgresql/\($0)/bin" } ?? []
        let path = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").map(String.init) ?? []
        return (installed + path).first { folder in
            ["initdb", "pg_ctl", "postgres", "psql"].allSatisfy {
                FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)")
            }
        }
    }()

    /// Makes, starts, kills and starts the server again as it is told to, and removes it when nobody can tell it anything any more.
    private static let script = """
        folder=$1 programs=$2 port=$3
        as=()
        if [[ $(id -u) -eq 0 ]]; then
            chown nobody "$folder" "$folder/password"
            as=(setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups)
        fi
        cd "$folder"
        export HOME=$folder
        server() {
            "${as[@]}" "$programs/pg_ctl" -D data -s "$@" </dev/null >>log 2>&1
        }
        start() {
            if server -w -t 60 -l server.log start; then echo done; return; fi
            # One line: that is what is read.
            echo "cannot be started: $(tail -n 3 log server.log 2>&1 | tr '\\n' ' ')"
        }
        "${as[@]}" "$programs/initdb" -D data -U welkin --auth-local=trust --auth-host=scram-sha-256 \\
            --pwfile=password --no-sync -E UTF8 --locale=C </dev/null >log 2>&1
        cat >>data/postgresql.conf <<END
        listen_addresses = '127.0.0.1'
        port = $port
        unix_socket_directories = '$folder'
        max_connections = 600
        shared_buffers = 32MB
        fsync = off
        full_page_writes = off
        wal_level = minimal
        max_wal_senders = 0
        autovacuum = off
        END
        start
        while read -r word; do
            case $word in
                kill) server -m immediate stop; echo done ;;
                start) start ;;
            esac
        done
        server -m immediate stop
        rm -rf "$folder"
        """
}
