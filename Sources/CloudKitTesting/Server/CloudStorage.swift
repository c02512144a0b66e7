import CloudKitAccounts
import CloudKitDevice
import CloudKitServer
import FileStore
import Foundation
import OrderedStore

/// The state of a test cloud that outlives its server: the store, the secret, the devices' files and the address.
package struct CloudStorage: Sendable {
    /// The store of records, accounts and all other rows.
    package let store: MemoryStore
    /// The bytes of assets.
    let files: any FileStore
    /// The secret, the clock and the random numbers of the server.
    package let serverEnvironment: ServerEnvironment
    /// The folder of the devices' files.
    let dataHome: String
    /// The limits of the cloud.
    let limits: Limits
    /// The address at which the devices find the server.
    package let address = ServerAddress()

    /// Creates empty storage.
    ///
    /// - Parameters:
    ///   - now: The cloud's clock, milliseconds since 1970.
    ///   - files: The store for the bytes of assets; nil for memory.
    ///   - limits: The limits of the cloud.
    package init(
        now: @escaping @Sendable () -> Int64, files: (any FileStore)? = nil, limits: Limits = Limits()
    ) throws {
        self.limits = limits
        store = MemoryStore(epoch: .random(in: 1 ... .max))
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

    func discard() { try? FileManager.default.removeItem(atPath: dataHome) }
}
