import CloudUnderTest
import FaultyNetwork
import Foundation
import PostgresServer
import Testing

@testable import CloudKit

/// A cloud of several `welkin serve` processes on one database, behind a balancer.
struct NodesUnderTest {
    let setup: CloudAndMachines
    let all: [CloudProcess]
    /// The address of the balancer.
    let endpoint: String

    /// Runs a test with a cloud.
    ///
    /// - Parameters:
    ///   - count: The number of nodes.
    ///   - server: The server of the database; nil for the one that tests share.
    ///   - drain: The seconds for which a node that stops goes on serving.
    static func run(
        _ count: Int, on server: PostgresServer? = nil, drain: Int = 1, _ body: (NodesUnderTest) async throws -> Void
    ) async throws {
        var database = server
        if database == nil { database = try await PostgresServer.shared() }
        let address = try #require(database).address(schema: PostgresServer.freshSchema())
        try await CloudAndMachines.run(serving: ["--drain", String(drain)], store: address) { setup in
            var nodes = [setup.cloud]
            defer { for node in nodes.dropFirst() { node.end() } }
            for number in 1..<count {
                let data = setup.cloud.folder + "/node\(number)"
                try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
                try FileManager.default.copyItem(atPath: setup.cloud.data + "/secret", toPath: data + "/secret")
                nodes.append(
                    try CloudProcess(
                        arguments: ["--drain", String(drain), "--data", data], environment: ["WELKIN_STORE": address]))
            }
            let (addresses, opened) = AsyncStream<String>.makeStream()
            let ports = nodes.map { Int($0.port) }
            let front = Task {
                try await NodeFront.run(before: ports) { _, address in
                    opened.yield(address)
                    while true { try await Task.sleep(for: .seconds(3600)) }
                }
            }
            defer { front.cancel() }
            var iterator = addresses.makeAsyncIterator()
            let endpoint = try #require(await iterator.next())
            try await body(NodesUnderTest(setup: setup, all: nodes, endpoint: endpoint))
        }
    }

    /// Signs in a device at the balancer.
    ///
    /// - Parameter isNew: Whether its user has no account yet.
    func device(_ name: String, of user: String, isNew: Bool) async throws -> CKContainer {
        let email = user + "@example.com"
        if isNew {
            let added = try await setup.runAsOperator(
                "account", "add", email, "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
            guard added.status == 0 else {
                throw ChildFailure(program: "welkin account add", reason: added.remarks)
            }
        }
        var machine = try setup.machine(name)
        machine.variables["CLOUDKIT_ENDPOINT"] = endpoint
        let login = try await machine.welkin(
            "login", "--email", email, "--rounds", CloudAndMachines.rounds, input: ["correct horse"])
        guard login.status == 0 else { throw ChildFailure(program: "welkin login", reason: login.remarks) }
        return try machine.app()
    }

    /// Returns the names of the records of a zone, as its feed has them.
    static func names(_ database: CKDatabase, in zone: CKRecordZone.ID) async throws -> [String] {
        var names: [String] = []
        var token: CKServerChangeToken?
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            names += page.modificationResultsByID.keys.map(\.recordName)
            token = page.changeToken
            if !page.moreComing { return names.sorted() }
        }
    }
}
