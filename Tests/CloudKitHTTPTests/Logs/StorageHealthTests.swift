import CloudKitHTTP
import Testing

/// The disk in `/health` and in the metrics.
@Suite(.timeLimit(.minutes(2)))
struct StorageHealthTests {
    @Test func `health is not ok on a disk that is full or nearly so`() async throws {
        let storage = StorageMonitor()
        try await TestCloud.run(storage: storage) { cloud in
            #expect(try await cloud.client.get("/health")["status"] as? String == "ok")
            storage.update(StorageStatus(storeBytes: 5, freeBytes: 1 << 40, accounts: 3))
            var answer = try await cloud.client.get("/health")
            #expect(answer.status == 200 && answer["status"] as? String == "ok")
            #expect(answer["writing"] as? String == "ok" && answer["storeBytes"] as? Int == 5)
            #expect(answer["freeBytes"] as? Int == 1 << 40 && answer["accounts"] as? Int == 3)
            #expect(answer["version"] as? String == BuildVersion.text)
            storage.update(
                StorageStatus(storeBytes: 5, freeBytes: StorageStatus.freeBytesMin - 1))
            answer = try await cloud.client.get("/health")
            #expect(answer.status == 200 && answer["status"] as? String == "degraded")
            storage.update(StorageStatus(storeBytes: 5, freeBytes: 0, unwritable: .folder))
            answer = try await cloud.client.get("/health")
            #expect(answer.status == 503 && answer["status"] as? String == "failing")
            #expect(answer["writing"] as? String == "failing")
            // Under other names the status alone.
            answer = try await cloud.client.get("/health", headers: ["Host": "evil.example"])
            #expect(answer.status == 503 && answer["freeBytes"] == nil)
            storage.update(StorageStatus(storeBytes: 5, freeBytes: 1 << 40, unwritable: .database))
            answer = try await cloud.client.get("/health")
            let details = answer["details"] as? [[String: Any]]
            #expect(answer.status == 503 && details?.first?["reason"] as? String == "the database cannot be written to")
            storage.update(StorageStatus(storeBytes: 5, freeBytes: 1 << 40))
            #expect(try await cloud.client.get("/health")["status"] as? String == "ok")
        }
    }

    @Test func `the metrics have the disk, accounts and the version`() {
        let metrics = RequestMetrics()
        metrics.measured(
            StorageStatus(storeBytes: 5, freeBytes: 7, unwritable: .folder, memoryBytes: 11, accounts: 3))
        metrics.logEntriesDropped(2)
        let text = metrics.exposition()
        for line in [
            "welkin_store_bytes 5", "welkin_disk_free_bytes 7", "welkin_store_writable 0", "welkin_accounts 3",
            "welkin_memory_bytes 11",
            "welkin_log_entries_dropped_total 2", "welkin_build_info{version=\"\(BuildVersion.text)\"} 1",
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }
}
