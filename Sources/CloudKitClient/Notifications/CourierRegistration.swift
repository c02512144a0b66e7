import CloudKitDevice
import Foundation
import Synchronization

/// A device's place at the courier.
struct CourierRegistration: Codable, Hashable, Sendable {
    /// The device as it signed in. A registration of another account is not used.
    var account: String
    var courierURL: String
    /// The device's position, as the server wrote it.
    var position: String
}

/// The storage of a device's position in the notification queue.
protocol CourierRegistrations: Sendable {
    /// Names the device to the server, the same each time, so that a lost registration goes on where it was.
    var clientID: String { get }
    func load() -> CourierRegistration?
    /// - Parameter registration: nil: forget it.
    func store(_ registration: CourierRegistration?)
    /// Keeps how far the device has come; may take its time to be safe from a crash.
    func keep(position: String)
    /// Writes pending changes to disk.
    func flush()
}

/// For containers that are given everything: in memory only.
final class MemoryRegistrations: CourierRegistrations {
    let clientID = UUID().uuidString
    private let held = Mutex<CourierRegistration?>(nil)

    func load() -> CourierRegistration? { held.withLock { $0 } }
    func store(_ registration: CourierRegistration?) { held.withLock { $0 = registration } }
    func keep(position: String) { held.withLock { $0?.position = position } }
    func flush() {}
}

/// In the profile's folder: one file for each container, readable by its owner only.
///
/// A file that cannot be read or written costs nothing but a new registration.
final class ProfileRegistrations: CourierRegistrations {
    private struct File: Codable, Hashable {
        var endpoint: String
        var clientID: String
        var registration: CourierRegistration?
    }

    private let folder: String
    private let path: String
    private let endpoint: String
    private let held = Mutex(Held())

    private struct Held {
        var file: File?
        var isWritten = false
        var written = ContinuousClock.now
    }

    /// A position is written at most this often; notifications received since then come again after a crash.
    private static let pause = Duration.seconds(2)

    init(folder: String, endpoint: String, container: String, environment: String) {
        self.folder = folder
        self.endpoint = endpoint
        // A container's name has nothing in it that means something in a path.
        path = "\(folder)/notifications-\(container)-\(environment).json"
    }

    var clientID: String { change(writes: true) { $0.clientID } }

    func load() -> CourierRegistration? { change(writes: true) { $0.registration } }

    func store(_ registration: CourierRegistration?) { change(writes: true) { $0.registration = registration } }

    func keep(position: String) { change(writes: false) { $0.registration?.position = position } }

    func flush() { change(writes: true) { _ in } }

    /// Reads the file once, changes what it says, and writes what has changed.
    @discardableResult
    private func change<Value>(writes: Bool, _ body: (inout File) -> Value) -> Value {
        held.withLock { held in
            let before = held.file ?? read()
            var file = before ?? File(endpoint: endpoint, clientID: UUID().uuidString)
            let value = body(&file)
            if held.file == nil { held.isWritten = before != nil }
            if file != before { held.isWritten = false }
            held.file = file
            if !held.isWritten, writes || ContinuousClock.now - held.written >= Self.pause {
                write(file)
                held.isWritten = true
                held.written = .now
            }
            return value
        }
    }

    private func read() -> File? {
        guard let bytes = try? PrivateFile.read(path),
            let file = try? JSONDecoder().decode(File.self, from: Data(bytes)), file.endpoint == endpoint
        else { return nil }
        return file
    }

    private func write(_ file: File) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(file) else { return }
        try? PrivateFile.makeFolder(folder)
        try? PrivateFile.replace(path, with: Array(data))
    }
}
