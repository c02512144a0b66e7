import CloudUnderTest
import Foundation
import PostgresServer
import Synchronization
import Testing

@testable import CloudKit

/// Nodes and the database server are killed and frozen while apps write and follow.
///
/// `script/failover-campaign` runs it with more faults.
@Suite(
    "Failover", .timeLimit(.minutes(240)), .enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"))
struct FailoverTests {
    private enum Fault: CaseIterable {
        case nodeKilled, nodeFrozen, nodeStopped, serverKilled
    }

    /// What writers and followers have met.
    private struct Ledger {
        var saved: Set<String> = []
        /// Saves whose answer was lost, or that were refused as often as an operation repeats them, by the code of the error.
        var failures: [String: Int] = [:]
        /// How often the follower's feed named each record.
        var followed: [String: Int] = [:]
        /// The longest time from a save to its answer.
        var longest = Duration.zero
        /// Writers finish the record they are at and end.
        var writersShallEnd = false
        /// Every writer has ended: nothing is added to `saved` any more.
        var writersHaveEnded = false
    }

    /// Random numbers that a seed decides.
    private struct Chance: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    private static let variables = ProcessInfo.processInfo.environment
    private static let faultsMax = variables["FAILOVER_FAULTS"].flatMap { Int($0) } ?? 5
    private static let seed = variables["FAILOVER_SEED"].flatMap { UInt64($0) } ?? 1
    private static let writersPerUser = 2

    private func write(
        _ app: CKContainer, _ prefix: String, in zone: CKRecordZone.ID, _ box: LedgerBox
    ) async throws {
        var number = 0
        while !box.value.withLock({ $0.writersShallEnd }) {
            number += 1
            let name = "\(prefix)-\(number)"
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
            let start = ContinuousClock.now
            while true {
                do {
                    try await app.privateCloudDatabase.save(record)
                } catch let error as CKError where error.code == .serverRecordChanged {
                    // An earlier answer was lost: the record is there.
                } catch let error as CKError {
                    box.value.withLock { $0.failures["\(error.code.rawValue)", default: 0] += 1 }
                    continue
                }
                break
            }
            let took = ContinuousClock.now - start
            box.value.withLock { ledger in
                ledger.saved.insert(name)
                ledger.longest = max(ledger.longest, took)
            }
        }
    }

    private func follow(
        _ app: CKContainer, in zone: CKRecordZone.ID, _ box: LedgerBox
    ) async throws {
        var token: CKServerChangeToken?
        while true {
            let hasEnded = box.value.withLock { $0.writersHaveEnded && $0.saved.isSubset(of: $0.followed.keys) }
            do {
                let page = try await app.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: token)
                token = page.changeToken
                box.value.withLock { ledger in
                    for id in page.modificationResultsByID.keys { ledger.followed[id.recordName, default: 0] += 1 }
                }
                if hasEnded, !page.moreComing { return }
            } catch let error as CKError {
                box.value.withLock { $0.failures["follower \(error.code.rawValue)", default: 0] += 1 }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test func `what was acknowledged is there once, whatever is killed or frozen`() async throws {
        let server = try PostgresServer()
        try await NodesUnderTest.run(2, on: server) { nodes in
            let ada = try await nodes.device("ada", of: "ada", isNew: true)
            let second = try await nodes.device("second", of: "ada", isNew: false)
            let zone = try await ada.privateCloudDatabase.save(CKRecordZone(zoneName: "Z")).zoneID
            let ledger = LedgerBox()
            let writers = (0..<Self.writersPerUser * 2).map { number in
                Task { try await self.write(number % 2 == 0 ? ada : second, "R\(number)", in: zone, ledger) }
            }
            let follower = Task { try await self.follow(second, in: zone, ledger) }
            func progress(_ count: Int) async throws {
                let before = ledger.value.withLock { $0.saved.count }
                while ledger.value.withLock({ $0.saved.count }) < before + count {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            var chance = Chance(state: Self.seed)
            var counts: [String: Int] = [:]
            for number in 0..<Self.faultsMax {
                try await progress(Int.random(in: 5...40, using: &chance))
                let node = nodes.all[Int.random(in: 0..<nodes.all.count, using: &chance)]
                // The first faults are one of each kind.
                let fault =
                    number < Fault.allCases.count
                    ? Fault.allCases[number] : Fault.allCases.randomElement(using: &chance) ?? .nodeKilled
                counts["\(fault)", default: 0] += 1
                switch fault {
                case .nodeKilled:
                    node.kill()
                    try await progress(10)
                    try node.restart()
                case .nodeFrozen:
                    node.send(SIGSTOP)
                    // Longer than a node without a sign of life keeps its leases.
                    try await Task.sleep(for: .seconds(7))
                    node.send(SIGCONT)
                case .nodeStopped:
                    node.stop()
                    try node.restart()
                case .serverKilled:
                    try server.kill()
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0...3_000, using: &chance)))
                    try server.start()
                }
            }
            try await progress(10)
            ledger.value.withLock { $0.writersShallEnd = true }
            for writer in writers { try await writer.value }
            ledger.value.withLock { $0.writersHaveEnded = true }
            try await follower.value
            let found = try await NodesUnderTest.names(second.privateCloudDatabase, in: zone)
            let met = ledger.value.withLock { $0 }
            let lost = met.saved.subtracting(found)
            let doubled = met.followed.filter { $0.value > 1 }
            print(
                "failover: seed \(Self.seed), faults \(counts), \(met.saved.count) saves, lost \(lost.count), doubled \(doubled.count),",
                "errors of operations \(met.failures), longest save \(met.longest)")
            #expect(lost.isEmpty && doubled.isEmpty)
            #expect(found.count == Set(found).count)
            #expect(Set(met.followed.keys) == Set(found))
            let check = try await nodes.setup.runAsOperator("check")
            #expect(check.status == 0, "\(check.remarks)")
        }
    }

    /// The ledger, shared by tasks.
    private final class LedgerBox: Sendable {
        let value = Mutex(Ledger())
    }
}
