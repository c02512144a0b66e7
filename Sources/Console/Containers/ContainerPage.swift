import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// One environment of a container.
struct ContainerPage: ConsolePage {
    let path = "containers/{container}/{environment}"
    let title = "Overview"
    let navigation: String? = "Overview"

    /// Private databases that are counted.
    private static let databasesMax = 1000

    func show(_ request: PageRequest) async throws -> PageResponse {
        let place = try request.place
        let usage = try await MeasureContainer(request.cloud)
            .run(place.container, place.environment, databasesMax: Self.databasesMax)
        let schema = try await SchemaState(of: place.container, in: place.environment, request.cloud)
        return .page(title: place.container.name) {
            Part.facts([
                (
                    "Environment",
                    Part.mark(place.environment.rawValue, place.environment == .production ? .warn : .quiet)
                ),
                ("Public database", UsageText.publicDatabase(usage)),
                ("Private databases", UsageText.privateDatabases(usage)),
                ("Schema", schema.html),
            ])
        }
    }
}
