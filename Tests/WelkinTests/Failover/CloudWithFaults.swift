import CloudUnderTest
import Foundation
import PostgresServer
import Testing

@testable import CloudKit

/// A cloud whose parts can be ended.
protocol CloudWithFaults {
    /// The kinds of faults.
    var faults: [String] { get }

    /// Signs in a device.
    ///
    /// - Parameter isNew: Whether its user has no account yet.
    func device(_ name: String, of user: String, isNew: Bool) async throws -> CKContainer

    /// Injects a fault and ends it.
    ///
    /// - Parameter progress: Waits until apps have gone on by a number of operations.
    func inject(_ fault: String, _ chance: inout Chance, progress: (Int) async throws -> Void) async throws

    /// Runs `welkin check`.
    func check() async throws -> Machine.Outcome
}

/// Nodes on one database server, without a standby.
struct NodesWithFaults: CloudWithFaults {
    let nodes: NodesUnderTest
    let server: PostgresServer

    let faults = ["node killed", "server killed", "node frozen", "node stopped"]

    func device(_ name: String, of user: String, isNew: Bool) async throws -> CKContainer {
        try await nodes.device(name, of: user, isNew: isNew)
    }

    func inject(_ fault: String, _ chance: inout Chance, progress: (Int) async throws -> Void) async throws {
        let node = nodes.all[Int.random(in: 0..<nodes.all.count, using: &chance)]
        switch fault {
        case "node killed":
            node.kill()
            try await progress(10)
            try node.restart()
        case "node frozen":
            node.send(SIGSTOP)
            // Longer than a node without a sign of life keeps its leases.
            try await Task.sleep(for: .seconds(7))
            node.send(SIGCONT)
        case "node stopped":
            node.stop()
            try node.restart()
        default:
            try server.kill()
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...3_000, using: &chance)))
            try server.start()
        }
    }

    func check() async throws -> Machine.Outcome { try await nodes.setup.runAsOperator("check") }
}

/// A cluster that `script/cluster` has started.
struct ClusterWithFaults: CloudWithFaults {
    private static let container = "iCloud.org.welkin.failover"
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../script/cluster").standardizedFileURL.path

    let folder: String
    private let endpoint: String

    let faults = [
        "leader killed", "leader frozen", "postmaster killed", "standby killed", "standby frozen", "node killed",
        "node frozen", "node restarted", "etcd killed", "etcd frozen", "haproxy killed", "haproxy frozen",
    ]

    init(folder: String) throws {
        self.folder = folder
        endpoint = try String(contentsOfFile: folder + "/settings/endpoint", encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func device(_ name: String, of user: String, isNew: Bool) async throws -> CKContainer {
        let email = user + "@example.com"
        if isNew {
            try await cluster(
                "welkin", "account", "add", email, "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
        }
        let token = try await cluster("welkin", "token", "create", Self.container)
        let machine = try Machine(
            name, in: folder, endpoint: endpoint, container: Self.container,
            apiToken: token.output.trimmingCharacters(in: .whitespacesAndNewlines))
        let login = try await machine.welkin(
            "login", "--email", email, "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
        guard login.status == 0 else { throw ChildFailure(program: "welkin login", reason: login.remarks) }
        return try machine.app()
    }

    func inject(_ fault: String, _ chance: inout Chance, progress: (Int) async throws -> Void) async throws {
        let words = fault.split(separator: " ").map(String.init)
        var part = words[0]
        if part == "node" || part == "etcd" { part += String(Int.random(in: 1...3, using: &chance)) }
        if words[1] == "restarted" {
            try await cluster("restart", part)
            return
        }
        let name = try await cluster(words[1] == "killed" ? "kill" : "freeze", part).output
            .trimmingCharacters(in: .whitespacesAndNewlines)
        // A proxy that is away stops everybody.
        if part == "haproxy" {
            try await Task.sleep(for: .milliseconds(Int.random(in: 500...3_000, using: &chance)))
        } else {
            try await progress(20)
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...7_000, using: &chance)))
        }
        switch (words[1], part) {
        case ("frozen", _): try await cluster("thaw", name)
        // Patroni starts it again.
        case (_, "postmaster"): break
        default: try await cluster("restart", name)
        }
        try await wholeAgain()
    }

    /// Waits until the leader has two standbys, one of which receives commits before they are acknowledged: the next fault takes one server.
    private func wholeAgain() async throws {
        for _ in 0..<240 {
            let table = try await cluster("status").output
            let isWhole = table.contains("is sync") && table.components(separatedBy: " is ").count > 2
            if isWhole, !table.contains("no answer"), !table.contains("dead") { return }
            try await Task.sleep(for: .milliseconds(500))
        }
        Issue.record("the cluster does not recover")
    }

    func check() async throws -> Machine.Outcome { try await cluster("welkin", "check") }

    @discardableResult
    private func cluster(_ arguments: String..., input: [String] = []) async throws -> Machine.Outcome {
        let outcome = try await Machine.run(
            [Self.script] + arguments, input: input, variables: ["WELKIN_CLUSTER": folder], in: folder)
        if arguments[0] != "welkin", outcome.status != 0 {
            throw ChildFailure(program: "script/cluster \(arguments)", reason: outcome.output + outcome.remarks)
        }
        return outcome
    }
}
