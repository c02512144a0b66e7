import CloudKitModel
import JSONBytes

extension JSONReader {
    /// The `fields` object of a record, sorted by name; of a name that occurs twice the last one counts.
    mutating func fieldChanges() throws -> [FieldChange] {
        var changes: [FieldChange] = []
        changes.reserveCapacity(16)
        // Few fields are put in their place as they come; names are compared outside of the changes, whose copies cost more.
        var names: [String] = []
        names.reserveCapacity(16)
        var isSorted = true
        try beginObject()
        while let key = try nextKey() {
            let name = key.string
            let change = try fieldChange(name: name)
            var place = names.count
            if place <= Self.insertedMax { while place > 0, names[place - 1] > name { place -= 1 } }
            if place > 0, names[place - 1] == name {
                changes[place - 1] = change
                continue
            }
            if place > 0, names[place - 1] > name { isSorted = false }
            changes.insert(change, at: place)
            names.insert(name, at: place)
        }
        return isSorted ? changes : Self.sortedByName(changes)
    }

    /// Fields up to which each is moved to its place: moving them takes the square of their number.
    private static var insertedMax: Int { 64 }

    private static func sortedByName(_ changes: [FieldChange]) -> [FieldChange] {
        // By place as well, so that of two with one name the later one comes last.
        let order = changes.indices.sorted { (changes[$0].name, $0) < (changes[$1].name, $1) }
        var sorted: [FieldChange] = []
        sorted.reserveCapacity(changes.count)
        for place in order {
            if sorted.last?.name == changes[place].name { sorted.removeLast() }
            sorted.append(changes[place])
        }
        return sorted
    }

    /// One field: `{"value": …, "type": …, "isEncrypted": …}`; null, or without value, it is removed.
    private mutating func fieldChange(name: String) throws -> FieldChange {
        if try readNull() { return .remove(name: name) }
        let (value, tag) = try taggedValue()
        guard let value, !value.isNull else { return .remove(name: name) }
        if var type = tag.type, tag.isEncrypted {
            type.isEncrypted = true
            return .set(try Field(name: name, tag: type, value: value))
        }
        return .set(try Field(name: name, tag: tag.type, value: value).encrypted(tag.isEncrypted))
    }

    /// The keys that accompany a value.
    struct Tag {
        var type: FieldType?
        var isEncrypted = false
    }

    /// A value with its tag, which may come before or after it.
    mutating func taggedValue() throws(JSONError) -> (value: JSONValue?, tag: Tag) {
        var value: JSONValue?
        var tag = Tag()
        try beginObject()
        while let key = try nextKey() {
            switch key {
            case "value": value = try self.value()
            case "type": tag.type = try fieldTypeIfAny()
            case "isEncrypted": tag.isEncrypted = try boolIfAny() ?? false
            default: try skipValue()
            }
        }
        return (value, tag)
    }

    private mutating func fieldTypeIfAny() throws(JSONError) -> FieldType? {
        let value = try value()
        if value.isNull { return nil }
        guard let text = value.text, let type = FieldType(word: text) else {
            throw JSONError(.unexpectedKind, offset: value.offset)
        }
        return type
    }
}

extension Field {
    /// The field as one that came marked but without a tag.
    fileprivate func encrypted(_ isEncrypted: Bool) -> Field {
        guard isEncrypted, !type.isEncrypted else { return self }
        var result = self
        result.type.isEncrypted = true
        return result
    }
}
