import CloudKitModel
import CloudKitRecordLayer

/// Lists the zones of other users that the caller can reach.
struct ListSharedZones: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the zones of others that the caller can reach.
    func run(in place: DatabaseContext) async throws -> [Zone] {
        try await SharedDatabase(cloud, in: place).zones().map { $0.zone(sealedBy: cloud.tokens) }
    }
}
