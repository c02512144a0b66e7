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
    let schemas: SchemaBook
    let registry: Registry
    let tokens: SyncTokenSeal
    /// Tells what becomes of notifications.
    package let noticeBoard = NoticeBoard()

    /// - Parameters:
    ///   - store: Holds everything; its epoch goes into sync tokens.
    ///   - surroundings: The time, chance and the secret that tokens are made with.
    package init(store: Storage, surroundings: Surroundings, limits: Limits = Limits()) {
        self.store = store
        self.surroundings = surroundings
        self.limits = limits
        schemas = SchemaBook(store: store)
        registry = Registry(store: store)
        tokens = SyncTokenSeal(secret: surroundings.secret, epoch: store.epoch)
    }
}
