import CloudKitDevice
import Foundation
import Synchronization

/// A small value that all processes of a profile share: in memory, and in a private file of the profile's folder.
final class PinFile<Pins: Codable & Equatable & Sendable>: Sendable {
    private let file: String?
    private let empty: Pins
    private let memory: Mutex<Pins>

    /// - Parameters:
    ///   - folder: The profile's; nil: nothing is written.
    ///   - name: Of the file.
    init(folder: String?, name: String, empty: Pins) {
        file = folder.map { $0 + "/" + name }
        self.empty = empty
        memory = Mutex(empty)
    }

    /// The stored value, including changes by other processes.
    ///
    /// - Throws: `CallFailure.accountUnusable` when the file cannot be read.
    var known: Pins {
        get throws(CallFailure) {
            guard let file else { return memory.withLock { $0 } }
            do {
                return try PrivateFile.read(file, or: empty)
            } catch {
                throw .accountUnusable("A file of the profile cannot be read (\(file)); it is damaged or not yours")
            }
        }
    }

    /// Reads the stored value and lets `body` change it; where `body` throws, nothing changes.
    func change<Value>(_ body: (inout Pins) throws -> Value) throws -> Value {
        guard let file else {
            var pins = memory.withLock { $0 }
            let value = try body(&pins)
            memory.withLock { $0 = pins }
            return value
        }
        return try PrivateFile.change(file, from: empty, body)
    }
}
