import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// The cloud: what every request comes down to, whatever carried it here.
///
/// All it throws are `RequestFailure`s; what an engine throws passes through and is the edge's to hide. Functions stand
/// in the folder of their noun, such as `Records/Cloud+Records.swift`. A class, because every request holds it in many hands.
package final class Cloud: Sendable {
    package let store: Storage
    package let files: Files
    package let surroundings: Surroundings
    package let limits: Limits
    /// Trouble ordered by the operator.
    package let faults: Faults
    let schemas: SchemaBook
    let registry: Registry
    let tokens: SyncTokenSeal
    let assetSeal: AssetSeal
    let assetDigests = AssetDigests()
    let assetPartitions: AssetPartitions
    package let people: People
    /// Tells what becomes of notifications.
    package let noticeBoard = NoticeBoard()
    /// Whose notifications push services send.
    let pushPlaces = PushPlaces()
    /// Whose turn it is to carry notifications out of a partition.
    let carrying = PartitionTurns()

    /// - Parameters:
    ///   - store: Holds everything but the bytes of assets; its epoch goes into sync tokens.
    ///   - files: Holds the bytes of assets.
    ///   - surroundings: The time, chance and the secret that tokens are made with.
    package init(store: Storage, files: Files, surroundings: Surroundings, limits: Limits = Limits()) {
        self.store = store
        self.files = files
        self.surroundings = surroundings
        self.limits = limits
        faults = Faults(book: .accounts(in: store), surroundings: surroundings)
        schemas = SchemaBook(store: store)
        registry = Registry(store: store)
        people = People(book: .accounts(in: store), surroundings: surroundings)
        tokens = SyncTokenSeal(secret: surroundings.secret, epoch: store.epoch)
        assetSeal = AssetSeal(surroundings: surroundings)
        assetPartitions = AssetPartitions(store: store)
    }

    /// The record types of a container and environment.
    package func schema(_ container: ContainerID, _ environment: Environment) async throws -> Schema {
        try await schemas.current(.schema(container, environment))
    }

    /// The limits that hold for what is written into a place.
    func limits(in place: DatabasePlace) async throws -> Limits {
        guard place.scope != .public else { return limits }
        let ordered = try await faults.quota(of: place.owner, in: place.address.container, place.address.environment)
        guard let ordered else { return limits }
        var limits = limits
        limits.quotaBytes = min(ordered, limits.quotaBytes ?? .max)
        return limits
    }
}
