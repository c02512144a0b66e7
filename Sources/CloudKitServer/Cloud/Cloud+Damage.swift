import CloudKitRecordLayer

/// A damaged value as the log shows it: its key may hold values of fields and stays out.
package struct DamageReport: Hashable, Sendable {
    /// The name of the partition.
    package let partition: String
    /// The kind of the value.
    package let kind: String
}

extension Cloud {
    /// Returns the damaged values that reads have met since the last call.
    package func takeDamageReports() -> [DamageReport] {
        store.damage.takeUnreported().map { place in
            let kind = place.key.first.flatMap(Subspace.init(rawValue:)).map { String(describing: $0) }
            // What a store finds damaged beside its rows has no key.
            return DamageReport(
                partition: place.partition.name, kind: place.key.isEmpty ? "structure" : kind ?? "unknown")
        }
    }
}
