import CloudKitAccounts
import CloudKitDevice
import CloudKitServer
import FileStore
import Foundation
import OrderedStore

/// The state of a test cloud that outlives its server: the store, the secret, the devices' files and the address.
package struct CloudStorage: Sendable {
    /// The store of records, accounts and all other rows.
    package private(set) var store: any OrderedStore
    /// The bytes of assets.
    private(set) var files: any FileStore
    /// The secret, the clock and the random numbers of the server.
    package let serverEnvironment: ServerEnvironment
    /// The folder of the devices' files.
    let dataHome: String
    /// The limits of the cloud.
    let limits: Limits
    /// The address at which the devices find the server.
    package let address: ServerAddress

    /// Creates empty storage.
    ///
    /// - Parameters:
    ///   - now: The cloud's clock, milliseconds since 1970.
    ///   - store: The store of everything else; nil for memory.
    ///   - files: The store for the bytes of assets; nil for memory.
    ///   - limits: The limits of the cloud.
    package init(
        now: @escaping @Sendable () -> Int64, store: (any OrderedStore)? = nil, files: (any FileStore)? = nil,
        limits: Limits = Limits()
    ) throws {
        self.limits = limits
        address = ServerAddress()
        self.store = store ?? MemoryStore(epoch: .random(in: 1 ... .max))
        self.files = files ?? MemoryFileStore(now: now)
        serverEnvironment = ServerEnvironment(secret: ServerEnvironment.systemRandom(32), now: now)
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-testing-\(UUID().uuidString)")
        dataHome = folder.path(percentEncoded: false)
        try PrivateFile.makeFolder(dataHome)
    }

    init(_ clock: TestClock) throws {
        var limits = Limits()
        limits.recordNamesQueryable = true
        try self.init(now: { clock.milliseconds }, limits: limits)
    }

    /// Returns the storage of the same cloud, at the same address, whose store and files were replaced.
    package func continued(on store: any OrderedStore, files: any FileStore) -> CloudStorage {
        var storage = self
        storage.store = store
        storage.files = files
        return storage
    }

    func discard() { try? FileManager.default.removeItem(atPath: dataHome) }
}
