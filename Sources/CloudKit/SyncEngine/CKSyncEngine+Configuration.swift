extension CKSyncEngine {
    /// What an engine needs to start.
    public struct Configuration: CustomStringConvertible, Sendable {
        /// The private or the shared database (B-SYN-01). One engine for each; several of one database are several
        /// devices, for tests.
        public var database: CKDatabase
        /// What the last `stateUpdate` brought; nil: the first start.
        public var stateSerialization: State.Serialization?
        /// Gets the events. The engine does not keep it alive.
        public var delegate: any CKSyncEngineDelegate
        /// Whether the engine syncs by itself; false: only when told to (B-SYN-11).
        public var automaticallySync = true
        /// The database subscription to use; nil: the engine's own (B-SYN-10).
        public var subscriptionID: CKSubscription.ID?

        public init(
            database: CKDatabase, stateSerialization: State.Serialization?, delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }

        public var description: String {
            "CKSyncEngine.Configuration(\(database.scope.word), automaticallySync: \(automaticallySync))"
        }
    }
}

/// Gives an engine records to send, and hears what happens.
///
/// Events come one at a time: the next one waits until the handler of the last one has returned. `fetchChanges` and
/// `sendChanges` must not be awaited inside these functions; they then fail with `invalidArguments` (B-SYN-02).
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Something happened. Store what an event brings before the state that a later `stateUpdate` brings (B-SYN-01).
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// Asks for the next records to send, again and again until there are none (B-SYN-06).
    ///
    /// - Returns: nil: nothing more within the context's scope.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// Asks before each request of a fetch what to fetch, and what first (B-SYN-13). By default what the context says.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions { context.options }
}
