import CloudUnderTest
import Foundation
import PostgresServer
import Testing

@testable import CloudKit

/// Parts of a cloud are killed and frozen while apps write, follow and wait: nothing is lost or doubled, and no operation fails.
///
/// `script/failover-campaign` runs it with more faults, on the parts of `script/cluster`.
@Suite(
    "Failover", .timeLimit(.minutes(240)), .enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"))
struct FailoverTests {
    private static let variables = ProcessInfo.processInfo.environment
    private static let faultsMax = variables["FAILOVER_FAULTS"].flatMap { Int($0) } ?? 5
    private static let seed = variables["FAILOVER_SEED"].flatMap { UInt64($0) } ?? 1
    private static let writersMax = variables["FAILOVER_WRITERS"].flatMap { Int($0) } ?? 16

    @Test(.enabled(if: variables["FAILOVER_CLUSTER"] == nil, "the campaign has a cluster"))
    func `no app notices that nodes or the database server are killed or frozen`() async throws {
        let server = try PostgresServer()
        try await NodesUnderTest.run(2, on: server) { nodes in
            try await run(NodesWithFaults(nodes: nodes, server: server), Self.faultsMax)
        }
    }

    @Test(.enabled(if: variables["FAILOVER_CLUSTER"] != nil, "script/failover-campaign"))
    func `no app notices that parts of a cluster are killed or frozen`() async throws {
        let folder = try #require(Self.variables["FAILOVER_CLUSTER"])
        try await run(try ClusterWithFaults(folder: folder), Self.faultsMax)
    }

    private func run(_ cloud: some CloudWithFaults, _ faultsMax: Int) async throws {
        var chance = Chance(state: Self.seed)
        let devices = [
            try await cloud.device("ada", of: "ada", isNew: true),
            try await cloud.device("second", of: "ada", isNew: false),
        ]
        let zone = try await devices[0].privateCloudDatabase.save(CKRecordZone(zoneName: "Z")).zoneID
        let ledger = Ledger()
        let apps = FailoverApps(devices: devices, zone: zone, ledger: ledger)
        let running = try await apps.start(writers: Self.writersMax)
        var counts: [String: Int] = [:]
        var shown = 0
        for number in 0..<faultsMax {
            try await ledger.progress(Int.random(in: 20...120, using: &chance))
            // The first faults are one of each kind.
            let fault =
                number < cloud.faults.count
                ? cloud.faults[number] : cloud.faults.randomElement(using: &chance) ?? cloud.faults[0]
            counts[fault, default: 0] += 1
            try await cloud.inject(fault, &chance) { try await ledger.progress($0) }
            // Those since the last line: an operation fails when it has waited for long.
            let errors = ledger.errors.dropFirst(shown)
            shown += errors.count
            print(
                "failover: \(number + 1) \(fault), \(ledger.savedCount) saves, \(errors.count) errors \(errors.prefix(3))"
            )
            // A run that is ended leaves its lines behind.
            fflush(nil)
        }
        try await ledger.progress(20)
        try await running.end()
        let found = try await apps.found()
        print(
            "failover: seed \(Self.seed), \(Self.writersMax) writers, faults \(counts), \(ledger.savedCount) saves,",
            "lost \(found.lost.count), doubled \(found.doubled.count),",
            "errors of operations \(ledger.errors.count), longest \(ledger.longest)")
        #expect(found.lost.isEmpty && found.doubled.isEmpty, "\(found)")
        #expect(found.isFeedExact)
        #expect(found.differences == [])
        #expect(ledger.errors == [])
        let check = try await cloud.check()
        #expect(check.status == 0, "\(check.output)\(check.remarks)")
    }
}
