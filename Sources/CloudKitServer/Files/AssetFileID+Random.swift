import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import Crypto

extension AssetFileID {
    /// Returns an id for a file of a partition: four bytes that identify the partition of a file, and
    /// sixteen that cannot be guessed.
    static func random(in partition: StoragePartition, _ serverEnvironment: ServerEnvironment) throws -> AssetFileID {
        guard let id = AssetFileID(bytes: tag(of: partition) + serverEnvironment.random(16)) else {
            throw RequestFailure(.internalError, "internal error")
        }
        return id
    }

    /// Four bytes that its files begin with; two partitions may share them.
    static func tag(of partition: StoragePartition) -> [UInt8] {
        Array(SHA256.hash(data: Array(partition.name.utf8)).prefix(4))
    }

    var partitionTag: [UInt8] { Array(bytes.prefix(4)) }
}
