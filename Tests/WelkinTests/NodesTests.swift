import CloudUnderTest
import FaultyNetwork
import Foundation
import PostgresServer
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Several `welkin serve` processes on one database.
@Suite(
    "Nodes of one cloud", .timeLimit(.minutes(20)),
    .enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"))
struct NodesTests {
    /// Lines that tasks write.
    private final class Log: Sendable {
        private let held = Mutex<[String]>([])
        var lines: [String] { held.withLock { $0 } }
        func add(_ line: String) { held.withLock { $0.append(line) } }
    }

    @Test func `three nodes are restarted one after the other, and no operation of an app fails`() async throws {
        // On a busy machine a balancer may need seconds to notice that a node stops.
        try await NodesUnderTest.run(3, drain: 10) { nodes in
            let app = try await nodes.device("ada", of: "ada", isNew: true)
            let other = try await nodes.device("second", of: "ada", isNew: false)
            var inbox = other.remoteNotifications.makeAsyncIterator()
            while other.connection.notifications.registrations.load() == nil {
                try await Task.sleep(for: .milliseconds(1))
            }
            let zone = try await app.privateCloudDatabase.save(CKRecordZone(zoneName: "Z")).zoneID
            let (saved, errors) = (Log(), Log())
            let writers = (0..<4).map { writer in
                Task {
                    var number = 0
                    while !Task.isCancelled {
                        number += 1
                        let name = "R\(writer)-\(number)"
                        let record = CKRecord(
                            recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
                        do {
                            try await app.privateCloudDatabase.save(record)
                            saved.add(name)
                        } catch { errors.add("\(name): \(error)") }
                    }
                }
            }
            let reader = Task {
                while !Task.isCancelled {
                    do {
                        _ = try await other.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
                    } catch { errors.add("changes: \(error)") }
                }
            }
            for node in nodes.all {
                let before = saved.lines.count
                node.send(SIGTERM)
                // Other than `stop`, this occupies no thread of the app.
                while node.isRunning { try await Task.sleep(for: .milliseconds(20)) }
                // The others go on meanwhile.
                while saved.lines.count < before + 8 { try await Task.sleep(for: .milliseconds(5)) }
                try node.restart()
            }
            // A call that is cancelled would fail, and would have to.
            let stopped = saved.lines.count
            while saved.lines.count < stopped + 4 { try await Task.sleep(for: .milliseconds(5)) }
            let failedBefore = errors.lines
            #expect(failedBefore == [], "\(failedBefore)")
            for task in writers + [reader] {
                task.cancel()
                await task.value
            }
            let all = Set(try await NodesUnderTest.names(other.privateCloudDatabase, in: zone))
            #expect(all.isSuperset(of: saved.lines))
            // Devices that waited during the restarts hear of what follows.
            let subscription = CKDatabaseSubscription(subscriptionID: "D")
            subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            try await app.privateCloudDatabase.save(subscription)
            try await app.privateCloudDatabase.save(
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "last", zoneID: zone)))
            #expect(await inbox.next()?.notification?.subscriptionID == "D")
        }
    }

    @Test func `B-PSH-02 no notification is lost or doubled when one of two nodes is killed`() async throws {
        try await NodesUnderTest.run(2) { nodes in
            let ada = try await nodes.device("ada", of: "ada", isNew: true)
            let bob = try await nodes.device("bob", of: "bob", isNew: true)
            var inbox = ada.remoteNotifications.makeAsyncIterator()
            while ada.connection.notifications.registrations.load() == nil {
                try await Task.sleep(for: .milliseconds(1))
            }
            func record(_ name: String) -> CKRecord {
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
            }
            try await bob.publicCloudDatabase.save(record("R0"))
            let subscription = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "Q",
                options: .firesOnRecordCreation)
            subscription.notificationInfo = CKSubscription.NotificationInfo(alertBody: "A note")
            try await ada.publicCloudDatabase.save(subscription)
            for number in 1...60 {
                if number == 20 { nodes.all[0].kill() }
                if number == 40 { try nodes.all[0].restart() }
                do {
                    try await bob.publicCloudDatabase.save(record("R\(number)"))
                } catch let error as CKError where error.code == .networkFailure || error.code == .serverRecordChanged {
                    // Its answer was lost with the node: it is there, or is saved now.
                    let found = try? await bob.publicCloudDatabase.record(for: record("R\(number)").recordID)
                    if found == nil { try await bob.publicCloudDatabase.save(record("R\(number)")) }
                }
            }
            try await bob.publicCloudDatabase.save(record("end"))
            var heard: [String] = []
            while heard.last != "end" {
                let notification = await inbox.next()?.notification as? CKQueryNotification
                heard.append(try #require(notification?.recordID?.recordName))
            }
            #expect(heard == (1...60).map { "R\($0)" } + ["end"])
        }
    }
}
