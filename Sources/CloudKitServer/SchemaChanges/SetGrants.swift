import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Sets the grants of a record type.
package struct SetGrants: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Sets what roles may do with the records of a type in the public database (B-DB-07).
    package func run(
        _ grants: Set<Grant>, ofType name: String, in container: ContainerID, _ environment: Environment
    ) async throws {
        _ = try await cloud.schemas.change(.schema(container, environment)) { schema in
            guard schema[name] != nil else {
                throw RequestFailure(.typeNotFound, "Did not find record type: \(name)")
            }
            schema.types[name]?.grants = grants
            return [name]
        }
    }
}
