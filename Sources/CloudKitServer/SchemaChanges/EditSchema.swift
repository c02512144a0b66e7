import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Makes one change to the schema of development.
package struct EditSchema: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Adds a record type, field or role, or removes one. What is in production cannot be removed (B-SCH-04). The cloud's worker
    /// builds the indexes.
    ///
    /// - Parameter removesData: Whether to delete the records that have what is removed.
    /// - Throws: `badRequest`, `typeNotFound`, `itemNotFound`; `schemaMismatch` for a removal that production could not follow, and
    ///   for one of what stored records have, without `removesData`.
    package func run(_ edit: SchemaEdit, in container: ContainerID, removesData: Bool = false) async throws {
        let production = try await cloud.schema(container, .production).document
        let fieldsMax = cloud.limits.fieldsMax
        // Before records are deleted; decided again on the schema that is changed.
        _ = try Self.result(of: edit, try await cloud.schema(container, .development), production, fieldsMax)
        if let (recordType, field) = edit.removal {
            try await removeRecords(ofType: recordType, with: field, in: container, removesData: removesData)
        }
        _ = try await cloud.schemas.change(.schema(container, .development)) { schema in
            schema.adopt(try Self.result(of: edit, schema, production, fieldsMax))
        }
        cloud.indexBuilds.add(ContainerEnvironment(container: container, environment: .development))
    }

    private static func result(
        of edit: SchemaEdit, _ schema: Schema, _ production: SchemaDocument, _ fieldsMax: Int
    ) throws(RequestFailure) -> SchemaDocument {
        let held = schema.document
        let result = try held.applying(edit, fieldsMax: fieldsMax)
        let known = Set(held.conflicts(with: production))
        guard let conflict = result.conflicts(with: production).first(where: { !known.contains($0) }) else {
            return result
        }
        throw RequestFailure(.schemaMismatch, conflict)
    }

    private func removeRecords(
        ofType recordType: String, with field: String?, in container: ContainerID, removesData: Bool
    ) async throws {
        let fields = field.map { Set([$0]) }
        let records = DeleteStoredRecords(cloud)
        if removesData {
            return try await records.run(ofType: recordType, withAnyOf: fields, in: container, .development)
        }
        guard try await records.find(ofType: recordType, withAnyOf: fields, in: container, .development) else { return }
        throw RequestFailure(
            .schemaMismatch, "records of type \(recordType)\(field.map { " with \($0)" } ?? "") are stored",
            remedy: "Delete them first, or let this removal delete them.")
    }
}
