import Synchronization

/// A place at which a stored value was found damaged.
package struct DamagedPlace: Hashable, Sendable {
    /// The partition of the value.
    package let partition: Partition
    /// The key of the value. It may hold values of fields, so it never appears in a log.
    package let key: Bytes

    /// Creates a place.
    package init(partition: Partition, key: Bytes) {
        self.partition = partition
        self.key = key
    }
}

/// The damaged values that reads of a store have met, each counted once.
package final class StoreDamage: Sendable {
    private struct State {
        var places: Set<DamagedPlace> = []
        var unreported: [DamagedPlace] = []
    }

    private let state = Mutex(State())
    /// Beyond so many places the store needs its backup, and further ones are not counted.
    private static let placesMax = 10_000

    /// Creates a report without damage.
    package init() {}

    /// The report of stores whose values cannot be damaged.
    package static let none = StoreDamage()

    /// The number of damaged values met so far.
    package var count: Int { state.withLock { $0.places.count } }

    /// Notes a damaged value.
    package func note(_ place: DamagedPlace) {
        state.withLock { state in
            guard state.places.count < Self.placesMax, state.places.insert(place).inserted else { return }
            state.unreported.append(place)
        }
    }

    /// Returns the places that were noted since the last call.
    package func takeUnreported() -> [DamagedPlace] {
        state.withLock { state in
            defer { state.unreported = [] }
            return state.unreported
        }
    }
}
