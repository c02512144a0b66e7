import OrderedStore

/// The earlier state that a store went back to, with all of its databases, when its present epoch began.
package struct StoreLineage: Hashable, Sendable {
    /// The time of the state, in milliseconds since 1970; 0 if it is not known. What was saved later is lost, or may be.
    package var restoredTo: Int64

    /// Creates a value with the given properties.
    package init(restoredTo: Int64) { self.restoredTo = restoredTo }

    fileprivate static let key: Bytes = [0x61]
    private static let format: UInt8 = 1

    fileprivate var value: Bytes {
        var value = ValueWriter()
        value.add(byte: Self.format)
        value.add(restoredTo)
        return value.bytes
    }

    fileprivate init(decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .databaseHeader)
        guard try value.byte() == Self.format else { throw DamagedValue(.databaseHeader) }
        restoredTo = try value.number()
    }
}

extension Partition {
    /// The earlier state that the store went back to last.
    package static let lineage = Partition("lineage")
}

extension Reading {
    /// Returns the earlier state that the store went back to last; nil: it never did. To be read in the partition `lineage`.
    package func storeLineage() async throws -> StoreLineage? {
        try await get(StoreLineage.key).map(StoreLineage.init(decoding:))
    }
}

extension WriteTransaction {
    /// Writes the state. In the partition `lineage` only.
    package mutating func set(_ lineage: StoreLineage) { set(StoreLineage.key, lineage.value) }
}
