import CloudBackup
import Dispatch
import FileStore
import FileStoreS3
import Foundation
import Synchronization

/// A bucket of an object store as the place of a backup. Its functions wait for the service.
///
/// There is no lock in the interface of S3. A process that changes the backup keeps a lease, an object with its name and a time, which it renews. What two processes
/// that believe to have it can do to one another is bounded: each writes chunks that are the same under the same name and manifests of its own, and none removes a chunk that is younger than an hour.
package final class BucketPlace: BackupPlace {
    /// The place as commands name it.
    package let address: String
    /// A request takes too long to be made for each chunk.
    package let answersQuickly = false
    /// An hour: longer than any list is late, and six times the time of a lease.
    package let unnamedAgeMin: Int64

    /// The time for which a lease holds unless it is renewed, in milliseconds.
    static let leaseTime: Int64 = 600_000
    /// The time after which a lease is renewed, in milliseconds.
    static let leaseRenewal: Int64 = 120_000
    /// The time in which another process that asked for the lease at the same time has written its own.
    private static let leasePause = Duration.seconds(2)
    /// The name of the lease.
    static let leaseName = "lease"
    /// Requests at a time.
    package static let requestsMax = 16
    private static let objectBytesMax = 1 << 30

    private struct Lease: Codable {
        var owner: String
        /// Milliseconds since 1970.
        var until: Int64
    }

    private struct State {
        /// When the lease was last written; nil without one.
        var renewed: Int64?
        /// The first failure of a put that nobody waited for.
        var failure: BackupError?
    }

    private let objects: S3Objects
    private let connection: S3FileStore.Connection
    private let owner: String
    private let state = Mutex(State())
    private let slots = DispatchSemaphore(value: BucketPlace.requestsMax)
    private let puts = DispatchGroup()
    private let executor = QueueExecutor()

    /// Creates the place; asks nothing.
    ///
    /// - Parameters:
    ///   - place: The bucket, which exists, and the prefix of the keys.
    ///   - settings: The service and the keys.
    ///   - connection: What the place needs of the world.
    ///   - unnamedAgeMin: The age in milliseconds below which an object stays that nothing names.
    package init(
        _ place: S3Place, settings: S3Settings, connection: S3FileStore.Connection, unnamedAgeMin: Int64 = 3_600_000
    ) {
        self.unnamedAgeMin = unnamedAgeMin
        objects = S3Objects(place, settings: settings, connection: connection)
        self.connection = connection
        address = place.description
        owner = String(connection.random(), radix: 16) + String(connection.random(), radix: 16)
    }

    private init(beside other: BucketPlace) {
        objects = other.objects
        connection = other.connection
        address = other.address
        owner = other.owner
        unnamedAgeMin = other.unnamedAgeMin
    }

    /// Returns the bucket for another thread, with puts of its own.
    package func companion() -> any BackupPlace { BucketPlace(beside: self) }

    deinit { unlock() }

    // MARK: Objects

    /// Returns objects as a whole, nil for each that is not there; many at a time.
    package func read(_ names: [String]) throws(BackupError) -> [[UInt8]?] {
        try wait("read the backup") { objects in
            try await withThrowingTaskGroup(of: (Int, [UInt8]?).self) { group in
                var found = [[UInt8]?](repeating: nil, count: names.count)
                for (index, name) in names.enumerated() {
                    if index >= Self.requestsMax, let (done, bytes) = try await group.next() { found[done] = bytes }
                    group.addTask {
                        let bytes = try await objects.bytes(
                            name, at: 0, count: Self.objectBytesMax, action: "read the backup")
                        return (index, bytes)
                    }
                }
                for try await (done, bytes) in group { found[done] = bytes }
                return found
            }
        }
    }

    /// Returns the length of an object in bytes; nil if there is none.
    package func length(of name: String) throws(BackupError) -> Int64? {
        try wait("read the backup") { try await $0.length(name, action: "read the backup") }
    }

    /// Puts an object: durable on return.
    package func put(_ name: String, _ bytes: [UInt8]) throws(BackupError) {
        try wait("write the backup") { try await $0.put(name, bytes, action: "write the backup") }
    }

    /// Puts an object while this process goes on; waits while many are under way.
    package func putLater(_ name: String, _ bytes: [UInt8]) throws(BackupError) {
        slots.wait()
        if let failure = state.withLock({ $0.failure }) {
            slots.signal()
            throw failure
        }
        puts.enter()
        Task.detached(executorPreference: executor) { [self] in
            do {
                try await objects.put(name, bytes, action: "write the backup")
            } catch {
                let failure = Self.failure(error, "write the backup", address)
                state.withLock { if $0.failure == nil { $0.failure = failure } }
            }
            slots.signal()
            puts.leave()
        }
    }

    /// Returns when the service has confirmed all objects of `putLater`.
    package func finishPuts() throws(BackupError) {
        puts.wait()
        if let failure = state.withLock({ $0.failure.take() }) { throw failure }
    }

    /// Waits for what is under way, and forgets how it ended.
    package func forgetPuts() {
        puts.wait()
        state.withLock { $0.failure = nil }
    }

    /// Returns the objects below a folder, in the order of their names.
    package func list(_ folder: String) throws(BackupError) -> [PlacedObject] {
        let now = connection.now()
        return try wait("list the backup") { objects in
            try await objects.list(folder + "/", action: "list the backup").map { object in
                PlacedObject(name: object.key, length: object.length, age: max(0, now - object.modified))
            }
        }
    }

    /// Removes objects, some at a time; those that are not there are no error.
    package func remove(_ names: [String], isDurable: Bool) throws(BackupError) {
        try wait("remove from the backup") { objects in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, name) in names.enumerated() {
                    if index >= Self.requestsMax { try await group.next() }
                    group.addTask { try await objects.delete(name, action: "remove from the backup") }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Asks for the bucket, which this does not make.
    ///
    /// - Returns: Some of the names below the prefix.
    package func prepare() throws(BackupError) -> [String] {
        try wait("use the bucket") { try await $0.list("", limit: 16, action: "use the bucket") }.map(\.key)
            .filter { $0 != Self.leaseName }
    }

    // MARK: Lease

    /// Takes the lease, unless another process has one that holds.
    package func lock() throws(BackupError) {
        if let held = try lease(), held.owner != owner, held.until > connection.now() { throw .busy(address) }
        try writeLease()
        let sleep = connection.sleep
        try wait("wait") { _ in try await sleep(Self.leasePause) }
        try confirmLease()
    }

    /// Renews the lease when it is due.
    ///
    /// - Parameter isSure: Whether to read it even if that is not due.
    /// - Throws: `busy` if another process has taken it.
    package func keepLock(isSure: Bool) throws(BackupError) {
        guard let renewed = state.withLock({ $0.renewed }) else { return }
        let age = connection.now() - renewed
        let isDue = age > Self.leaseRenewal || age < 0
        guard isDue || isSure else { return }
        try confirmLease()
        if isDue { try writeLease() }
    }

    /// Removes the lease, if it is this process's; what fails here ends with the lease's time.
    package func unlock() {
        guard state.withLock({ $0.renewed.take() }) != nil else { return }
        guard (try? lease())??.owner == owner else { return }
        try? remove([Self.leaseName], isDurable: true)
    }

    private func lease() throws(BackupError) -> Lease? {
        guard let bytes = try read(Self.leaseName) else { return nil }
        // One that cannot be read holds for nobody.
        return try? JSONDecoder().decode(Lease.self, from: Data(bytes))
    }

    private func writeLease() throws(BackupError) {
        let now = connection.now()
        let text = #"{"owner":"\#(owner)","until":\#(now + Self.leaseTime)}"# + "\n"
        try put(Self.leaseName, Array(text.utf8))
        state.withLock { $0.renewed = now }
    }

    private func confirmLease() throws(BackupError) {
        guard try lease()?.owner == owner else {
            state.withLock { $0.renewed = nil }
            throw .busy(address)
        }
    }

    // MARK: Waiting

    /// Runs requests and waits for them, without a thread of the pool that they may need.
    private func wait<Value: Sendable>(
        _ action: String, _ work: @escaping @Sendable (S3Objects) async throws -> Value
    ) throws(BackupError) -> Value {
        let outcome = Outcome<Value>()
        let objects = objects
        Task.detached(executorPreference: executor) {
            do {
                outcome.finish(.success(try await work(objects)))
            } catch {
                outcome.finish(.failure(error))
            }
        }
        do {
            return try outcome.wait()
        } catch {
            throw Self.failure(error, action, address)
        }
    }

    private static func failure(_ error: any Error, _ action: String, _ address: String) -> BackupError {
        if let error = error as? BackupError { return error }
        guard let error = error as? FileStoreError else {
            return BackupError(
                .unavailable, reason: "could not \(action)", remedy: "try again",
                details: ["place": address, "error": String(describing: error)])
        }
        // The detail of a file store's error is the reason, then what to do.
        let parts = error.detail.split(separator: ";", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
        let isFull = error.code == .diskFull
        return BackupError(
            isFull ? .diskFull : .unavailable,
            reason: "could not \(error.action)" + (parts.first.map { ", " + $0 } ?? ""),
            remedy: parts.count > 1 ? parts[1] : "check the object store, then try again", details: ["place": address])
    }
}

/// The outcome of work that a thread waits for.
private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    func finish(_ result: Result<Value, any Error>) {
        self.result.withLock { $0 = result }
        isDone.signal()
    }

    func wait() throws -> Value {
        isDone.wait()
        guard let result = result.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }
}

/// Runs tasks on a queue of its own: threads of the pool may be waiting for them.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "welkin.backup.requests")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }
}
