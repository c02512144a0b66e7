import CloudKitModel
import CloudKitSchema

/// Writes the schema of a container in the schema language, and compares schemas.
package struct ExportSchema: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the schema of an environment as text; importing it again changes nothing.
    package func run(of container: ContainerID, _ environment: Environment) async throws -> String {
        try await cloud.schema(container, environment).document.text
    }

    /// Returns the changes that would make production's schema the one of development.
    package func difference(of container: ContainerID) async throws -> [SchemaChange] {
        try await cloud.schema(container, .development).document
            .changes(from: try await cloud.schema(container, .production).document)
    }

    /// Returns the changes that would make an environment's schema the one of a text.
    ///
    /// - Throws: `badRequest` with line and column for a text that cannot be read.
    package func difference(
        of text: String, from container: ContainerID, _ environment: Environment
    ) async throws -> [SchemaChange] {
        let held = try await cloud.schema(container, environment).document
        do throws(SchemaSyntaxError) {
            return try SchemaDocument(parsing: text).replacing(held).changes(from: held)
        } catch {
            throw error.failure
        }
    }
}
