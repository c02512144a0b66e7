import FileStore
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// The cost of a large file. Takes a minute and some GiB of disk, so it runs only when `WELKIN_LARGE_FILE_MEGABYTES` is
/// set; `script/test` does not set it.
@Suite(.timeLimit(.minutes(20))) struct LargeFileTests {
    private static let megabytes =
        ProcessInfo.processInfo.environment["WELKIN_LARGE_FILE_MEGABYTES"].flatMap(Int.init) ?? 0

    /// The most memory that this process ever had, MiB.
    private var peak: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
    }

    @Test(.enabled(if: megabytes > 0), arguments: [true, false])
    func `Memory stays the same however large a file is, on the device and in the cloud`(isPrivate: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("large-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("file")
        try Data().write(to: url)
        let handle = try FileHandle(forWritingTo: url)
        for number in 0..<Self.megabytes {
            try handle.write(contentsOf: Data(repeating: UInt8(truncatingIfNeeded: number), count: 1 << 20))
        }
        try handle.close()
        let files = try FolderFileStore(
            folder.path + "/store", now: { Int64(Date().timeIntervalSince1970 * 1000) })
        try await ThrowawayCloud.run(files: files) { cloud in
            let user = try await cloud.addUser("ada")
            let container = try await cloud.device(of: user)
            let other = try await cloud.device(of: user, named: "other")
            func database(_ container: CKContainer) -> CKDatabase {
                isPrivate ? container.privateCloudDatabase : container.publicCloudDatabase
            }
            let before = peak
            let record = CKRecord(recordType: "Film")
            record["film"] = CKAsset(fileURL: url)
            let start = ContinuousClock.now
            try await database(container).save(record)
            let sent = ContinuousClock.now
            let read = try await database(other).record(for: record.recordID)
            let fetched = ContinuousClock.now
            let copy = try #require((read["film"] as? CKAsset)?.fileURL)
            #expect(try AssetFile(copy).digest(isSealed: true) == AssetFile(url).digest(isSealed: true))
            print(
                "\(isPrivate ? "sealed" : "plain"), \(Self.megabytes) MiB: sent in \(sent - start), fetched in",
                "\(fetched - sent), peak memory \(before) MiB before, \(peak) MiB after")
            #expect(peak - before < 150)
        }
    }
}
