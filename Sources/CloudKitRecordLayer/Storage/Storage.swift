import OrderedStore

/// The ordered store as the rules see it. They name these words only, so that no engine's module is ever theirs.
package typealias Storage = any OrderedStore
/// Keys and values.
package typealias StorageBytes = Bytes
/// A range of keys.
package typealias StorageKeyRange = KeyRange
/// A unit of locking: one user's private data, a slice of the public data, a registry.
package typealias StoragePartition = Partition
/// A transaction that reads.
package typealias StorageReader = ReadTransaction
/// A transaction that reads and writes.
package typealias StorageWriter = WriteTransaction
/// Reads of either kind of transaction.
package typealias StorageView = Reading
/// A failure of the store.
package typealias StorageError = StoreError
/// What a transaction is about to read.
package typealias ExpectedStorageReads = ExpectedReads
/// Those for whom a task writes.
package typealias StorageTurn = WriteTurn
