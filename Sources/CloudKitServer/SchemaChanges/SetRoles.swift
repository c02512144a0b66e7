import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Gives users of a container custom roles, and takes them away.
package struct SetRoles: Sendable {
    private let cloud: Cloud
    /// Users of one role.
    private static let membersMax = 1000

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Gives a user a role, or takes it away (B-DB-07).
    ///
    /// - Throws: `itemNotFound` for a role that the environment's schema does not declare; `itemLimitExceeded` for a role with
    ///   1000 users.
    package func run(
        _ role: String, isGiven: Bool, to user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        _ = try await cloud.schemas.change(.schema(container, environment)) { schema in
            guard var members = schema.roleMembers[role] else {
                throw RequestFailure(
                    .itemNotFound, "the schema has no such role",
                    remedy: "Declare it with CREATE ROLE in the schema, and import or deploy it.")
            }
            if isGiven { members.insert(user) } else { members.remove(user) }
            guard members.count <= Self.membersMax else {
                throw RequestFailure(.itemLimitExceeded, "a role has at most \(Self.membersMax) users")
            }
            schema.roleMembers[role] = members
            return []
        }
    }

    /// Returns the users of every role.
    package func members(
        in container: ContainerID, _ environment: Environment
    ) async throws -> [String: Set<UserID>] {
        try await cloud.schema(container, environment).roleMembers
    }
}
