import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Copies the schema of a container from development to production.
package struct DeploySchema: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Copies record types, their fields and indexes from development to production, never data and never taking away
    /// (B-SCH-04).
    package func run(of container: ContainerID) async throws {
        let development = try await cloud.schema(container, .development)
        let before = try await cloud.schema(container, .production)
        _ = try await cloud.schemas.change(.schema(container, .production)) { $0.deploy(development) }
        for (name, type) in development.types {
            guard let old = before[name] else { continue }
            for (field, definition) in type.fields
            where old.fields[field].map({ $0.indexes != definition.indexes }) ?? false {
                try await SetIndex(cloud).run(
                    definition.indexes, on: .field(field), ofType: name, in: container, .production)
            }
            for field in QueryKey.SystemField.allCases where old.systemIndexes[field] != type.systemIndexes[field] {
                try await SetIndex(cloud).run(
                    type.systemIndexes[field] ?? [], on: .system(field), ofType: name, in: container, .production)
            }
        }
    }
}

extension Schema {
    /// Adds what another schema has and this has not; indexes of known fields stay, to be changed with a build.
    ///
    /// - Returns: The names of types that changed.
    fileprivate mutating func deploy(_ other: Schema) -> Set<String> {
        var changed: Set<String> = []
        for (name, type) in other.types {
            guard var known = types[name] else {
                types[name] = type
                changed.insert(name)
                continue
            }
            known.fields.merge(type.fields) { known, _ in known }
            known.grants = type.grants
            if known != types[name] { changed.insert(name) }
            types[name] = known
        }
        return changed
    }
}
