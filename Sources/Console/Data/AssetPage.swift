import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The file of an asset in the public database, where assets are plain.
struct AssetPage: ConsolePage {
    let path = "containers/{container}/{environment}/data/asset"
    let title = "Asset"

    func show(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        guard database.user == nil else {
            throw RequestFailure(.accessDenied, "assets of private databases are sealed by the person's devices")
        }
        let address = ChosenRecord(request.query)
        let record = try await address.record(database, request.cloud)
        let assets = try record?.fields.first { $0.name == request.query["field"] }?.assets() ?? []
        let index = request.query["index"].flatMap { Int($0) } ?? 0
        guard assets.indices.contains(index) else { throw RequestFailure(.itemNotFound, "the field holds no asset") }
        let bearer = AssetBearer(
            container: database.place.container, environment: database.place.environment, user: nil)
        guard let token = IssueDownloadToken(request.cloud).run(for: assets[index], bearer: bearer) else {
            throw RequestFailure(.assetNotAvailable, "the asset is not available")
        }
        return .response(try await request.services.download(token, answering: request.incoming))
    }
}
