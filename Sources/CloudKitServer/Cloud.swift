import CloudKitModel
import CloudKitRecordLayer

/// The cloud: what every request comes down to, whatever carried it here.
///
/// All it throws are `RequestFailure`s; what an engine throws passes through and is the edge's to hide. Functions stand
/// in the folder of their noun, such as `Records/Cloud+Records.swift`.
package struct Cloud: Sendable {
    package let store: Storage
    package let surroundings: Surroundings
    package let limits: Limits
    /// Trouble ordered by the operator.
    package let faults: Faults
    let schemas: SchemaBook
    let registry: Registry
    let tokens: SyncTokenSeal

    /// - Parameters:
    ///   - store: Holds everything; its epoch goes into sync tokens.
    ///   - surroundings: The time, chance and the secret that tokens are made with.
    package init(store: Storage, surroundings: Surroundings, limits: Limits = Limits()) {
        self.store = store
        self.surroundings = surroundings
        self.limits = limits
        faults = Faults(book: .accounts(in: store), surroundings: surroundings)
        schemas = SchemaBook(store: store)
        registry = Registry(store: store)
        tokens = SyncTokenSeal(secret: surroundings.secret, epoch: store.epoch)
    }

    /// The limits that hold for what is written into a place.
    func limits(in place: DatabasePlace) async throws -> Limits {
        guard place.scope == .private else { return limits }
        let ordered = try await faults.quota(of: place.owner, in: place.address.container, place.address.environment)
        guard let ordered else { return limits }
        var limits = limits
        limits.quotaBytes = min(ordered, limits.quotaBytes ?? .max)
        return limits
    }
}
