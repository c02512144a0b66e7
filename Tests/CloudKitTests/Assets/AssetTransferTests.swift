import CloudKitDevice
import CloudKitModel
import Foundation
import ScriptedCloud
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct AssetTransferTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Z", ownerName: CKCurrentUserDefaultName)

    private func record(_ name: String, in zoneID: CKRecordZone.ID? = nil) -> CKRecord {
        CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name, zoneID: zoneID ?? self.zoneID))
    }

    private func contents(_ record: CKRecord, _ key: String) throws -> [UInt8] {
        let asset = try #require(record[key] as? CKAsset)
        return Array(try Data(contentsOf: try #require(asset.fileURL)))
    }

    private func code(_ body: () async throws -> Void) async -> CKError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CKError)?.code
        }
    }

    // MARK: There and back

    @Test(arguments: [0, 1, 65_536, 65_537, 250_000])
    func `B-AST-01 a file comes back as it went, sealed on the way in the private database`(count: Int) async throws {
        let cloud = ScriptedAssetCloud()
        let a = try AssetDevice(cloud)
        let b = try AssetDevice(cloud)
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try a.file("f", count))
        try await a.container.privateCloudDatabase.save(record)
        let sent = try #require(cloud.state.withLock { $0.files.values.first })
        #expect(sent.count == count + 5 + 16 * max(1, (count + 65_535) / 65_536))
        let plain = AssetDevice.bytes(count)
        if count > 1 { #expect(Data(sent).range(of: Data(plain.prefix(64))) == nil) }
        let read = try await b.container.privateCloudDatabase.record(for: record.recordID)
        #expect(try contents(read, "photo") == plain)
    }

    @Test(arguments: [0, 1, 250_000]) func `B-AST-01 the public database holds files as they are`(count: Int)
        async throws
    {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let record = record("r", in: .default)
        record["photo"] = CKAsset(fileURL: try device.file("f", count))
        try await device.container.publicCloudDatabase.save(record)
        #expect(cloud.state.withLock { $0.files.values.first } == AssetDevice.bytes(count))
        let read = try await device.container.publicCloudDatabase.record(for: record.recordID)
        #expect(try contents(read, "photo") == AssetDevice.bytes(count))
        #expect(
            cloud.state.withLock { $0.records["r"]?.fields.first?.json }.map { String(decoding: $0, as: UTF8.self) }?
                .contains("wrappingKey") == false)
    }

    @Test func `B-AST-01 a list of files keeps their order`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let record = record("r")
        record["pages"] = try (1...4).map { CKAsset(fileURL: try device.file("f\($0)", 70_000, seed: UInt8($0))) }
        let database = device.container.privateCloudDatabase
        let saved = try await database.save(record)
        #expect((saved["pages"] as? [CKAsset])?.map(\.fileURL) == (record["pages"] as? [CKAsset])?.map(\.fileURL))
        let read = try await database.record(for: record.recordID)
        let pages = try #require(read["pages"] as? [CKAsset])
        for (index, page) in pages.enumerated() {
            #expect(
                Array(try Data(contentsOf: try #require(page.fileURL)))
                    == AssetDevice.bytes(70_000, seed: UInt8(index + 1)))
        }
        // In another order they stay where they are, and their keys are sealed again.
        read["pages"] = [pages[3], pages[0]]
        let before = cloud.count(.patch)
        try await database.save(read)
        #expect(cloud.count(.patch) == before)
        let again = try await database.record(for: record.recordID)
        let first = try #require((again["pages"] as? [CKAsset])?.first?.fileURL)
        #expect(Array(try Data(contentsOf: first)) == AssetDevice.bytes(70_000, seed: 4))
    }

    @Test func `desiredKeys without the asset's key fetch nothing`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let record = record("r")
        record["title"] = "x"
        record["photo"] = CKAsset(fileURL: try device.file("f", 10))
        let database = device.container.privateCloudDatabase
        try await database.save(record)
        let read = try await database.records(for: [record.recordID], desiredKeys: ["title"])
        #expect(try read[record.recordID]?.get()["title"] as? String == "x")
        #expect(cloud.count(.get) == 0)
    }

    /// Saves a file of three pieces, and has another device fetch it from a cloud that leads downloads elsewhere.
    ///
    /// - Parameter prepare: Called before the device fetches.
    private func fetchLedFile(from cloud: ScriptedAssetCloud, prepare: () -> Void = {}) async throws -> [UInt8] {
        cloud.state.withLock { $0.directHost = "objects.test" }
        let (a, b) = (try AssetDevice(cloud), try AssetDevice(cloud))
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try a.file("f", 250_000))
        try await a.container.privateCloudDatabase.save(record)
        prepare()
        return try contents(await b.container.privateCloudDatabase.record(for: record.recordID), "photo")
    }

    @Test func `a file comes from where the cloud leads, without what concerns the cloud`() async throws {
        let cloud = ScriptedAssetCloud()
        #expect(try await fetchLedFile(from: cloud) == AssetDevice.bytes(250_000))
        let direct = cloud.state.withLock { $0.requests.filter { $0.url.host == "objects.test" } }
        #expect(direct.count == 3)
        #expect(direct.allSatisfy { Array($0.headers.keys) == ["Range"] })
    }

    @Test(arguments: ["objects.test", "http://objects.test"])
    func `a file comes through the cloud where it does not come from elsewhere`(host: String) async throws {
        let cloud = ScriptedAssetCloud()
        let bytes = try await fetchLedFile(from: cloud) {
            // The first answer leads elsewhere, and the request there breaks, or would not be encrypted.
            if host == "objects.test" {
                cloud.trouble(.get, .answers { $0 }, .breaks(after: 0))
            } else {
                cloud.trouble(
                    .get, .answers { _ in TransportResponse(status: 307, headers: ["Location": host + "/x"]) })
            }
        }
        #expect(bytes == AssetDevice.bytes(250_000))
        let hosts = cloud.state.withLock { $0.requests.filter { $0.method == .get }.map { $0.url.host ?? "" } }
        #expect(hosts.filter { $0 == "objects.test" }.count == (host == "objects.test" ? 1 : 0))
        #expect(hosts.suffix(3) == ["files.test", "files.test", "files.test"])
    }

    // MARK: Nothing twice

    @Test func `B-AST-03 an unchanged file is neither sent nor fetched again`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let url = try device.file("f", 200_000)
        let record = record("r")
        record["photo"] = CKAsset(fileURL: url)
        try await database.save(record)
        let (sent, tickets) = (cloud.count(.patch), cloud.count(.post, "assets/upload"))

        // The same object, with all keys; a fetched one; another object with the same contents.
        _ = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
        let read = try await database.record(for: record.recordID)
        let fetched = cloud.count(.get)
        read["photo"] = read["photo"]
        try await database.save(read)
        read["photo"] = CKAsset(fileURL: try device.file("copy", 200_000))
        try await database.save(read)
        #expect(cloud.count(.patch) == sent)
        #expect(cloud.count(.post, "assets/upload") == tickets)

        #expect(try contents(try await database.record(for: record.recordID), "photo") == AssetDevice.bytes(200_000))
        #expect(cloud.count(.get) == fetched)

        // The file is another one now.
        _ = try device.file("f", 200_000, seed: 9)
        read["photo"] = CKAsset(fileURL: url)
        _ = try await database.modifyRecords(saving: [read], deleting: [], savePolicy: .changedKeys)
        #expect(cloud.count(.patch) > sent)
        #expect(
            try contents(try await database.record(for: record.recordID), "photo")
                == AssetDevice.bytes(200_000, seed: 9))
    }

    @Test func `B-AST-03 an asset of one record is used in another without being sent again`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let first = record("first")
        first["photo"] = CKAsset(fileURL: try device.file("f", 1000))
        try await database.save(first)
        let read = try await database.record(for: first.recordID)
        let second = record("second")
        second["cover"] = read["photo"]
        second["all"] = [read["photo"]].compactMap { $0 as? CKAsset }
        try await database.save(second)
        #expect(cloud.count(.patch) == 1)
        let other = try AssetDevice(cloud)
        let again = try await other.container.privateCloudDatabase.record(for: second.recordID)
        #expect(try contents(again, "cover") == AssetDevice.bytes(1000))
        #expect(
            ((again["all"] as? [CKAsset])?.first?.fileURL).map { FileManager.default.fileExists(atPath: $0.path) }
                == true)
        // Of a list the cloud gives none: it is sent from the staged copy.
        let third = record("third")
        third["photo"] = (again["all"] as? [CKAsset])?.first
        try await other.container.privateCloudDatabase.save(third)
        #expect(cloud.count(.patch) == 2)
    }

    @Test func `B-AST-03 an asset that moved to another field of its record is there from then on`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 1000))
        try await database.save(record)
        let read = try await database.record(for: record.recordID)
        let photo = try #require(read["photo"] as? CKAsset)
        read["photo"] = nil
        read["cover"] = photo
        try await database.save(read)
        let asked = cloud.count(.post, "assets/rereference")
        #expect(asked == 1)
        // Set again, it is sent by its place: it is not asked for where it was, and not uploaded.
        read["cover"] = photo
        try await database.save(read)
        #expect(cloud.count(.post, "assets/rereference") == asked)
        #expect(cloud.count(.patch) == 1)
    }

    @Test func `B-AST-03 a fetched asset is taken from its record for each other one`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let first = record("first")
        first["photo"] = CKAsset(fileURL: try device.file("f", 1000))
        try await database.save(first)
        let photo = try #require(try await database.record(for: first.recordID)["photo"] as? CKAsset)
        let second = record("second")
        second["photo"] = photo
        try await database.save(second)
        // Another device deletes the record that the asset was used in meanwhile.
        cloud.state.withLock { $0.records["second"] = nil }
        let third = record("third")
        third["photo"] = photo
        try await database.save(third)
        #expect(cloud.count(.post, "assets/rereference") == 2)
        #expect(cloud.count(.patch) == 1)
    }

    @Test func `A save of another field keeps the file of a fetched asset`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 10))
        try await database.save(record)
        let read = try await database.record(for: record.recordID)
        read["title"] = "x"
        let saved = try await database.save(read)
        #expect(try contents(read, "photo") == AssetDevice.bytes(10))
        #expect(try contents(saved, "photo") == AssetDevice.bytes(10))
    }

    // MARK: Breaks

    @Test func `A broken upload goes on where it was`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        cloud.trouble(.patch, .breaks(after: 30_000), .breaks(after: 0), .losesAnswer, .breaks(after: 7))
        cloud.trouble(.head, .losesAnswer)
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 500_000))
        try await device.container.privateCloudDatabase.save(record)
        let read = try await device.container.privateCloudDatabase.record(for: record.recordID)
        #expect(try contents(read, "photo") == AssetDevice.bytes(500_000))
        #expect(cloud.count(.post, "assets/upload") == 1)
        let offsets = cloud.state.withLock { state in
            state.requests.filter { $0.method == .patch }.compactMap { $0.headers["Upload-Offset"].flatMap(Int.init) }
        }
        #expect(offsets[1] == 30_000)
        #expect(offsets == offsets.sorted())
    }

    @Test func `B-OPS-04 a transfer waits for a cloud that starts again, and keeps the size of its pieces`()
        async throws
    {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud, pieceBytes: 600_000)
        let away = RequestFailure(.serverUnavailable, "the database is away", retryAfter: 1)
        let restart: [ScriptedAssetCloud.Trouble] =
            Array(repeating: .isClosed, count: 6) + Array(repeating: .refuses(away), count: 4)
        cloud.state.withLock { state in
            state.troubles = [.patch: [.isClosed], .head: restart, .get: restart]
        }
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 1_000_000))
        try await device.container.privateCloudDatabase.save(record)
        let read = try await device.container.privateCloudDatabase.record(for: record.recordID)
        #expect(try contents(read, "photo") == AssetDevice.bytes(1_000_000))
        #expect(cloud.count(.patch) == 3)
    }

    @Test func `The answer to the last piece may be lost`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        cloud.trouble(.patch, .losesAnswer)
        let record = record("r", in: .default)
        record["photo"] = CKAsset(fileURL: try device.file("f", 5))
        try await device.container.publicCloudDatabase.save(record)
        #expect(cloud.count(.patch) == 2)
        #expect(cloud.state.withLock { $0.files.count } == 1)
    }

    @Test func `An upload whose URL is no longer valid starts again`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud, pieceBytes: 300_000)
        cloud.trouble(
            .patch, .breaks(after: 10), .refuses(RequestFailure(.accessDenied, "the upload URL has expired")))
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 500_000))
        try await device.container.privateCloudDatabase.save(record)
        #expect(cloud.count(.post, "assets/upload") == 2)
        let read = try await device.container.privateCloudDatabase.record(for: record.recordID)
        #expect(try contents(read, "photo") == AssetDevice.bytes(500_000))
    }

    @Test func `An upload that breaks again and again is given up`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let broken = Array(repeating: ScriptedAssetCloud.Trouble.breaks(after: 0), count: 10)
        cloud.state.withLock { $0.troubles[.patch] = broken }
        let record = record("r", in: .default)
        record["photo"] = CKAsset(fileURL: try device.file("f", 5))
        #expect(await code { _ = try await device.container.publicCloudDatabase.save(record) } == .networkFailure)
        #expect(cloud.count(.patch) == 8)
        #expect(cloud.count(.post, "records/modify") == 0)
    }

    @Test func `B-THR-02 a quota failure carries its retry-after`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        cloud.trouble(.patch, .refuses(RequestFailure(.tryAgainLater, "no room", retryAfter: 70)))
        let record = record("r", in: .default)
        record["photo"] = CKAsset(fileURL: try device.file("f", 5))
        let error = await #expect(throws: CKError.self) {
            _ = try await device.container.publicCloudDatabase.save(record)
        }
        #expect(error?.code == .serviceUnavailable)
        #expect(error?.retryAfterSeconds == 70)
    }

    @Test func `A broken download goes on where it was`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 500_000))
        try await device.container.privateCloudDatabase.save(record)
        cloud.trouble(
            .get, .answers { $0 }, .losesAnswer,
            .answers { TransportResponse(status: $0.status, headers: $0.headers, body: Array($0.body.prefix(7))) },
            .answers { $0 },
            .refuses(RequestFailure(.accessDenied, "the download URL has expired")))
        let read = try await device.container.privateCloudDatabase.record(for: record.recordID)
        #expect(try contents(read, "photo") == AssetDevice.bytes(500_000))
        let starts = cloud.state.withLock { state in
            state.requests.filter { $0.method == .get }.compactMap {
                $0.headers["Range"]?.dropFirst(6).split(separator: "-").first.flatMap { Int($0) }
            }
        }
        #expect(starts == starts.sorted())
        #expect(Set(starts).count == starts.count - 3)
    }

    @Test func `B-THR-04 a piece of a file that breaks is tried again after a pause, each longer than the one before`()
        async throws
    {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 1000))
        cloud.trouble(.patch, .losesAnswer)
        try await database.save(record)
        #expect(device.clock.slept == [.milliseconds(250)])
        cloud.trouble(.get, .losesAnswer, .losesAnswer)
        let read = try await database.record(for: record.recordID)
        #expect(try contents(read, "photo") == AssetDevice.bytes(1000))
        #expect(device.clock.slept == [.milliseconds(250), .milliseconds(250), .milliseconds(500)])
    }

    @Test func `The part of a download that an earlier process left is used, and checked`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud, pieceBytes: 200_000)
        let database = device.container.privateCloudDatabase
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 500_000))
        try await database.save(record)
        let lost = Array(repeating: ScriptedAssetCloud.Trouble.breaks(after: 0), count: 8)
        cloud.state.withLock { $0.troubles[.get] = [.answers { $0 }] + lost }
        #expect(await code { _ = try await database.record(for: record.recordID) } == .networkFailure)
        let before = cloud.count(.get)
        #expect(try contents(try await database.record(for: record.recordID), "photo") == AssetDevice.bytes(500_000))
        let first = cloud.state.withLock { $0.requests.filter { $0.method == .get }[before].headers["Range"] }
        #expect(first?.hasPrefix("bytes=0-") == false)

        // Damaged on the disk: it is fetched again.
        let other = try AssetDevice(cloud, pieceBytes: 200_000)
        cloud.state.withLock { $0.troubles[.get] = [.answers { $0 }] + lost }
        #expect(
            await code { _ = try await other.container.privateCloudDatabase.record(for: record.recordID) }
                == .networkFailure)
        let folder = other.folder.path + "/cache/partial"
        let partial = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: folder + "/" + partial))
        try handle.write(contentsOf: Data([255, 255]))
        try handle.close()
        let read = try await other.container.privateCloudDatabase.record(for: record.recordID)
        #expect(try contents(read, "photo") == AssetDevice.bytes(500_000))
    }

    // MARK: What is wrong with a file

    @Test func `B-AST-05 a missing file is that record's assetFileNotFound, others go on`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let missing = record("missing", in: .default)
        missing["photo"] = CKAsset(fileURL: device.folder.appendingPathComponent("nowhere"))
        let folder = record("folder", in: .default)
        folder["photo"] = CKAsset(fileURL: device.folder)
        let good = record("good", in: .default)
        good["photo"] = CKAsset(fileURL: try device.file("f", 5))
        let results = try await device.container.publicCloudDatabase.modifyRecords(
            saving: [missing, good, folder], deleting: []
        ).saveResults
        for record in [missing, folder] {
            guard case .failure(let error as CKError) = results[record.recordID] else {
                Issue.record("\(record.recordID.recordName) was saved")
                continue
            }
            #expect(error.code == .assetFileNotFound)
        }
        #expect(throws: Never.self) { try results[good.recordID]?.get() }
        #expect(cloud.state.withLock { Set($0.records.keys) } == ["good"])
    }

    @Test func `B-BAT-02 in an atomic zone a missing file keeps the others from being saved`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let missing = record("missing")
        missing["photo"] = CKAsset(fileURL: device.folder.appendingPathComponent("nowhere"))
        let other = record("other")
        other["title"] = "x"
        let error = await #expect(throws: CKError.self) {
            try await device.container.privateCloudDatabase.modifyRecords(saving: [missing, other], deleting: [])
        }
        let errors = error?.partialErrorsByItemID ?? [:]
        let codes = [missing, other].map { (errors[$0.recordID] as? CKError)?.code }
        #expect(codes == [.assetFileNotFound, .batchRequestFailed])
        #expect(cloud.count(.post, "records/modify") == 0)
        let single = try await device.container.privateCloudDatabase.modifyRecords(
            saving: [missing, other], deleting: [], atomically: false
        ).saveResults
        #expect(throws: Never.self) { try single[other.recordID]?.get() }
    }

    @Test(arguments: [false, true])
    func `B-AST-05 a file that changes while it is sent is assetFileModified`(isShorter: Bool) async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let url = try device.file("f", 500_000)
        cloud.trouble(
            .patch,
            .meanwhile {
                try? Data(AssetDevice.bytes(isShorter ? 300_000 : 500_000, seed: 7)).write(to: url)
            })
        let record = record("r")
        record["photo"] = CKAsset(fileURL: url)
        #expect(
            await code { _ = try await device.container.privateCloudDatabase.save(record) } == .assetFileModified)
        #expect(cloud.count(.post, "records/modify") == 0)
        #expect(record.changedKeys() == ["photo"])
    }

    @Test func `B-AST-05 a file written to in place while it is sent is assetFileModified`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let url = try device.file("f", 500_000)
        cloud.trouble(
            .patch,
            .meanwhile {
                // The size stays, and so does the time.
                let stamp = try? FileManager.default.attributesOfItem(atPath: url.path)[.modificationDate] as? Date
                let handle = try? FileHandle(forUpdating: url)
                try? handle?.seek(toOffset: 400_000)
                try? handle?.write(contentsOf: Data([0, 1, 2, 3]))
                try? handle?.close()
                if let stamp {
                    try? FileManager.default.setAttributes([.modificationDate: stamp], ofItemAtPath: url.path)
                }
            })
        let record = record("r", in: .default)
        record["photo"] = CKAsset(fileURL: url)
        #expect(await code { _ = try await device.container.publicCloudDatabase.save(record) } == .assetFileModified)
    }

    @Test func `B-AST-04 B-AST-05 a file that the cloud lost is that record's assetNotAvailable`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let lost = record("lost")
        lost["photo"] = CKAsset(fileURL: try device.file("a", 5, seed: 3))
        let good = record("good")
        good["photo"] = CKAsset(fileURL: try device.file("b", 5))
        try await database.save(lost)
        cloud.state.withLock { $0.files = [:] }
        try await database.save(good)
        let results = try await database.records(for: [lost.recordID, good.recordID])
        guard case .failure(let error as CKError) = results[lost.recordID] else {
            Issue.record("the file is gone")
            return
        }
        #expect(error.code == .assetNotAvailable)
        #expect(try contents(try #require(try results[good.recordID]?.get()), "photo") == AssetDevice.bytes(5))
        #expect(try await database.records(for: [lost.recordID], desiredKeys: [])[lost.recordID]?.get() != nil)
    }

    @Test(arguments: ["tampered", "truncated", "swapped", "longer"])
    func `B-TM-12 a file that is not the one that was saved is an error, never a file`(how: String) async throws {
        for isPrivate in [true, false] {
            let cloud = ScriptedAssetCloud()
            let device = try AssetDevice(cloud)
            let container = device.container
            let database = isPrivate ? container.privateCloudDatabase : container.publicCloudDatabase
            let record = record("r", in: .default)
            record["photo"] = CKAsset(fileURL: try device.file("f", 200_000))
            try await database.save(record)
            cloud.state.withLock { state in
                for (name, bytes) in state.files {
                    var bytes = bytes
                    switch how {
                    case "tampered": bytes[150_000] ^= 1
                    case "truncated": bytes.removeLast(70_000)
                    // Two bytes of ciphertext may be equal; sixteen are not.
                    case "swapped": for offset in 0..<16 { bytes.swapAt(10 + offset, 100_000 + offset) }
                    default: bytes.append(0)
                    }
                    state.files[name] = bytes
                }
            }
            let code = await code { _ = try await database.record(for: record.recordID) }
            #expect(code == .internalError)
            #expect(device.cachedFiles == 0)
        }
    }

    @Test func `B-TM-04 an asset moved by the cloud to another field does not open`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 10))
        try await database.save(record)
        cloud.state.withLock { $0.records["r"]?.fields[0].name = "other" }
        #expect(await code { _ = try await database.record(for: record.recordID) } == .internalError)
        #expect(cloud.count(.get) == 0)
    }

    @Test func `B-TM-12 a plain file in the place of a sealed one is found out`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 10))
        try await database.save(record)
        try cloud.state.withLock { state in
            var checksum = FileChecksum()
            checksum.update([1, 2, 3])
            state.files[checksum.text] = [1, 2, 3]
            let value = AssetValue(fileChecksum: checksum.text, size: 3)
            state.records["r"]?.fields = [try Field(name: "photo", value: .asset(value))]
        }
        #expect(await code { _ = try await database.record(for: record.recordID) } == .internalError)
        // A file of a web client is in a record without sealed values, as far as the device has seen none there.
        cloud.state.withLock { $0.records["r"]?.protection = nil }
        #expect(await code { _ = try await database.record(for: record.recordID) } == .internalError)
        let fresh = try AssetDevice(cloud).container.privateCloudDatabase
        #expect(try contents(try await fresh.record(for: record.recordID), "photo") == [1, 2, 3])
    }

    @Test func `Without the account's keys no file leaves the device, and none comes`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let stranger = try AssetDevice(cloud, secret: nil)
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 10))
        let other = stranger.container.privateCloudDatabase
        #expect(await code { _ = try await other.save(record) } == .accountTemporarilyUnavailable)
        #expect(cloud.count(.patch) == 0)
        try await device.container.privateCloudDatabase.save(record)
        #expect(await code { _ = try await other.record(for: record.recordID) } == .accountTemporarilyUnavailable)
        #expect(cloud.count(.get) == 0)
        let bare = try await other.records(for: [record.recordID], desiredKeys: [])
        #expect(throws: Never.self) { try bare[record.recordID]?.get() }
    }

    @Test func `B-SAV-08 the server's record of a conflict has assets without files, and can be saved`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 10))
        try await database.save(record)
        let server = try #require(cloud.state.withLock { $0.records["r"] })
        cloud.state.withLock {
            $0.refusesNextSave = RequestFailure(
                .conflict, "client oplock error updating record", serverRecord: server)
        }
        record["title"] = "mine"
        let error = try #require(await #expect(throws: CKError.self) { _ = try await database.save(record) })
        let held = try #require(error.serverRecord)
        #expect((held["photo"] as? CKAsset)?.fileURL == nil)
        held["title"] = "mine"
        held["photo"] = held["photo"]
        try await database.save(held)
        #expect(cloud.count(.patch) == 1)
        #expect(try contents(try await database.record(for: record.recordID), "photo") == AssetDevice.bytes(10))
    }

    @Test func `An archived record keeps its assets`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 10))
        try await database.save(record)
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        try await database.record(for: record.recordID).encode(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        let again = try #require(CKRecord(coder: unarchiver))
        again["cover"] = again["photo"]
        try await database.save(again)
        #expect(cloud.count(.patch) == 1)
        #expect(try contents(try await database.record(for: record.recordID), "cover") == AssetDevice.bytes(10))
    }

    @Test func `A record that was deleted and saved again uploads its file again`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let old = record("r")
        old["photo"] = CKAsset(fileURL: try device.file("f", 10))
        try await database.save(old)
        let fetched = try await database.record(for: old.recordID)
        cloud.state.withLock { $0.records = [:] }
        let new = record("r")
        new["photo"] = fetched["photo"]
        try await database.save(new)
        #expect(cloud.count(.patch) == 2)
        #expect(try contents(try await database.record(for: old.recordID), "photo") == AssetDevice.bytes(10))
    }

    @Test func `Files are sent only to URLs that are encrypted on the way`() async throws {
        let requests = AssetRequests(
            cloud: CKContainer.scripted(ScriptedTransport()).connection.cloud,
            settings: CallDefaults().settings())
        for bad in ["http://files.example.com/x", "ftp://files.example.com/x", "file:///etc/passwd", ""] {
            #expect(throws: CallFailure.self) { try requests.url(bad) }
        }
        #expect(try requests.url("/assets/x/${f}").absoluteString == "https://cloud.test/assets/x/file")
        #expect(try requests.url("http://127.0.0.1:8080/x").host == "127.0.0.1")
    }

    @Test func `B-AST-04 a cache that cannot be written is an error of the record, and loses nothing`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let database = device.container.privateCloudDatabase
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 10))
        try await database.save(record)
        // A file where the folder should be.
        try Data().write(to: device.folder.appendingPathComponent("cache"))
        let error = await #expect(throws: CKError.self) { _ = try await database.record(for: record.recordID) }
        #expect(error?.code == .internalError)
        #expect((error?.errorUserInfo[NSUnderlyingErrorKey] as? NSError)?.domain == NSPOSIXErrorDomain)
        try FileManager.default.removeItem(at: device.folder.appendingPathComponent("cache"))
        #expect(try contents(try await database.record(for: record.recordID), "photo") == AssetDevice.bytes(10))
    }

    // MARK: Operations

    @Test func `Progress of a save is real, monotone and ends at 1, before the record's own block`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 400_000))
        record["more"] = [CKAsset(fileURL: try device.file("g", 200_000)), CKAsset(fileURL: try device.file("h", 0))]
        cloud.trouble(.patch, .breaks(after: 1000))
        let log = Mutex<[Double]>([])
        await withCheckedContinuation { continuation in
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            operation.perRecordProgressBlock = { _, fraction in log.withLock { $0.append(fraction) } }
            operation.perRecordSaveBlock = { _, result in
                #expect(throws: Never.self) { try result.get() }
                log.withLock { $0.append(2) }
            }
            operation.modifyRecordsResultBlock = { _ in continuation.resume() }
            device.container.privateCloudDatabase.add(operation)
        }
        let steps = log.withLock { $0 }
        #expect(steps == steps.sorted() && Set(steps).count == steps.count)
        #expect(steps.suffix(2) == [1, 2])
        #expect(steps.count > 5)
        #expect(steps.first.map { $0 < 0.5 } == true)
    }

    @Test func `Progress of a fetch is real, monotone and ends at 1`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let record = record("r")
        record["photo"] = CKAsset(fileURL: try device.file("f", 400_000))
        record["more"] = [CKAsset(fileURL: try device.file("g", 300_000, seed: 5))]
        try await device.container.privateCloudDatabase.save(record)
        let log = Mutex<[Double]>([])
        await withCheckedContinuation { continuation in
            let operation = CKFetchRecordsOperation(recordIDs: [record.recordID])
            operation.perRecordProgressBlock = { _, fraction in log.withLock { $0.append(fraction) } }
            operation.perRecordResultBlock = { _, _ in log.withLock { $0.append(2) } }
            operation.fetchRecordsResultBlock = { _ in continuation.resume() }
            device.container.privateCloudDatabase.add(operation)
        }
        let steps = log.withLock { $0 }
        #expect(steps == steps.sorted() && Set(steps).count == steps.count)
        #expect(steps.suffix(2) == [1, 2])
        #expect(steps.count > 5)
    }

    @Test func `A cancelled upload ends the operation with operationCancelled, and nothing is saved`() async throws {
        let cloud = ScriptedAssetCloud()
        let device = try AssetDevice(cloud)
        let record = record("r", in: .default)
        record["photo"] = CKAsset(fileURL: try device.file("f", 500_000))
        let code: CKError.Code? = await withCheckedContinuation { continuation in
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            operation.perRecordProgressBlock = { _, _ in operation.cancel() }
            operation.modifyRecordsResultBlock = { result in
                guard case .failure(let error as CKError) = result else { return continuation.resume(returning: nil) }
                continuation.resume(returning: error.code)
            }
            device.container.publicCloudDatabase.add(operation)
        }
        #expect(code == .operationCancelled)
        #expect(cloud.count(.post, "records/modify") == 0)
    }
}
