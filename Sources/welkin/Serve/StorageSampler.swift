import CloudKitHTTP
import CloudKitLogs
import CloudKitModel
import CloudKitServer
import Dispatch
import Foundation
import Logging
import ServiceLifecycle

/// Measures the disk under the cloud, for `/health`, the metrics and telemetry, while the cloud runs.
struct StorageSampler: Service {
    /// The data folder.
    var folder: String
    var cloud: Cloud
    var monitor: StorageMonitor
    var metrics: RequestMetrics
    /// nil without scheduled backups.
    var backups: BackupMonitor?
    /// nil without a log of requests.
    var log: (any LogStore)?
    var logger: Logger

    private static let pause = Duration.seconds(10)
    /// Measurements between two that are kept in the log, and between two countings of accounts.
    private static let samplesPerMinute = 6
    /// Measurements between two of all containers.
    private static let samplesPerHour = 360
    /// Containers that are measured, in the order of their names, and the private databases of each.
    private static let containersMax = 500
    private static let databasesMax = 10_000

    func run() async {
        await cancelWhenGracefulShutdown {
            var count = 0
            while !Task.isCancelled {
                await sample(isKept: count % Self.samplesPerMinute == 0)
                if count % Self.samplesPerHour == Self.samplesPerMinute { await sampleContainers() }
                count += 1
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Measures what containers store, for the log alone.
    func sampleContainers() async {
        guard let log else { return }
        let now = cloud.serverEnvironment.now()
        do {
            for container in try await ListContainers(cloud).run().prefix(Self.containersMax) {
                for environment in CloudKitModel.Environment.allCases {
                    let usage = try await MeasureContainer(cloud)
                        .run(container, environment, databasesMax: Self.databasesMax)
                    let place = MeasuredPlace(container: container.name, environment: environment.rawValue)
                    try await log.add([
                        Measurement(
                            time: now, name: .publicBytes, of: place, value: Int64(clamping: usage.publicBytes)),
                        Measurement(
                            time: now, name: .privateBytes, of: place, value: Int64(clamping: usage.privateBytes)),
                    ])
                }
            }
        } catch {
            logger.debug("containers could not be measured", metadata: ["error": .string(String(describing: error))])
        }
    }

    /// Measures once.
    ///
    /// - Parameter isKept: Whether accounts are counted and the log keeps the measurements.
    func sample(isKept: Bool) async {
        let probe = StorageProbe(folder: folder)
        var status = await withCheckedContinuation { continuation in
            // Writing waits for the disk; a thread of the pool for tasks must not.
            DispatchQueue.global().async { continuation.resume(returning: probe.measure()) }
        }
        let before = monitor.status
        if cloud.nodes.isShared, status.isWritable {
            switch await WriteProbe(store: cloud.store, serverEnvironment: cloud.serverEnvironment).run() {
            case .written: break
            case .refused: status.unwritable = .database
            // Whether the database can be reached is asked by others.
            case .unknown: status.unwritable = before?.unwritable == .database ? .database : nil
            }
        }
        status.accounts = isKept ? try? await cloud.accountStore.accounts.list().count : before?.accounts
        if let place = status.unwritable, before?.unwritable != place {
            logger.error(
                "\(place.rawValue) cannot be written to",
                metadata: ["freeBytes": .stringConvertible(status.freeBytes)])
        } else if status.isWritable, let place = before?.unwritable {
            logger.notice("\(place.rawValue) can be written to again")
        }
        status.backup = backups?.status
        monitor.update(status)
        metrics.measured(status)
        if let backup = status.backup { metrics.measured(backup, now: cloud.serverEnvironment.now()) }
        guard isKept, let log else { return }
        let now = cloud.serverEnvironment.now()
        var measurements = [
            Measurement(time: now, name: .storeBytes, value: status.storeBytes),
            Measurement(time: now, name: .diskFreeBytes, value: status.freeBytes),
        ]
        if let accounts = status.accounts {
            measurements.append(Measurement(time: now, name: .accounts, value: Int64(accounts)))
        }
        if let size = try? await log.size() {
            measurements.append(Measurement(time: now, name: .logRows, value: Int64(size.rows)))
            measurements.append(Measurement(time: now, name: .logBytes, value: Int64(size.bytes)))
        }
        // A disk that is full takes no measurements either; the monitor has them.
        try? await log.add(measurements)
    }
}

/// Measures the disk under a folder.
struct StorageProbe {
    /// The data folder.
    var folder: String

    /// Bytes that are written to see whether writing works: more than a disk's smallest unit.
    private static let probeBytes = 65_536

    /// Returns the state of the disk; writes a small file, syncs and removes it.
    func measure() -> StorageStatus {
        var storeBytes: Int64 = 0
        for name in ["welkin.sqlite", "welkin.sqlite-wal", "logs.sqlite", "logs.sqlite-wal"] {
            var status = stat()
            if stat(folder + "/" + name, &status) == 0 { storeBytes += Int64(status.st_size) }
        }
        var disk = statvfs()
        let freeBytes =
            statvfs(folder, &disk) == 0 ? Int64(clamping: UInt64(disk.f_bavail) * UInt64(disk.f_frsize)) : 0
        return StorageStatus(
            storeBytes: storeBytes, freeBytes: freeBytes, unwritable: canWrite() ? nil : .folder,
            memoryBytes: Self.memoryBytes())
    }

    /// Returns the bytes of memory that this process has; nil where the system does not say.
    private static func memoryBytes() -> Int64? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        // The second number is that of pages in memory.
        let numbers = text.split(separator: " ")
        return numbers.count > 1 ? Int64(numbers[1]).map { $0 * Int64(sysconf(Int32(_SC_PAGESIZE))) } : nil
    }

    private func canWrite() -> Bool {
        let path = folder + "/write-probe"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer {
            close(descriptor)
            unlink(path)
        }
        let bytes = [UInt8](repeating: 0x57, count: Self.probeBytes)
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        return count == bytes.count && fsync(descriptor) == 0
    }
}
