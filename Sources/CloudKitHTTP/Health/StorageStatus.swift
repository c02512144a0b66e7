import Synchronization

/// The state of the disk under a cloud, as it was measured last.
package struct StorageStatus: Hashable, Sendable {
    /// Bytes of the store, with its write-ahead log and the log of requests.
    package var storeBytes: Int64
    /// Bytes of the disk that are free for the cloud.
    package var freeBytes: Int64
    /// The place that could not be written to; nil: all could.
    package var unwritable: Place?
    /// Bytes of memory that the process has; nil where they could not be read.
    package var memoryBytes: Int64?
    /// The number of accounts; nil where it could not be read.
    package var accounts: Int?
    /// The state of the scheduled backups; nil without a schedule.
    package var backup: BackupStatus?

    /// A place to which a node writes.
    package enum Place: String, Hashable, Sendable {
        /// The data folder, in which a file was written beside the store.
        case folder = "the data folder"
        /// The database of a cloud whose rows are in one.
        case database = "the database"
    }

    /// A Boolean value that indicates whether everything could be written to.
    package var isWritable: Bool { unwritable == nil }

    /// The free bytes below which a cloud is not well: the write-ahead log and the next large asset need space.
    package static let freeBytesMin: Int64 = 256 << 20

    /// Creates a state.
    package init(
        storeBytes: Int64, freeBytes: Int64, unwritable: Place? = nil, memoryBytes: Int64? = nil, accounts: Int? = nil
    ) {
        self.storeBytes = storeBytes
        self.freeBytes = freeBytes
        self.unwritable = unwritable
        self.memoryBytes = memoryBytes
        self.accounts = accounts
    }
}

/// Holds the newest state of the disk, so that a request for health waits for no disk.
package final class StorageMonitor: Sendable {
    private let state: Mutex<StorageStatus?>

    /// Creates a monitor.
    package init(_ status: StorageStatus? = nil) { state = Mutex(status) }

    /// The newest state; nil before the first one.
    package var status: StorageStatus? { state.withLock { $0 } }

    /// Replaces the state.
    package func update(_ status: StorageStatus) { state.withLock { $0 = status } }
}
