import CloudKit
import CloudKitDevice
import CloudUnderTest
import Foundation
import SeededChance

/// Measurements of encrypted values against plain ones, from save to fetch.
extension Bench {
    private static let recordCount = 200
    private static let fieldNames = (0..<5).map { "field\($0)" }

    /// Measures saving and fetching 200 records with 5 fields of 100 bytes through the framework.
    func encryptedValues() async throws -> Comparison {
        var comparison = Comparison(
            id: "v", title: "200 records with 5 encrypted fields of 100 bytes, saved and fetched / with plain ones",
            unit: "ms", bound: .atMost, target: 1.15)
        let (cloud, _) = try self.cloud()
        defer { cloud.end() }
        let database = try container(of: cloud).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Values")).zoneID
        // Encrypted fields have no indexes, so the plain ones have none either.
        try await database.save(record(0, ofType: "Plain", batch: 0, in: zone, encrypted: false))
        for field in Self.fieldNames { try cloud.run("schema", "index", Self.container, "Plain", field) }

        let repeats = options.isQuick ? 2 : 10
        for round in 0...rounds {
            var (sealed, plain) = (0.0, 0.0)
            for turn in 0..<repeats {
                sealed += try await milliseconds(
                    in: zone, of: database, type: "Sealed", batch: round * repeats + turn, encrypted: true)
                plain += try await milliseconds(
                    in: zone, of: database, type: "Plain", batch: round * repeats + turn, encrypted: false)
            }
            // The first round warms up.
            guard round > 0 else { continue }
            comparison.measured.append(sealed / Double(repeats))
            comparison.yardstick.append(plain / Double(repeats))
        }
        return comparison
    }

    /// Returns a container for the profile of a device, with empty caches as in a new process.
    func container(of cloud: CloudProcess, profile name: String = "bench") throws -> CKContainer {
        try Self.container(port: cloud.port, folder: cloud.folder, profile: name)
    }

    /// Returns such a container for the cloud at a port, whose devices are below a folder.
    static func container(port: UInt16, folder: String, profile name: String) throws -> CKContainer {
        let profiles = DeviceConfiguration.profilesFolder(variables: ["XDG_DATA_HOME": folder + "/share"])
        let profile = DeviceProfile(name: name, in: profiles)
        let entry = try profile.credentials()?[container, DeviceConfiguration.environmentDefault]
        guard let entry else { throw BenchError("the device is not signed in") }
        return CKContainer(
            configuration: DeviceConfiguration(
                endpoint: "http://127.0.0.1:\(port)", container: container, apiToken: entry.apiToken,
                profile: name, profilesFolder: profiles))
    }

    private func milliseconds(
        in zone: CKRecordZone.ID, of database: CKDatabase, type: String, batch: Int, encrypted: Bool
    ) async throws -> Double {
        let records = (1...Self.recordCount).map {
            record($0, ofType: type, batch: batch, in: zone, encrypted: encrypted)
        }
        let start = ContinuousClock.now
        let saved = try await database.modifyRecords(saving: records, deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        let found = try await database.records(for: records.map(\.recordID))
        let time = ContinuousClock.now - start
        for result in found.values {
            let record = try result.get()
            let value = encrypted ? record.encryptedValues["field0"] as? String : record["field0"] as? String
            guard value?.utf8.count == 100 else { throw BenchError("a value did not come back") }
        }
        return time / .milliseconds(1)
    }

    private func record(
        _ number: Int, ofType type: String, batch: Int, in zone: CKRecordZone.ID, encrypted: Bool
    ) -> CKRecord {
        let record = CKRecord(
            recordType: type, recordID: CKRecord.ID(recordName: "\(type)-\(batch)-\(number)", zoneID: zone))
        var chance = SplitMix64(seed: UInt64(batch * 1000 + number))
        for name in Self.fieldNames {
            let text = String(
                (0..<100).map { _ in Character(Unicode.Scalar(UInt8.random(in: 97...122, using: &chance))) })
            if encrypted { record.encryptedValues[name] = text } else { record[name] = text }
        }
        return record
    }
}
