import CloudKitModel
import CloudKitSchema
import CloudKitServer

/// The state of a container's schema against the other environment's.
struct SchemaState {
    /// Record types of the environment, besides those of the system.
    var typeCount: Int
    /// Changes that would make production's schema the one of development.
    var changeCount: Int
    /// How far index builds are; nil while none run.
    var build: IndexBuildProgress?

    init(of container: ContainerID, in environment: Environment, _ cloud: Cloud) async throws {
        let schema = try await cloud.schema(container, environment)
        typeCount = schema.types.count - schema.implicitTypes.count
        changeCount = try await ExportSchema(cloud).difference(of: container).count
        build = cloud.indexBuilds.progress(of: container, environment)
    }

    /// The state in words.
    var html: HTML {
        HTML([
            HTML("\(typeCount) \(typeCount == 1 ? "type" : "types"), "),
            changeCount == 0
                ? Part.mark("deployed", .good)
                : Part.mark("\(changeCount) \(changeCount == 1 ? "change" : "changes") to deploy", .warn),
            build.map { HTML(" Building indexes: \($0.databasesDone) of \($0.databases) databases.") } ?? HTML(),
        ])
    }
}
