import OrderedStore

/// The way in which a zone is shared: by trees or as a whole, never both (B-SHR-06).
package enum ZoneSharing: Hashable, Sendable {
    case none
    /// So many trees of it.
    case trees(UInt32)
    /// All of it, by the share with this number.
    case whole(UInt64)

    /// The zone with one more tree shared, or one less.
    package func adding(trees change: Int) -> ZoneSharing {
        guard case .whole = self else {
            let count = max(0, Int(treeCount) + change)
            return count == 0 ? .none : .trees(UInt32(count))
        }
        return self
    }

    /// The number of shared trees.
    package var treeCount: UInt32 { if case .trees(let count) = self { count } else { 0 } }
    /// The number of the share of the whole zone; nil if there is none.
    package var wholeShare: UInt64? { if case .whole(let number) = self { number } else { nil } }

    func encode(into value: inout ValueWriter) {
        switch self {
        case .none: value.add(byte: 0)
        case .trees(let count):
            value.add(byte: 1)
            value.add(count)
        case .whole(let number):
            value.add(byte: 2)
            value.add(number)
        }
    }

    init(reading value: inout ValueReader) throws {
        switch try value.byte() {
        case 0: self = .none
        case 1: self = .trees(try value.number())
        case 2: self = .whole(try value.number())
        default: throw DamagedValue(.zone)
        }
    }
}
