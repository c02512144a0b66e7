import CloudKitDevice
import CloudKitTesting
import FaultyNetwork
import Foundation
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Long-lived operations whose process ends while their request is under way: another process goes on with what the disk has at that moment.
@Suite(.timeLimit(.minutes(20))) struct InterruptedOperationTests {
    /// A device whose disk is copied while an operation waits for its answer.
    private struct Device {
        let device: SigningDevice
        let network = InterruptedTransport()
        let container: CKContainer
        private var next: DeviceConfiguration

        init(_ cloud: ThrowawayCloud) async throws {
            device = SigningDevice(cloud)
            _ = try await device.signUp("correct horse")
            container = CKContainer(
                configuration: device.configuration, transport: network, clientEnvironment: .system)
            next = device.configuration
            next.profile = "next"
        }

        /// The device's app in its next process.
        var nextContainer: CKContainer { nextContainer(over: HTTPTransport.shared, .system) }

        func nextContainer(over network: any Transport, _ clientEnvironment: ClientClock) -> CKContainer {
            CKContainer(configuration: next, transport: network, clientEnvironment: clientEnvironment)
        }

        /// Runs an operation, and copies the disk when the answer to its request was sent; or instead of the request that follows a look at the
        /// zone.
        func interrupt(_ operation: CKModifyRecordsOperation, afterLook: Bool = false) async {
            let folder = device.configuration.profilesFolder
            let (current, next) = (device.configuration.profile, next.profile)
            let copy: @Sendable () async -> Void = {
                try? FileManager.default.copyItem(atPath: "\(folder)/\(current)", toPath: "\(folder)/\(next)")
            }
            if afterLook {
                network.interrupt("zones/lookup", .after) { [network] in
                    network.interrupt("records/modify", .before, by: copy)
                }
            } else {
                network.interrupt("records/modify", .after, by: copy)
            }
            let configuration = CKOperation.Configuration()
            configuration.isLongLived = true
            operation.configuration = configuration
            await Self.run(operation, in: container)
        }

        static func run(_ operation: CKModifyRecordsOperation, in container: CKContainer) async {
            await withCheckedContinuation { continuation in
                operation.completionBlock = { continuation.resume() }
                container.privateCloudDatabase.add(operation)
            }
        }
    }

    @Test func `B-OPS-06 B-THR-07 a save whose process ends before its answer comes is reported as saved`() async throws
    {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            let zone = try await device.container.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes")).zoneID
            func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }
            let old = try await device.container.privateCloudDatabase.save(
                CKRecord(recordType: "Note", recordID: id("old")))
            let gone = try await device.container.privateCloudDatabase.save(
                CKRecord(recordType: "Note", recordID: id("gone")))
            old["text"] = "changed"
            let new = CKRecord(recordType: "Note", recordID: id("new"))
            for record in [old, new] { record.encryptedValues["secret"] = "sealed" }
            let first = CKModifyRecordsOperation(recordsToSave: [old, new], recordIDsToDelete: [gone.recordID])
            await device.interrupt(first)

            let next = device.nextContainer
            #expect(try await next.allLongLivedOperationIDs() == [first.operationID])
            let found = try #require(
                try await next.longLivedOperation(for: first.operationID) as? CKModifyRecordsOperation)
            #expect(found !== first)
            let outcomes = Mutex<[String: String]>([:])
            let tags = Mutex<[String: String?]>([:])
            found.perRecordSaveBlock = { id, result in
                outcomes.withLock { $0[id.recordName] = Self.outcome(result) }
                tags.withLock { $0[id.recordName] = try? result.get().recordChangeTag }
            }
            found.perRecordDeleteBlock = { id, result in outcomes.withLock { $0[id.recordName] = Self.outcome(result) }
            }
            await Device.run(found, in: next)
            #expect(outcomes.withLock { $0 } == ["old": "done", "new": "done", "gone": "done"])
            let records = try await next.privateCloudDatabase.records(for: [id("old"), id("new")])
            for (id, result) in records {
                let record = try result.get()
                #expect(record.recordChangeTag == tags.withLock { $0[id.recordName] ?? nil })
                #expect(record.encryptedValues["secret"] as? String == "sealed")
            }
            #expect(try await next.allLongLivedOperationIDs().isEmpty)
        }
    }

    @Test func `B-OPS-06 B-TM-05 a save goes on in a zone whose keys were renewed meanwhile`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            let zone = try await device.container.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes")).zoneID
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note", zoneID: zone))
            record.encryptedValues["secret"] = "sealed"
            // Another process does so first, which this one learns when it saves.
            try await device.device.container.privateCloudDatabase.requests().raiseKeyEpoch(of: zone.model)
            let first = CKModifyRecordsOperation(recordsToSave: [record])
            await device.interrupt(first, afterLook: true)

            let next = device.nextContainer
            let database = next.privateCloudDatabase
            try await database.requests().raiseKeyEpoch(of: zone.model)
            _ = try await database.recordZone(for: zone)
            let found = try #require(
                try await next.longLivedOperation(for: first.operationID) as? CKModifyRecordsOperation)
            found.savePolicy = .allKeys
            let outcomes = Mutex<[String]>([])
            found.perRecordSaveBlock = { _, result in outcomes.withLock { $0.append(Self.outcome(result)) } }
            await Device.run(found, in: next)
            #expect(outcomes.withLock { $0 } == ["done"])
            #expect(try await database.record(for: record.recordID).encryptedValues["secret"] == "sealed")
        }
    }

    @Test func `B-OPS-06 B-THR-07 a resumed save whose files cannot be sent may have been saved`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            let zone = try await device.container.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes")).zoneID
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note", zoneID: zone))
            let files = try TestFiles()
            defer { withExtendedLifetime(files) {} }
            record["file"] = try files.asset("file", 6)
            let first = CKModifyRecordsOperation(recordsToSave: [record])
            await device.interrupt(first)

            let clock = TestClock()
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock.clientEnvironment) {
                $0.url.path.hasSuffix("assets/upload") ? .unreachable : nil
            }
            let next = device.nextContainer(over: network, clock.clientEnvironment)
            let found = try #require(
                try await next.longLivedOperation(for: first.operationID) as? CKModifyRecordsOperation)
            let end = Mutex<CKError.Code?>(nil)
            found.modifyRecordsResultBlock = { result in
                if case .failure(let error) = result { end.withLock { $0 = (error as? CKError)?.code } }
            }
            await Device.run(found, in: next)
            #expect(end.withLock { $0 } == .networkFailure)
            #expect(network.injectedFaults.contains(.unreachable))
        }
    }

    private static func outcome(_ result: Result<some Any, any Error>) -> String {
        switch result {
        case .success: "done"
        case .failure(let error): "\((error as? CKError)?.code.rawValue ?? 0) \(error)"
        }
    }
}
