import CloudKitModel
import CloudKitSchema

extension Schema {
    /// Becomes what a description says; users keep the roles that stay.
    ///
    /// Index options that are new are marked as being built until they cover older records; those that stay go on answering
    /// queries (B-SCH-07).
    ///
    /// - Returns: The names of types that changed.
    mutating func adopt(_ document: SchemaDocument) -> Set<String> {
        roleMembers = roleMembers.filter { document.roles.contains($0.key) }
        for role in document.roles where roleMembers[role] == nil { roleMembers[role] = [] }
        var changed: Set<String> = []
        for name in Set(types.keys).subtracting(document.types.keys) where !implicitTypes.contains(name) {
            types[name] = nil
            changed.insert(name)
        }
        for (name, wanted) in document.types {
            let known = types[name]
            let type = known.map { wanted.building(from: $0) } ?? wanted
            // Users have records before the first import; the description of their type is stored all the same.
            if known != type || implicitTypes.contains(name) {
                types[name] = type
                implicitTypes.remove(name)
                changed.insert(name)
            }
        }
        let implied = Schema.ofTheSystem.types
        for (name, type) in implied where types[name] == nil {
            types[name] = type
            implicitTypes.insert(name)
        }
        return changed
    }
}

extension RecordTypeDefinition {
    /// Returns this type as the successor of another: with the marks of the index builds that this takes.
    fileprivate func building(from known: RecordTypeDefinition) -> RecordTypeDefinition {
        var type = self
        for (name, field) in fields {
            guard let held = known.fields[name] else {
                // No record has a value, but an order by the field includes records without one.
                type.fields[name]?.building = field.indexes.intersection(.sortable)
                continue
            }
            type.fields[name]?.building = field.indexes.building(from: held.indexes, held.building)
        }
        for (field, indexes) in systemIndexes {
            let building = indexes.building(
                from: known.systemIndexes[field] ?? [], known.systemBuilding[field] ?? [])
            type.systemBuilding[field] = building.isEmpty ? nil : building
        }
        return type
    }
}

extension FieldIndexes {
    /// Returns the indexes among these that are to be built, where others were there and some of those were being built.
    func building(from known: FieldIndexes, _ building: FieldIndexes) -> FieldIndexes {
        subtracting(known).union(intersection(building))
    }
}
