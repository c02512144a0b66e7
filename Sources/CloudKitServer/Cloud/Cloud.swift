import AsyncLocks
import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// The state and services that all operations of the server share.
///
/// Operations are types of their own in the folder of their noun, such as `Records/ModifyRecords.swift`, each with one `run`. They
/// throw `RequestFailure`s; errors of an engine pass through, and the HTTP layer hides them. A class, because all requests share it.
package final class Cloud: Sendable {
    /// The store of everything but the bytes of assets.
    package let store: Storage
    /// The store of the bytes of assets.
    package let files: Files
    /// The time, randomness and the secret of the cloud.
    package let serverEnvironment: ServerEnvironment
    /// The limits that the operator has set.
    package let limits: Limits
    /// The faults that the operator has ordered.
    package let faults: Faults
    /// The quotas of accounts.
    package let accountQuotas: AccountQuotas
    let schemas: SchemaCache
    /// The shapes of the requests that were served, for reports on deployments.
    let servedRequests: ServedRequestLog
    /// The index builds of this process.
    package let indexBuilds = IndexBuildQueue()
    let registry: PartitionRegistry
    let tokens: SyncTokenSeal
    let assetSeal: AssetSeal
    let assetDigests = AssetDigests()
    let assetPartitions: AssetPartitions
    /// The nodes that serve the store, and which of them does which work.
    package let nodes: Nodes
    /// The accounts, sessions, tokens and keychains.
    package let accountStore: AccountStore
    /// The names, addresses and public keys behind users.
    package let userDirectory: UserDirectory
    /// Counts notifications and reports their fate.
    package let notificationMetrics = NotificationMetrics()
    /// The partitions of users whose notifications push services send.
    let pushIndex = PushIndex()
    /// The turns of a user's large batches while their index work is prepared.
    let preparationTurns = KeyedAsyncMutex<UserID>()
    /// The numbers of the zones that were written to.
    let knownZones = KnownZones()
    /// The renewals of the store's epoch.
    package let storeHistory: StoreHistory
    /// Bounds requests of users and to containers.
    package let requestRates: RequestRates
    /// Bounds look-ups of people.
    let peopleLookups: PeopleLookups
    /// The turns of deliveries from a partition to others.
    let deliveryTurns = KeyedAsyncMutex<StoragePartition>()
    /// The pauses between deliveries from a partition to others.
    let deliveryPace = DeliveryPace()

    /// - Parameters:
    ///   - store: Holds everything but the bytes of assets; its epoch goes into sync tokens.
    ///   - files: Holds the bytes of assets.
    ///   - serverEnvironment: The time, randomness and the secret that tokens are made with.
    ///   - isShared: Whether other processes may serve the same store.
    ///   - requiresProvedAddresses: Whether e-mail addresses count only where they are proved.
    package init(
        store: Storage, files: Files, serverEnvironment: ServerEnvironment, limits: Limits = Limits(),
        isShared: Bool = false, requiresProvedAddresses: Bool = false
    ) {
        self.store = store
        self.files = files
        self.serverEnvironment = serverEnvironment
        self.limits = limits
        let nodes = Nodes(store: store, serverEnvironment: serverEnvironment, isShared: isShared)
        self.nodes = nodes
        accountStore = AccountStore(
            store, serverEnvironment, isShared: isShared, requiresProvedAddresses: requiresProvedAddresses)
        userDirectory = accountStore.userDirectory
        faults = Faults(store: accountStore)
        accountQuotas = AccountQuotas(store: accountStore, cacheLifetime: isShared ? 1_000 : 5_000)
        requestRates = RequestRates(limits: limits, now: serverEnvironment.now, nodes: { nodes.count })
        peopleLookups = PeopleLookups(
            hourMax: limits.peopleLookupsMax, now: serverEnvironment.now, nodes: { nodes.count })
        schemas = SchemaCache(store: store)
        servedRequests = ServedRequestLog(store: store, sharedUptime: isShared ? serverEnvironment.uptime : nil)
        registry = PartitionRegistry(store: store, isShared: isShared)
        let history = StoreHistory()
        storeHistory = history
        tokens = SyncTokenSeal(
            secret: serverEnvironment.secret, epoch: { store.epoch }, restoredTo: { history.restoredTo })
        assetSeal = AssetSeal(serverEnvironment)
        assetPartitions = AssetPartitions(store: store)
    }

    /// The name of the store's present epoch, and the time of the state with which it began, in milliseconds since 1970; 0 if it is not known.
    package var epoch: (name: String, restoredTo: Int64) { tokens.epoch }

    /// Returns the schema of a container and environment.
    package func schema(_ container: ContainerID, _ environment: Environment) async throws -> Schema {
        try await schemas.current(.schema(container, environment))
    }

    /// Returns the limits for writes to a place.
    func limits(in place: DatabaseContext) async throws -> Limits {
        guard place.scope != .public else { return limits }
        var limits = limits
        limits.quotaBytes = try await quotaBytes(
            of: place.owner, in: place.address.container, place.address.environment)
        return limits
    }

    /// Returns the bytes that a user may keep in the private database of a container; nil: no limit.
    ///
    /// The account's quota takes the place of the cloud's (B-LIM-16); one ordered for tests tightens either.
    func quotaBytes(of user: UserID, in container: ContainerID, _ environment: Environment) async throws -> UInt64? {
        let own = try await accountQuotas.quota(of: user, in: container).bytes(cloud: limits.quotaBytes)
        let ordered = try await faults.quota(of: user, in: container, environment)
        guard let ordered else { return own }
        return min(ordered, own ?? .max)
    }
}
