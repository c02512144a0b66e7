import CloudBackup
import CloudBackupS3
import FileStoreS3
import Foundation
import HTTPTransfer
import ObjectServer
import Synchronization
import Testing

/// The places that the suite runs on.
enum PlaceKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case folder
    /// A bucket of a service in memory.
    case bucket

    var testDescription: String { rawValue }
}

/// A place of a backup, and what is stored there byte by byte.
final class TestPlace: Sendable {
    let kind: PlaceKind
    private let path: String
    private let time = Atomic<Int64>(1_700_000_000_000)
    private let service = Mutex<ObjectService?>(nil)
    private static let prefix = "clouds/one/"

    init(_ kind: PlaceKind, in folder: TestFolder) {
        self.kind = kind
        path = folder.path + "/backup"
        service.withLock { $0 = ObjectService(now: { [weak self] in self?.now ?? 0 }) }
    }

    var now: Int64 { time.load(ordering: .relaxed) }

    func advance(_ milliseconds: Int64) { time.add(milliseconds, ordering: .relaxed) }

    /// The service in memory.
    var objects: ObjectService { service.withLock { $0 } ?? ObjectService(now: { 0 }) }

    /// Returns the place as another process would open it.
    func place() -> any BackupPlace {
        switch kind {
        case .folder: return FolderPlace(path)
        case .bucket:
            let objects = objects
            return bucket(S3FileStore.Connection(now: { self.now }, sleep: { _ in }) { try await objects.send($0) })
        }
    }

    /// Returns the bucket through a connection.
    func bucket(_ connection: S3FileStore.Connection) -> BucketPlace {
        BucketPlace(
            try! S3Place("s3://files/clouds/one"),  // A place that is one.
            settings: try! S3Settings(endpoint: "http://127.0.0.1:1", region: nil, accessKey: "A", secretKey: "hidden"),
            connection: connection)
    }

    func bytes(of name: String) -> [UInt8]? {
        switch kind {
        case .folder: FileManager.default.contents(atPath: path + "/" + name).map { Array($0) }
        case .bucket: objects.bytes(of: Self.prefix + name)
        }
    }

    /// - Parameter bytes: nil removes the object.
    func set(_ name: String, _ bytes: [UInt8]?) throws {
        switch (kind, bytes) {
        case (.folder, let bytes?): try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
        case (.folder, nil): try FileManager.default.removeItem(atPath: path + "/" + name)
        case (.bucket, _): objects.set(Self.prefix + name, bytes)
        }
    }

    /// The names of all that is stored below a folder.
    func names(below folder: String) -> [String] {
        switch kind {
        case .folder:
            let root = path + "/" + folder
            return (FileManager.default.enumerator(atPath: root)?.allObjects as? [String] ?? []).filter { name in
                var isFolder: ObjCBool = false
                return FileManager.default.fileExists(atPath: root + "/" + name, isDirectory: &isFolder)
                    && !isFolder.boolValue
            }.map { folder + "/" + $0 }
        case .bucket:
            return objects.keys.filter { $0.hasPrefix(Self.prefix + folder + "/") }
                .map { String($0.dropFirst(Self.prefix.count)) }
        }
    }
}

/// A place in memory whose calls fail from a certain one on, as those of a process that dies.
final class FailingPlace: BackupPlace {
    let address = "memory"
    let answersQuickly: Bool
    let unnamedAgeMin: Int64 = 0

    struct State {
        var objects: [String: [UInt8]] = [:]
        var pending: [String: [UInt8]] = [:]
        var calls = 0
        /// The call that fails; nil: none.
        var failing: Int?
        /// Whether the failing call takes effect.
        var takesEffect = false
        /// Whether objects arrive that nobody waited for.
        var keepsPending = false
    }

    let state = Mutex(State())

    struct Death: Error {}

    init(answersQuickly: Bool, objects: [String: [UInt8]] = [:]) {
        self.answersQuickly = answersQuickly
        state.withLock { $0.objects = objects }
    }

    var objects: [String: [UInt8]] { state.withLock { $0.objects } }
    var calls: Int { state.withLock { $0.calls } }

    private static let death = BackupError(.unavailable, reason: "the process died", remedy: "none")

    private func call<Value: Sendable>(_ work: (inout State) -> Value) throws(BackupError) -> Value {
        let value: Value? = state.withLock { state in
            state.calls += 1
            guard let failing = state.failing, state.calls >= failing else { return work(&state) }
            if state.calls == failing {
                if state.keepsPending { state.objects.merge(state.pending) { $1 } }
                state.pending = [:]
                if state.takesEffect { _ = work(&state) }
            }
            return nil
        }
        guard let value else { throw Self.death }
        return value
    }

    func read(_ names: [String]) throws(BackupError) -> [[UInt8]?] {
        try call { state in names.map { state.pending[$0] ?? state.objects[$0] } }
    }

    func length(of name: String) throws(BackupError) -> Int64? {
        try call { state in (state.pending[name] ?? state.objects[name]).map { Int64($0.count) } }
    }

    func put(_ name: String, _ bytes: [UInt8]) throws(BackupError) { try call { $0.objects[name] = bytes } }

    func putLater(_ name: String, _ bytes: [UInt8]) throws(BackupError) { try call { $0.pending[name] = bytes } }

    func finishPuts() throws(BackupError) {
        try call { state in
            state.objects.merge(state.pending) { $1 }
            state.pending = [:]
        }
    }

    func forgetPuts() { state.withLock { $0.pending = [:] } }

    func list(_ folder: String) throws(BackupError) -> [PlacedObject] {
        try call { state in
            state.objects.filter { $0.key.hasPrefix(folder + "/") }.sorted { $0.key < $1.key }
                .map { PlacedObject(name: $0.key, length: Int64($0.value.count)) }
        }
    }

    func remove(_ names: [String], isDurable: Bool) throws(BackupError) {
        // One by one: some may be gone when the process dies.
        for name in names { try call { $0.objects[name] = nil } }
    }

    func prepare() throws(BackupError) -> [String] { try call { Array($0.objects.keys) } }

    func lock() throws(BackupError) { try call { _ in } }

    func keepLock(isSure: Bool) throws(BackupError) { if isSure { try call { _ in } } }

    func unlock() {}

    func companion() -> any BackupPlace { self }
}
