import CloudKitModel

/// The fields of a record after a save: the sent ones merged into the stored ones.
package enum FieldMerge {
    /// - Parameters:
    ///   - held: Sorted by name.
    ///   - set: Sorted by name; wins over `held`.
    ///   - removed: Names that go (B-REC-02).
    /// - Returns: Sorted by name, each name once.
    package static func merge(_ held: [Field], _ set: [Field], removed: Set<String>) -> [Field] {
        if held.isEmpty { return set }
        var merged: [Field] = []
        merged.reserveCapacity(held.count + set.count)
        var next = set.startIndex
        for field in held {
            while next < set.endIndex, set[next].name < field.name {
                merged.append(set[next])
                next += 1
            }
            let isReplaced = next < set.endIndex && set[next].name == field.name
            if !isReplaced, !removed.contains(field.name) { merged.append(field) }
        }
        merged.append(contentsOf: set[next...])
        return merged
    }

    /// Fields sorted by name; of several with one name the last stays.
    package static func sorted(_ fields: [Field]) -> [Field] {
        if zip(fields, fields.dropFirst()).allSatisfy({ $0.name < $1.name }) { return fields }
        var byName: [String: Field] = [:]
        for field in fields { byName[field.name] = field }
        return byName.values.sorted { $0.name < $1.name }
    }
}
