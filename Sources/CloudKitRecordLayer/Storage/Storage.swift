import OrderedStore

/// The ordered store as the rules see it. They name these words only, so that no engine's module is ever theirs.
package typealias Storage = any OrderedStore
package typealias StorageBytes = Bytes
package typealias StoragePartition = Partition
package typealias StorageReader = ReadTransaction
package typealias StorageWriter = WriteTransaction
/// Reads of either kind of transaction.
package typealias StorageView = Reading
package typealias StorageError = StoreError
