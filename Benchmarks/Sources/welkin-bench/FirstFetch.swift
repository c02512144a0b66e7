import CloudKit
import CloudUnderTest
import Foundation

/// Measurements of a device that begins with nothing and fetches a large zone of sealed records.
extension Bench {
    /// Measures the first fetch of a zone of a million sealed records, and of two million, by a process of its own: time, memory, and whether
    /// both are linear.
    func firstFetch() async throws -> [Figure] {
        let count = options.isQuick ? 20_000 : options.records ?? 1_000_000
        let (cloud, _) = try self.cloud()
        defer { cloud.end() }
        let database = try container(of: cloud).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: Self.notes)).zoneID
        let filling = ContinuousClock.now
        try await fillNotes(0..<count, in: zone, of: database)
        let filled = (ContinuousClock.now - filling) / .seconds(1)
        var figures: [Figure] = []
        var single: [FirstFetch.Way: Double] = [:]
        for way in FirstFetch.Way.allCases {
            var results: [FirstFetch.Result] = []
            for _ in 0..<min(rounds, 3) { results.append(try fetch(count, way, from: cloud)) }
            let seconds = Comparison.median(results.map(\.seconds))
            single[way] = seconds
            let perRecord = 1e6 / Double(count)
            figures.append(
                Figure(
                    id: "m", title: "\(count) sealed records onto an empty device by \(way.title)", unit: "s",
                    target: 30 * Double(count) / 1e6, value: seconds,
                    remarks: [
                        String(
                            format: "%.1f µs of processor time a record on the device, %.1f µs in the server",
                            Comparison.median(results.map(\.processor)) * perRecord,
                            Comparison.median(results.map(\.server)) * perRecord)
                            + (way == .engine ? "; filling took \(Int(filled)) s" : "")
                    ]))
            figures.append(
                Figure(
                    id: "m", title: "the same, memory more than before", unit: "MB", target: 150,
                    value: Comparison.median(results.map(\.megabytes))))
        }
        guard !options.isQuick else { return figures }
        try await fillNotes(count..<2 * count, in: zone, of: database)
        for way in FirstFetch.Way.allCases {
            let result = try fetch(2 * count, way, from: cloud)
            figures.append(
                Figure(
                    id: "m", title: "twice as many records by \(way.title), time a record / of the first",
                    unit: "", target: 1.1, value: result.seconds / 2 / (single[way] ?? .nan),
                    remarks: [String(format: "%.1f s, %.0f MB more than before", result.seconds, result.megabytes)]))
        }
        return figures
    }

    fileprivate static let notes = "Notes"

    /// Fills the zone, three requests at a time.
    private func fillNotes(_ numbers: Range<Int>, in zone: CKRecordZone.ID, of database: CKDatabase) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var running = 0
            for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 200) {
                if running == 3 { try await group.next() } else { running += 1 }
                group.addTask {
                    let records = (start..<min(start + 200, numbers.upperBound)).map { Self.note($0, in: zone) }
                    let results = try await database.modifyRecords(saving: records, deleting: [], atomically: true)
                    for result in results.saveResults.values { _ = try result.get() }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func note(_ number: Int, in zone: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note-\(number)", zoneID: zone))
        record.encryptedValues["title"] = "The note of number \(number)"
        record.encryptedValues["text"] = String(repeating: "A text. ", count: 12) + "\(number)"
        return record
    }

    /// Fetches the zone in another process, on a profile that has nothing but its credentials.
    private func fetch(_ count: Int, _ way: FirstFetch.Way, from cloud: CloudProcess) throws -> FirstFetch.Result {
        let profiles = cloud.folder + "/share/welkin/profiles"
        let (own, empty) = (profiles + "/bench", profiles + "/empty")
        try? FileManager.default.removeItem(atPath: empty)
        try FileManager.default.createDirectory(
            atPath: empty, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for file in try FileManager.default.contentsOfDirectory(atPath: own) where file.hasSuffix(".json") {
            try FileManager.default.copyItem(atPath: own + "/" + file, toPath: empty + "/" + file)
        }
        let output = cloud.folder + "/first-fetch"
        try? FileManager.default.removeItem(atPath: output)
        let before = cloud.processorSeconds
        let device = try ChildProcess(
            [
                CommandLine.arguments[0], FirstFetch.command, String(cloud.port), cloud.folder, way.rawValue,
                String(count),
            ], variables: [:], output: output)
        let status = device.wait()
        let printed = FileManager.default.contents(atPath: output) ?? Data()
        guard status == 0, var result = try? JSONDecoder().decode(FirstFetch.Result.self, from: printed) else {
            throw BenchError("the device failed: \(String(decoding: printed.suffix(500), as: UTF8.self))")
        }
        result.server = cloud.processorSeconds - before
        return result
    }
}

/// The device: another process of this program.
struct FirstFetch {
    static let command = "--first-fetch"

    enum Way: String, CaseIterable {
        case engine, operation

        var title: String {
            switch self {
            case .engine: "CKSyncEngine"
            case .operation: "CKFetchRecordZoneChangesOperation"
            }
        }
    }

    struct Result: Codable {
        var seconds: Double
        /// Processor time in seconds.
        var processor: Double
        /// Resident memory at its largest, more than before the fetch.
        var megabytes: Double
        /// Processor time of the server in seconds.
        var server = 0.0
    }

    /// - Parameter arguments: The port and the folder of the cloud, the way, and the count of records.
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 4, let port = UInt16(arguments[0]), let way = Way(rawValue: arguments[2]),
            let count = Int(arguments[3])
        else { throw BenchError("usage: \(command) PORT FOLDER engine|operation COUNT") }
        let folder = arguments[1]
        let database = try Bench.container(port: port, folder: folder, profile: "empty").privateCloudDatabase
        // Opens the connection and loads what a first request loads.
        _ = try await database.allRecordZones()
        let counter = NoteCounter(stateFile: folder + "/engine-state.json")
        let before = (ContinuousClock.now, Bench.processorSeconds, memory("VmRSS"))
        switch way {
        case .engine:
            var configuration = CKSyncEngine.Configuration(
                database: database, stateSerialization: nil, delegate: counter)
            configuration.automaticallySync = false
            try await CKSyncEngine(configuration).fetchChanges()
        case .operation:
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [CKRecordZone.ID(zoneName: Bench.notes)], configurationsByRecordZoneID: nil)
            operation.recordWasChangedBlock = { _, result in counter.add(result) }
            try await withCheckedThrowingContinuation { continuation in
                operation.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
                database.add(operation)
            }
        }
        let result = Result(
            seconds: (ContinuousClock.now - before.0) / .seconds(1), processor: Bench.processorSeconds - before.1,
            megabytes: memory("VmHWM") - before.2)
        guard counter.count == count else { throw BenchError("\(counter.count) records came instead of \(count)") }
        print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
    }

    /// Returns a line of the kernel's account of this process in MB (Linux; 0 elsewhere).
    private static func memory(_ name: String) -> Double {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        let words = line?.split { $0 == " " || $0 == "\t" } ?? []
        return (words.count > 1 ? Double(words[1]) ?? 0 : 0) * 1024 / 1e6
    }
}

/// Counts records that opened, as an app that stores them would read them, and stores an engine's state.
private final class NoteCounter: CKSyncEngineDelegate, @unchecked Sendable {
    private let lock = NSLock()
    private var opened = 0
    private let stateFile: URL

    init(stateFile: String) { self.stateFile = URL(fileURLWithPath: stateFile) }

    var count: Int { lock.withLock { opened } }

    func add(_ result: Result<CKRecord, any Error>) {
        guard let record = try? result.get(), record.encryptedValues["text"] as? String != nil else { return }
        lock.withLock { opened += 1 }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .fetchedRecordZoneChanges(let changes):
            for change in changes.modifications { add(.success(change.record)) }
        case .stateUpdate(let update):
            try? JSONEncoder().encode(update.stateSerialization).write(to: stateFile, options: .atomic)
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}
