import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Completes index builds that were interrupted.
package struct FinishIndexBuilds: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Completes what `setIndex`, or a save with new fields, was interrupted in. To be called when a cloud starts.
    package func run() async throws {
        for place in try await cloud.registry.containers() {
            for type in try await cloud.schema(place.container, place.environment).types.values {
                for (name, field) in type.fields where !field.building.isEmpty {
                    try await SetIndex(cloud).run(
                        field.indexes, on: .field(name), ofType: type.name, in: place.container, place.environment)
                }
                for (field, _) in type.systemBuilding {
                    try await SetIndex(cloud).run(
                        type.systemIndexes[field] ?? [], on: .system(field), ofType: type.name, in: place.container,
                        place.environment)
                }
            }
        }
    }
}
