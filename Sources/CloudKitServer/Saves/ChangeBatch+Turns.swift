import CloudKitModel

extension ChangeBatch {
    /// Divides the batch into parts that take a turn in the writer each, in their order, so that writers of other users need not wait for
    /// all of it.
    ///
    /// A batch stays whole if it is atomic, or if its operations depend on each other in ways that only the store knows: those with deletions
    /// and with shares. A record stays with the later ones that it refers to. So each part has the outcomes that it has within the whole.
    ///
    /// - Parameter entryCounts: About how many index entries long texts and lists of an item change, by its name.
    func turns(entryCounts: [String: Int]) -> [ChangeBatch] {
        if wantsAtomic, zoneName != ZoneID.defaultZoneName { return [self] }
        if items.count < 2 || items.contains(where: { $0.kind.isDelete || $0.share != nil }) { return [self] }
        var parts: [ChangeBatch] = []
        var start = 0
        for end in ends(entryCounts: entryCounts) {
            var part = self
            part.items = Array(items[start..<end])
            // It says that the client's changes up to it are there: all of them.
            if end < items.count { part.clientChangeToken = nil }
            parts.append(part)
            start = end
        }
        return parts
    }

    /// Returns the ends of the parts, the last one being that of the items.
    private func ends(entryCounts: [String: Int]) -> [Int] {
        var positions: [String: Int] = [:]
        for (position, item) in items.enumerated() { positions[item.name] = position }
        var ends: [Int] = []
        var (start, bound, entries, bytes) = (0, 0, 0, 0)
        for (position, item) in items.enumerated() {
            let itemEntries = (entryCounts[item.name] ?? 0) + item.fields.count
            let itemBytes = item.fields.reduce(0) { $0 + $1.json.count }
            let isFull = entries + itemEntries > limits.turnEntriesMax || bytes + itemBytes > limits.turnBytesMax
            if position > start, position > bound, isFull {
                ends.append(position)
                (start, entries, bytes) = (position, 0, 0)
            }
            entries += itemEntries
            bytes += itemBytes
            bound = item.references.reduce(bound) { max($0, positions[$1.target] ?? 0) }
        }
        return ends + [items.count]
    }
}
