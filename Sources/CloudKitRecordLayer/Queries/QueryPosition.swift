import OrderedStore

/// The position at which the next page of a query begins: a place in an index, not a count of records, so that saves
/// between pages neither repeat nor skip records that were not changed themselves (B-QRY-18).
package struct QueryPosition: Hashable, Sendable {
    enum Place: Hashable, Sendable {
        /// After an entry of the driving index.
        case entry(zone: UInt32, Bytes)
        /// After a place in the order.
        case sorted(SortPosition)
    }

    let place: Place

    init(_ place: Place) { self.place = place }

    /// For a continuation marker; who hands it out has to authenticate it.
    package var encoded: Bytes {
        var key = KeyBuilder(capacity: 128)
        switch place {
        case .entry(let zone, let entry):
            key.append(Int64(zone))
            key.append(entry)
        case .sorted(let position):
            key.append(Int64(position.zone))
            key.append(position.isGroupEnd ? 1 : 0)
            key.append(position.recordName)
            for value in position.values { key.append(value) }
        }
        return key.bytes
    }

    /// nil for bytes that no position encodes to.
    package init?(decoding bytes: Bytes) {
        var reader = KeyReader(bytes)
        do {
            guard let zone = UInt32(exactly: try reader.readInteger()) else { return nil }
            if reader.kind == .bytes {
                place = .entry(zone: zone, try reader.readBytes())
                if !reader.isAtEnd { return nil }
            } else {
                let isGroupEnd = try reader.readInteger() == 1
                let name = try reader.readString()
                var values: [Bytes] = []
                while !reader.isAtEnd { values.append(try reader.readBytes()) }
                if values.isEmpty { return nil }
                place = .sorted(
                    SortPosition(values: values, recordName: name, zone: zone, isGroupEnd: isGroupEnd))
            }
        } catch {
            return nil
        }
    }
}
