import Foundation
import ScriptedCloud
import Testing

@testable import CloudKit
@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct SettingsTests {
    @Test func `B-OPS-05 an operation's settings take precedence over its group's, and those over the defaults`() {
        let operation = CKFetchRecordsOperation(recordIDs: [])
        #expect(operation.callSettings().requestTimeout == 60)
        #expect(operation.callSettings().resourceTimeout == 7 * 24 * 3600)
        #expect(operation.callSettings().isDiscretionary)
        let group = CKOperationGroup()
        group.defaultConfiguration.timeoutIntervalForRequest = 20
        group.defaultConfiguration.qualityOfService = .userInitiated
        operation.group = group
        #expect(operation.callSettings().requestTimeout == 20)
        #expect(!operation.callSettings().isDiscretionary)
        operation.configuration.timeoutIntervalForRequest = 10
        operation.qualityOfService = .background
        #expect(operation.callSettings().requestTimeout == 10)
        #expect(operation.callSettings().isDiscretionary)
        operation.configuration = nil
        #expect(operation.callSettings().requestTimeout == 20)
    }

    @Test func `B-OPS-04 B-OPS-05 access to cellular networks reaches each request, and a group may refuse it`()
        async throws
    {
        let group = CKOperationGroup()
        group.defaultConfiguration.allowsCellularAccess = false
        for (configuration, expected) in [(nil, false), (true, true), (false, false)] as [(Bool?, Bool)] {
            let transport = ScriptedTransport(ScriptedTransport.findsAll)
            let operation = CKFetchRecordsOperation(recordIDs: [.init(recordName: "a")])
            if let configuration { operation.allowsCellularAccess = configuration }
            operation.group = group
            await withCheckedContinuation { continuation in
                operation.fetchRecordsResultBlock = { _ in continuation.resume() }
                CKContainer.scripted(transport).privateCloudDatabase.add(operation)
            }
            #expect(transport.requests.map(\.allowsCellularAccess) == [expected])
        }
    }

    @Test func `A configuration is copied when set and live when read`() {
        let operation = CKModifyRecordsOperation()
        let configuration = CKOperation.Configuration()
        operation.configuration = configuration
        configuration.timeoutIntervalForRequest = 5
        #expect(operation.configuration.timeoutIntervalForRequest == 60)
        operation.configuration.isLongLived = true
        #expect(operation.isLongLived)
        #expect(operation.configuration.allowsCellularAccess)
    }

    @Test func `Convenience functions are user-initiated unless someone says otherwise`() {
        #expect(!CallDefaults().settings().isDiscretionary)
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        #expect(CallDefaults(configuration).settings().isDiscretionary)
        let group = CKOperationGroup()
        group.defaultConfiguration.qualityOfService = .background
        #expect(CallDefaults(nil, group).settings().isDiscretionary)
        let operation = CKFetchRecordsOperation()
        CallDefaults(nil, group).apply(to: operation)
        #expect(operation.callSettings().isDiscretionary)
        CallDefaults().apply(to: operation)
        #expect(!operation.callSettings().isDiscretionary)
    }

    @Test func `A group is sent with each request of its operations`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.findsAll)
        let group = CKOperationGroup()
        group.name = "Löschen, alle"
        group.quantity = 3
        group.expectedSendSize = .kilobytes
        group.expectedReceiveSize = .tensOfMegabytes
        try await CKContainer.scripted(transport).configuredWith(group: group) { container in
            _ = try await container.privateCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
        }
        let headers = try #require(transport.requests.first?.headers)
        #expect(headers["X-Welkin-Operation-Group"] == group.operationGroupID)
        #expect(headers["X-Welkin-Operation-Group-Name"] == "L%C3%B6schen%2C%20alle")
        #expect(headers["X-Welkin-Group-Quantity"] == "3")
        #expect(headers["X-Welkin-Group-Expected-Send"] == "1048576")
        #expect(headers["X-Welkin-Group-Expected-Receive"] == "104857600")
    }

    @Test func `A group survives copies and archives`() throws {
        let group = CKOperationGroup()
        group.name = "Sync"
        group.quantity = 7
        group.expectedSendSize = .megabytes
        let data = try NSKeyedArchiver.archivedData(withRootObject: group, requiringSecureCoding: true)
        let decoded = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKOperationGroup.self, from: data))
        let copy = try #require(group.copy() as? CKOperationGroup)
        for other in [decoded, copy] {
            #expect(other.operationGroupID == group.operationGroupID)
            #expect(other.name == "Sync")
            #expect(other.quantity == 7)
            #expect(other.expectedSendSize == .megabytes)
        }
        #expect(CKOperationGroup().operationGroupID != group.operationGroupID)
    }

    @Test func `The configuration of a zone survives copies and archives`() throws {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: CKServerChangeToken("t"), resultsLimit: 5, desiredKeys: ["a"])
        let data = try NSKeyedArchiver.archivedData(withRootObject: configuration, requiringSecureCoding: true)
        let decoded = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKFetchRecordZoneChangesOperation.ZoneConfiguration.self, from: data))
        #expect(decoded.previousServerChangeToken == CKServerChangeToken("t"))
        #expect(decoded.resultsLimit == 5)
        #expect(decoded.desiredKeys == ["a"])
    }
}
