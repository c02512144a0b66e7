import CloudKit
import CloudKitTesting
import Foundation

/// Measures what tests of apps wait for: the start of a cloud, seed data, and saves while a cloud becomes large.
///
/// Arguments: `start`, `seed [MEGABYTES]`, `rate [RECORDS]`; all three without any.
@main
struct TestCloudBench {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let number = arguments.count > 1 ? Int(arguments[1]) : nil
        switch arguments.first {
        case "start": try await start()
        case "seed": try await seed(megabytes: number ?? 1000)
        case "rate": try await rate(count: number ?? 1_000_000)
        case nil:
            try await start()
            try await seed(megabytes: 1000)
            try await rate(count: 1_000_000)
        default:
            FileHandle.standardError.write(Data("test-cloud-bench [start | seed MEGABYTES | rate RECORDS]\n".utf8))
            exit(64)
        }
    }

    private static let container = "iCloud.com.example.bench"

    /// The time from nothing to a cloud that answers, and until a first record is saved by a device that signed in.
    private static func start() async throws {
        let clock = ContinuousClock()
        var starts: [Duration] = []
        var saves: [Duration] = []
        for _ in 0..<21 {
            let begin = clock.now
            let cloud = try await TestCloud()
            starts.append(clock.now - begin)
            let device = try await cloud.user("ada").device().container(container)
            _ = try await device.privateCloudDatabase.save(CKRecord(recordType: "Note"))
            saves.append(clock.now - begin)
            await cloud.stop()
        }
        // The first one loads the program as well.
        print("start of a TestCloud: first \(shown(starts[0])), median \(shown(median(starts))) (target 50 ms)")
        print("until a first record is saved: first \(shown(saves[0])), median \(shown(median(saves)))")
    }

    /// The time to seed files of records of about 1 kB each.
    private static func seed(megabytes: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-seed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = String(repeating: "seed data of a test, ", count: 40)
        var bytes = 0
        var records = 0
        for file in 0..<max(megabytes / 20, 1) {
            var items: [String] = []
            var size = 0
            while size < min(megabytes, 20) * 1_000_000 {
                let item =
                    #"{"recordType":"Note","recordName":"note-\#(records)","zone":"Notes","fields":{"title":"Title \#(records)","number":\#(records),"weight":0.5,"text":"\#(text)"}}"#
                size += item.utf8.count + 1
                records += 1
                items.append(item)
            }
            let data = Data(("[" + items.joined(separator: ",") + "]").utf8)
            bytes += data.count
            try data.write(to: folder.appending(path: "seed-\(10_000 + file).json"))
        }
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let clock = ContinuousClock()
            let begin = clock.now
            let saved = try await cloud.seed(folder.path, as: ada, in: container).count
            let time = (clock.now - begin) / .seconds(1)
            guard saved == records else { throw BenchFailure(reason: "\(saved) of \(records) records were saved") }
            let rate = Double(bytes) / 1_000_000 / time
            print(
                "seed: \(bytes / 1_000_000) MB in \(records) records took \(rounded(time)) s, \(rounded(rate)) MB/s, so 1 GB takes \(rounded(1000 / rate)) s (target 60 s)"
            )
        }
    }

    /// Records a second while a zone grows, by tenths.
    private static func rate(count: Int) async throws {
        try await TestCloud.run { cloud in
            let device = try await cloud.user("ada").device().container(container)
            let database = device.privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
            let clock = ContinuousClock()
            var rates: [Double] = []
            for tenth in 0..<10 {
                let names = (tenth * count / 10)..<((tenth + 1) * count / 10)
                let begin = clock.now
                for first in stride(from: names.lowerBound, to: names.upperBound, by: 200) {
                    let records = (first..<min(first + 200, names.upperBound)).map { number in
                        // Not in the order of their names, as UUIDs are not.
                        let name = String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 16)
                        let record = CKRecord(
                            recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
                        record["title"] = "Title \(number)"
                        record["number"] = number
                        return record
                    }
                    _ = try await database.modifyRecords(saving: records, deleting: [])
                }
                rates.append(Double(names.count) / ((clock.now - begin) / .seconds(1)))
                print("up to \(names.upperBound) records: \(Int(rates[tenth])) records/s")
            }
            print("write rate of the last tenth against the first: \(rounded(rates[9] / rates[0])) (target: flat)")
        }
    }

    private static func median(_ times: [Duration]) -> Duration { times.sorted()[times.count / 2] }

    private static func shown(_ time: Duration) -> String { "\(rounded(time / .milliseconds(1))) ms" }

    private static func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}

/// The error of a measurement that shows nothing.
struct BenchFailure: Error, CustomStringConvertible {
    var reason: String

    var description: String { reason }
}
