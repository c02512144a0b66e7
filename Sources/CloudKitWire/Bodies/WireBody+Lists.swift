import CloudKitModel
import JSONBytes

/// Bodies that are one list under one key, as most are: `{"zones": […]}`.
extension WireBody {
    /// Reads a request; other keys are skipped.
    static func requestList<Item>(
        _ key: StaticString, _ bytes: [UInt8], limits: WireLimits, read: (inout JSONReader) throws -> Item
    ) throws(RequestFailure) -> [Item] {
        try request(bytes, limits: limits) { reader in
            var items: [Item] = []
            try reader.object { reader, found in
                guard found == key else { return try reader.skipValue() }
                items = try reader.items(limits: limits, read)
            }
            return items
        }
    }

    /// Reads an answer; other keys are skipped.
    static func answerList<Item>(
        _ key: StaticString, _ bytes: [UInt8], read: (inout JSONReader) throws -> Item
    ) throws(RequestFailure) -> [Item] {
        try answer(bytes) { reader in
            var items: [Item] = []
            try reader.object { reader, found in
                guard found == key else { return try reader.skipValue() }
                try reader.array { items.append(try read(&$0)) }
            }
            return items
        }
    }

    /// Prints a request or an answer.
    ///
    /// - Parameter capacity: Bytes that it will about have.
    static func list<Items: Sequence>(
        _ key: StaticString, _ items: Items, capacity: Int = 256,
        write: (Items.Element, inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: capacity)
        writer.object { writer in
            writer.key(key)
            writer.array { writer in
                for item in items { write(item, &writer) }
            }
        }
        return writer.bytes
    }
}
