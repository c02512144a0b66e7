import CloudKitModel
import CloudKitServer
import Foundation
import OrderedStore
import Testing

/// Pins the key and value of a stored fault.
@Suite(.timeLimit(.minutes(20))) struct StoredFaultTests {
    @Test func `a fault is stored as JSON under its id`() async throws {
        try await withCloud { test in
            let fault = try await test.cloud.faults.order(
                .quota, in: TestCloud.container, for: TestCloud.ada, seconds: 60, bytes: 5, sendsRetryAfter: false)
            let entries = try await test.store.read(test.cloud.accountStore.partition) { transaction in
                try await transaction.scan(KeyRange(prefix: Array("fault/".utf8)), limit: .max)
            }
            #expect(entries.map { String(decoding: $0.key, as: UTF8.self) } == ["fault/" + fault.id])
            let object = try JSONSerialization.jsonObject(with: Data(entries[0].value)) as? NSDictionary
            #expect(
                object == [
                    "id": fault.id, "kind": "quota", "container": TestCloud.container.name,
                    "user": TestCloud.ada.recordName, "until": 1_700_000_060_000, "bytes": 5, "isSilent": true,
                ])
        }
    }
}
