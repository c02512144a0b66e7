import OrderedStore

/// The format of the rows of a whole store: which rows there are, and what they say of each other.
///
/// It is raised when rows have to be changed or added before a later version of the cloud can serve a store. A single row that gets a new part
/// has a number of its own and needs none of this.
package struct RowsFormat: Hashable, Sendable {
    /// The number of the format. While an upgrade is under way it is that of the format which the upgrade leads to, so that no earlier version takes the
    /// store for its own.
    package var number: UInt32
    /// The place where an upgrade goes on; nil: none is under way.
    package var upgrade: Position?

    /// A place in an upgrade: everything before it is done.
    package struct Position: Hashable, Sendable {
        /// The format to which the present step leads.
        package var step: UInt32
        /// The name of the partition.
        package var partition: String
        /// The first key that is not done.
        package var key: Bytes

        /// Creates the place before everything else of a step.
        package init(step: UInt32, partition: String = "", key: Bytes = []) {
            self.step = step
            self.partition = partition
            self.key = key
        }
    }

    /// Creates a format.
    package init(number: UInt32, upgrade: Position? = nil) {
        self.number = number
        self.upgrade = upgrade
    }

    /// The format of stores that name none.
    package static let first = RowsFormat(number: 1)

    fileprivate static let key: Bytes = [0x62]
    private static let form: UInt8 = 1

    fileprivate var value: Bytes {
        var value = ValueWriter()
        // The number comes first in every form, so that each version can tell a later format.
        value.add(number)
        value.add(byte: Self.form)
        value.add(byte: upgrade == nil ? 0 : 1)
        if let upgrade {
            value.add(upgrade.step)
            value.add(upgrade.partition)
            value.add(upgrade.key)
        }
        return value.bytes
    }

    fileprivate init(decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .databaseHeader)
        number = try value.number()
        // A later form belongs to a later format, of which the number is all that matters.
        guard try value.byte() == Self.form, try value.byte() == 1 else { return }
        upgrade = Position(step: try value.number(), partition: try value.text(), key: try value.string())
    }
}

extension Partition {
    /// The format of the store's rows.
    package static let rowsFormat = Partition("format")
}

extension Reading {
    /// Returns the format of the store's rows. To be read in the partition `rowsFormat`.
    package func rowsFormat() async throws -> RowsFormat {
        try await get(RowsFormat.key).map(RowsFormat.init(decoding:)) ?? .first
    }
}

extension WriteTransaction {
    /// Returns the format of the store's rows, of a transaction that names the partition `rowsFormat`; nil: the store names none.
    func namedRowsFormat() async throws -> RowsFormat? {
        try await get(RowsFormat.key, in: .rowsFormat).map(RowsFormat.init(decoding:))
    }

    /// Writes the format of the store's rows, in a transaction that names the partition `rowsFormat`.
    package mutating func set(_ format: RowsFormat) throws { try set(RowsFormat.key, format.value, in: .rowsFormat) }
}
