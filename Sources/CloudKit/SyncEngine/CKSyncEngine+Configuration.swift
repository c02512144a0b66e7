extension CKSyncEngine {
    /// The parts that an engine needs to start.
    public struct Configuration: CustomStringConvertible, Sendable {
        /// The private or the shared database (B-SYN-01). One engine for each; several of one database are several
        /// devices, for tests.
        public var database: CKDatabase
        /// The state of the last `stateUpdate` event; nil: the first start.
        public var stateSerialization: State.Serialization?
        /// Gets the events. The engine does not keep it alive.
        public var delegate: any CKSyncEngineDelegate
        /// A Boolean value that indicates whether the engine syncs automatically; false: only when the app calls it
        /// (B-SYN-11).
        public var automaticallySync = true
        /// The database subscription to use; nil: the engine's own (B-SYN-10).
        public var subscriptionID: CKSubscription.ID?

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - database: The private or shared database that the engine synchronizes.
        ///   - stateSerialization: The state that the app kept from the last `stateUpdate` event; nil on a first
        ///     launch.
        ///   - delegate: The object that receives events and provides record batches.
        public init(
            database: CKDatabase, stateSerialization: State.Serialization?, delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }

        /// A textual form of the value, for logs and debugging.
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
    /// Handles an event. Store the data of an event before the state of a later `stateUpdate` (B-SYN-01).
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// Asks for the next records to send, again and again until there are none (B-SYN-06).
    ///
    /// - Returns: nil: nothing more within the context's scope.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// Returns the options for each request of a fetch: its zones, and those that come first (B-SYN-13). By default
    /// those of the context.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    /// Returns the options for the next fetch; by default those of the context.
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions { context.options }
}
