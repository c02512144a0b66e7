import Foundation
import Synchronization

/// A folder of this machine as the place of a backup.
package final class FolderPlace: BackupPlace {
    /// The path of the folder.
    package let address: String
    /// The system says at once whether a file is there.
    package let answersQuickly = true
    /// The lock of the folder ends with its process, so nobody else is about to name anything.
    package let unnamedAgeMin: Int64 = 0

    private struct State {
        /// The descriptor that holds the lock; nil without one.
        var lock: Int32?
        /// The paths of files that are not yet durable.
        var written: Set<String> = []
    }

    private let state = Mutex(State())

    static let lockName = "lock"

    /// Creates the place; changes nothing.
    ///
    /// - Parameter path: The path of the folder.
    package init(_ path: String) { address = path }

    deinit { unlock() }

    private func path(_ name: String) -> String { address + "/" + name }

    /// Returns files as a whole, nil for each that is not there.
    package func read(_ names: [String]) throws(BackupError) -> [[UInt8]?] {
        var found: [[UInt8]?] = []
        for name in names { found.append(try BackupDisk.read(path(name))) }
        return found
    }

    /// Returns the length of a file in bytes; nil if there is none.
    package func length(of name: String) -> Int64? { BackupDisk.size(path(name)) }

    /// Puts a file as a whole: durable on return, and never seen in part.
    package func put(_ name: String, _ bytes: [UInt8]) throws(BackupError) {
        try makeFolders(of: name)
        try BackupDisk.replace(path(name), with: bytes, isDurable: true)
    }

    /// Puts a file as a whole, which the system writes when it likes.
    package func putLater(_ name: String, _ bytes: [UInt8]) throws(BackupError) {
        try makeFolders(of: name)
        try BackupDisk.replace(path(name), with: bytes, isDurable: false)
        state.withLock { _ = $0.written.insert(path(name)) }
    }

    private func makeFolders(of name: String) throws(BackupError) {
        let parts = name.split(separator: "/").dropLast()
        guard let first = parts.first, !BackupDisk.isFolder(path(parts.joined(separator: "/"))) else { return }
        if !BackupDisk.isFolder(path(String(first))) {
            try BackupDisk.makeFolder(path(String(first)))
            try BackupDisk.synchronizeFolder(address)
        }
        var folder = path(String(first))
        for part in parts.dropFirst() {
            folder += "/" + part
            try BackupDisk.makeFolder(folder)
        }
    }

    /// Returns when all files of `putLater` are durable, and their names.
    package func finishPuts() throws(BackupError) {
        let written = state.withLock { $0.written }
        try BackupDisk.synchronize(files: written)
        state.withLock { $0.written.subtract(written) }
    }

    /// Forgets files whose content need not be durable any more.
    package func forgetPuts() { state.withLock { $0.written = [] } }

    /// Returns the files below a folder, in the order of their names.
    package func list(_ folder: String) throws(BackupError) -> [PlacedObject] {
        var found: [PlacedObject] = []
        for entry in try BackupDisk.names(in: path(folder)) ?? [] {
            let name = folder + "/" + entry
            if let length = BackupDisk.size(path(name)) {
                found.append(PlacedObject(name: name, length: length))
            } else if BackupDisk.isFolder(path(name)) {
                found += try list(name)
            }
        }
        return found
    }

    /// Removes files; those that are not there are no error.
    package func remove(_ names: [String], isDurable: Bool) throws(BackupError) {
        for name in names { try BackupDisk.remove(path(name)) }
        guard isDurable else { return }
        for folder in Set(names.map { BackupDisk.parent(of: path($0)) }).sorted() {
            try BackupDisk.synchronizeFolder(folder)
        }
    }

    /// Makes the folder in a folder that is there, unless it is there itself.
    ///
    /// - Returns: The names in it.
    package func prepare() throws(BackupError) -> [String] {
        if let names = try BackupDisk.names(in: address) { return names }
        try BackupDisk.makeFolder(address)
        try BackupDisk.synchronizeFolder(of: address)
        return []
    }

    /// Takes the lock of the folder, which ends with the process at the latest.
    package func lock() throws(BackupError) {
        let file = path(Self.lockName)
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BackupError(system: errno, "open the lock", path: file) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw .busy(address)
        }
        state.withLock { $0.lock = descriptor }
    }

    /// Does nothing: the system keeps the lock.
    package func keepLock(isSure: Bool) {}

    /// Returns the folder for another thread, with puts of its own.
    package func companion() -> any BackupPlace { FolderPlace(address) }

    /// Gives the lock back.
    package func unlock() {
        if let lock = state.withLock({ $0.lock.take() }) { close(lock) }
    }
}
