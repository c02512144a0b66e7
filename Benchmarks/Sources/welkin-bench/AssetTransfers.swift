import CloudKit
import CloudUnderTest
import Foundation
import SeededChance

/// Measurements of whole files on their way through device and server.
extension Bench {
    /// Measures saving a record with a large sealed asset and fetching it on another device, against two copies of the file with `fsync`:
    /// both make two files durable.
    func assetTransfers() async throws -> Comparison {
        let megabytes = options.isQuick ? 16 : 256
        var comparison = Comparison(
            id: "u", title: "a sealed asset of \(megabytes) MiB saved and fetched / two copies of the file with fsync",
            unit: "MB/s", bound: .atLeast, target: 0.70)
        let (cloud, _) = try self.cloud()
        defer { cloud.end() }
        let saver = try container(of: cloud)
        let zone = try await saver.privateCloudDatabase.save(CKRecordZone(zoneName: "Files")).zoneID
        let file = URL(fileURLWithPath: folder + "/file")
        var (up, down, device, server): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for round in 0...rounds {
            try Self.makeFile(megabytes: megabytes, seed: round, to: file)
            let bytes = Double(megabytes << 20)
            sync()
            let copied = try Self.seconds {
                for copy in ["one", "two"] { try Self.copy(file.path, to: folder + "/" + copy) }
            }
            for copy in ["one", "two"] { try FileManager.default.removeItem(atPath: folder + "/" + copy) }
            // What the disk has yet to do for the files before is nobody's time.
            sync()
            let record = CKRecord(
                recordType: "File", recordID: CKRecord.ID(recordName: "file-\(round)", zoneID: zone))
            record["file"] = CKAsset(fileURL: file)
            let before = (Self.processorSeconds, cloud.processorSeconds)
            let start = ContinuousClock.now
            try await saver.privateCloudDatabase.save(record)
            let saved = ContinuousClock.now
            // A container object of its own has an empty cache of files.
            let reader = try container(of: cloud)
            let fetched = try await reader.privateCloudDatabase.record(for: record.recordID)
            let end = ContinuousClock.now
            let used = (Self.processorSeconds - before.0, cloud.processorSeconds - before.1)
            guard let received = (fetched["file"] as? CKAsset)?.fileURL,
                FileManager.default.contentsEqual(atPath: received.path, andPath: file.path)
            else { throw BenchError("the file did not come back") }
            try await saver.privateCloudDatabase.deleteRecord(withID: record.recordID)
            guard round > 0 else { continue }
            comparison.measured.append(bytes / ((end - start) / .seconds(1)) / 1e6)
            comparison.yardstick.append(bytes / copied / 1e6)
            up.append(bytes / ((saved - start) / .seconds(1)) / 1e6)
            down.append(bytes / ((end - saved) / .seconds(1)) / 1e6)
            device.append(used.0 / bytes * 1e9)
            server.append(used.1 / bytes * 1e9)
        }
        comparison.remarks = [
            String(
                format: "saved at %.0f MB/s, fetched at %.0f MB/s; processor time %.2f ns a byte on the device, "
                    + "%.2f in the server",
                Comparison.median(up), Comparison.median(down), Comparison.median(device), Comparison.median(server))
        ]
        return comparison
    }

    /// Writes a file that no round has in common with another.
    private static func makeFile(megabytes: Int, seed: Int, to file: URL) throws {
        var chance = SplitMix64(seed: UInt64(seed))
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        for _ in 0..<megabytes {
            let words = (0..<1 << 17).map { _ in chance.next() }
            try words.withUnsafeBytes { try handle.write(contentsOf: Data($0)) }
        }
        try handle.synchronize()
        try handle.close()
    }

    /// Copies a file through memory, a mebibyte at a time, and makes the copy durable.
    private static func copy(_ source: String, to target: String) throws {
        let (input, output) = (open(source, O_RDONLY), open(target, O_WRONLY | O_CREAT | O_EXCL, 0o600))
        defer {
            close(input)
            close(output)
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        while true {
            let count = read(input, buffer.baseAddress, buffer.count)
            guard count >= 0, write(output, buffer.baseAddress, count) == count else {
                throw BenchError("copying failed")
            }
            if count == 0 { break }
        }
        guard fsync(output) == 0 else { throw BenchError("fsync failed") }
    }

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        try ContinuousClock().measure(body) / .seconds(1)
    }

    /// The processor time of this process, in seconds.
    static var processorSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
