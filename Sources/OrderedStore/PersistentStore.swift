/// A store that outlives its process: everything that a program which serves it asks beyond transactions.
package protocol PersistentStore: OrderedStore {
    /// The number that this store and all its copies share.
    var storeID: UInt64 { get }

    /// Durable commits through this store so far; fewer than writes when writes share them.
    var commitCount: Int { get }

    /// The changes of partitions that were hinted at so far: what `commits()` reports to a listener that takes each hint at once.
    var hintCount: Int { get }

    /// A number that is another one after a commit by another process. It may change more often than that.
    func foreignCommitMark() async throws -> Int64

    /// Whether no partition holds anything.
    func isEmpty() async throws -> Bool

    /// Returns the names of all partitions that were ever written to, in the order of their bytes.
    func partitionNames() async throws -> [String]

    /// Lets the engine check its own structures.
    ///
    /// - Returns: The problems that it found, at most 100.
    func integrityProblems() async throws -> [String]

    /// Gives the store a certain epoch: that of a store which it takes the place of.
    func setEpoch(_ epoch: UInt64) async throws

    /// Gives back memory that the store holds to be faster, such as pages of its file.
    ///
    /// - Parameter bytesMax: What each connection may keep; one that holds more gives back all.
    /// - Returns: Whether any memory was given back.
    @discardableResult func releaseMemory(above bytesMax: Int) async -> Bool

    /// Finishes calls under way and releases the store. Later calls fail with `closed`; closing again does nothing.
    func close() async
}

/// The mark of the newest state of a store that was served. It only grows while the store is served.
package enum ServedMark {
    /// The partition of the mark.
    package static let partition = Partition("served")
    /// The key of the mark.
    package static let key: Bytes = [0x60]

    /// Reads the stored form.
    package static func mark(_ bytes: Bytes) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension OrderedStore {
    /// Returns the mark of the newest state that was served; 0 if there is none.
    package func servedMark() async throws -> UInt64 {
        try await read(ServedMark.partition) { try await $0.get(ServedMark.key) }.map(ServedMark.mark) ?? 0
    }

    /// Stores the next mark, durable on return, and returns it.
    package func advanceServedMark() async throws -> UInt64 {
        try await write(ServedMark.partition) { transaction in
            let mark = (try await transaction.get(ServedMark.key).map(ServedMark.mark) ?? 0) + 1
            transaction.set(ServedMark.key, (0..<8).map { UInt8(truncatingIfNeeded: mark >> (56 - 8 * $0)) })
            return mark
        }
    }
}
