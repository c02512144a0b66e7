import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Makes the schema of development what a text in the schema language says.
package struct ImportSchema: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Replaces the schema of development; nothing is changed where any part of the text is invalid.
    ///
    /// An index option that the text leaves out is dropped, also on system fields (B-SCH-09). Types and fields that are in
    /// production stay as they are there (B-SCH-04). Record types and fields that stored records have are removed only with
    /// `removesData`.
    ///
    /// - Parameters:
    ///   - removesData: Whether to delete the records of removed types, and the records that have a removed or retyped field.
    ///   - waits: Whether to build the indexes before returning; otherwise the cloud's worker does so.
    /// - Returns: The changes.
    /// - Throws: `badRequest` with line and column for a text that cannot be read; `schemaMismatch` with all reasons.
    @discardableResult
    package func run(
        _ text: String, in container: ContainerID, removesData: Bool = false, waits: Bool = true,
        progress: @Sendable (IndexBuildProgress) -> Void = { _ in }
    ) async throws -> [SchemaChange] {
        let plan = try await plan(text, in: container, removesData: removesData)
        if removesData {
            for type in plan.removals {
                try await DeleteStoredRecords(cloud).run(
                    ofType: type.recordType, withAnyOf: type.fields, in: container, .development)
            }
        }
        let before = try await cloud.schema(container, .development)
        let schema = try await cloud.schemas.change(.schema(container, .development)) { schema in
            schema.adopt(plan.document)
        }
        let place = ContainerEnvironment(container: container, environment: .development)
        if waits {
            try await BuildIndexes(cloud).run(
                in: place, dropped: DroppedIndexes.between(before, schema), progress: progress)
        } else {
            cloud.indexBuilds.add(place)
        }
        return plan.changes
    }

    /// Checks a text as an import would, and changes nothing.
    ///
    /// - Returns: The changes that an import would make.
    package func validate(_ text: String, in container: ContainerID) async throws -> [SchemaChange] {
        try await plan(text, in: container, removesData: false).changes
    }

    private struct Plan: Sendable {
        var document: SchemaDocument
        var changes: [SchemaChange]
        var removals: [Removal]
    }

    /// What is removed of a record type: all of it, or fields.
    private struct Removal: Sendable {
        var recordType: String
        var fields: Set<String>?
    }

    private func plan(_ text: String, in container: ContainerID, removesData: Bool) async throws -> Plan {
        let parsed: SchemaDocument
        do throws(SchemaSyntaxError) {
            parsed = try SchemaDocument(parsing: text)
        } catch {
            throw error.failure
        }
        let held = try await cloud.schema(container, .development).document
        let document = parsed.replacing(held)
        let production = try await cloud.schema(container, .production).document
        var reasons = document.conflicts(with: production)
        let changes = document.changes(from: held)
        let removals = Self.removals(changes)
        if !removesData {
            for removal in removals {
                reasons += try await stored(removal, in: container).map {
                    "\($0): delete them first, or import with --remove-data"
                }
            }
        }
        guard reasons.isEmpty else {
            throw RequestFailure(
                .schemaMismatch,
                "the schema cannot be imported: \(reasons.prefix(Self.reasonsShown).joined(separator: "; "))",
                remedy: "Keep in the schema what is deployed; nothing was changed.")
        }
        return Plan(document: document, changes: changes, removals: removals)
    }

    private static let reasonsShown = 10

    private static func removals(_ changes: [SchemaChange]) -> [Removal] {
        var types: [Removal] = []
        var fields: [String: Set<String>] = [:]
        for change in changes {
            switch change {
            case .removeType(let name): types.append(Removal(recordType: name))
            case .removeField(let name, let type): fields[type, default: []].insert(name)
            case .changeType(let name, let type, _, _): fields[type, default: []].insert(name)
            default: break
            }
        }
        return types + fields.sorted { $0.key < $1.key }.map { Removal(recordType: $0.key, fields: $0.value) }
    }

    /// Returns the reason for which something cannot be removed: stored records have it.
    private func stored(_ removal: Removal, in container: ContainerID) async throws -> [String] {
        let found = try await DeleteStoredRecords(cloud).find(
            ofType: removal.recordType, withAnyOf: removal.fields, in: container, .development)
        guard found else { return [] }
        guard let fields = removal.fields else { return ["records of type \(removal.recordType) are stored"] }
        return ["records of type \(removal.recordType) with \(fields.sorted().joined(separator: ", ")) are stored"]
    }
}
