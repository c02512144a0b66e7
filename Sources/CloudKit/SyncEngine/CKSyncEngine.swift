import AsyncLocks
import CloudKitModel
import Foundation
import Synchronization

/// Keeps an app's records in sync with a private or shared database (B-SYN).
///
/// The app adds its changes (`state.add`), provides records on request and receives the changes of other devices. The
/// engine schedules, batches, retries, stores its position in the change feeds, and follows the account. See
/// <doc:SyncEngine>.
public final class CKSyncEngine: CustomStringConvertible, Sendable {
    /// The database that the engine synchronizes.
    public let database: CKDatabase
    /// The pending changes and the position in the change feeds.
    public let state: State

    /// One sync at a time.
    let syncs: AsyncMutex
    /// One event at a time (B-SYN-02).
    let events: AsyncMutex
    let delegate: DelegateBox
    let automation: SyncAutomation?
    let subscriptionID: String?
    /// The account whose user the state is known to belong to.
    let verifiedAccount = Mutex<AccountStamp?>(nil)
    private let running = Mutex<[UUID: Task<Void, any Error>]>([:])
    private let isReportingEvents = Mutex(false)

    /// Starts an engine. Without a signed-in user it waits (B-SYN-12).
    ///
    /// An engine of the same delegate that stands where this one begins is continued: both share one state (B-SYN-16).
    public init(_ configuration: Configuration) {
        let earlier = LivingEngines.engine(continuedBy: configuration)
        database = configuration.database
        state = earlier?.state ?? State(startingWith: configuration.stateSerialization)
        syncs = earlier?.syncs ?? AsyncMutex()
        events = earlier?.events ?? AsyncMutex()
        delegate = DelegateBox(configuration.delegate)
        subscriptionID = configuration.subscriptionID
        automation =
            configuration.automaticallySync && configuration.database.scope != .public
            ? SyncAutomation(configuration.database.connection.cloud.clientEnvironment) : nil
        if !state.value.wasSignedOut { noteFirstUser() }
        state.addObserver(self)
        LivingEngines.add(self, of: configuration.delegate)
        automation?.start(self)
    }

    deinit { automation?.stop() }

    /// A textual form of the value, for logs and debugging.
    public var description: String {
        "CKSyncEngine(\(database.scope.word), \(state.value.recordChanges.entries.count) records pending)"
    }

    /// Fetches the changes of other devices now.
    ///
    /// - Throws: The failure of a zone or of all zones; `notAuthenticated` when no user is signed in;
    ///   `invalidArguments` inside a delegate's function (B-SYN-02).
    /// - Note: Returns after the delegate has handled the events (B-SYN-13).
    public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
        try await run { try await $0.fetch(FetchChangesContext(reason: .manual, options: options)) }
    }

    /// Sends the pending changes now.
    ///
    /// - Throws: The failure of the changes: `partialFailure` when it differs between them, as the events reported.
    ///   `notAuthenticated` when no user is signed in; `invalidArguments` inside a delegate's function (B-SYN-02), and
    ///   for a batch with changes outside of the scope (B-SYN-06).
    /// - Note: Returns after the delegate has handled the events (B-SYN-13).
    public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
        try await run { try await $0.send(SendChangesContext(reason: .manual, options: options)) }
    }

    /// Cancels running and waiting work. Changes that were not sent stay pending; those under way may still arrive.
    public func cancelOperations() async {
        automation?.clear()
        for task in running.withLock({ Array($0.values) }) { task.cancel() }
    }

    /// Says that the database has changed on the server, as a notification does; an automatic engine fetches.
    func remoteChanged() { automation?.wantFetch() }

    // MARK: One sync at a time

    /// Runs a sync when its turn comes, in a task that `cancelOperations` can reach.
    func run(_ body: @escaping @Sendable (CKSyncEngine) async throws -> Void) async throws {
        guard !EventScope.isCurrent(self) else {
            throw CKError.invalidArguments(
                "fetchChanges and sendChanges cannot be awaited inside a function of the sync engine's delegate")
        }
        try database.scope.checkSyncs()
        let task = Task { [self] in
            try await syncs.withLock { [self] in
                try Task.checkCancellation()
                try await body(self)
            }
        }
        let id = UUID()
        running.withLock { $0[id] = task }
        defer { running.withLock { $0[id] = nil } }
        do {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            throw task.isCancelled && !(error is CKError) ? CKError(.cancelled) : CKError.any(error)
        }
    }

    // MARK: Events

    /// Passes an event to the delegate, then the state if it has changed.
    ///
    /// - Parameters:
    ///   - prepare: Changes the state for the time in which the delegate handles the event; runs just before.
    ///   - commit: Changes the state once the delegate has the event's data (B-SYN-01).
    ///   - reportsState: Whether a changed state is passed on now, or with a later event.
    func post(
        _ event: Event?, preparing prepare: (inout SyncState) -> Bool = { _ in false },
        then commit: (inout SyncState) -> Bool = { _ in false }, reportsState: Bool = true
    ) async {
        await events.withLock {
            state.revise(prepare)
            if let event { await handle(event) }
            state.revise(commit)
            if reportsState, let serialization = state.takeUnreported() {
                await handle(.stateUpdate(Event.StateUpdate(stateSerialization: serialization)))
                state.noteHandedOver()
            }
        }
    }

    private func handle(_ event: Event) async {
        await asking { await $0.handleEvent(event, syncEngine: self) }
    }

    /// Calls one function of the delegate, if that still lives. The caller has the turn.
    func asking<Answer: Sendable>(_ question: (any CKSyncEngineDelegate) async -> Answer) async -> Answer? {
        guard let delegate = delegate.value else { return nil }
        return await EventScope.run(in: self) { await question(delegate) }
    }

    /// Reports a change of the state to the delegate, soon, and has additions sent.
    func stateChanged(_ change: State.Change) {
        if change == .added {
            noteFirstUser()
            automation?.wantSend()
        }
        // One task reports all changes made until it runs.
        let isFirst = isReportingEvents.withLock { isReportingEvents in
            defer { isReportingEvents = true }
            return !isReportingEvents
        }
        guard isFirst else { return }
        Task { [weak self] in
            self?.isReportingEvents.withLock { $0 = false }
            await self?.post(nil)
        }
    }
}

/// Keeps a delegate without keeping it alive.
final class DelegateBox: Sendable {
    private struct Weak: Sendable { weak var value: (any CKSyncEngineDelegate)? }

    private let content: Mutex<Weak>

    init(_ delegate: any CKSyncEngineDelegate) { content = Mutex(Weak(value: delegate)) }

    var value: (any CKSyncEngineDelegate)? { content.withLock { $0.value } }
}

/// Knows whether code runs inside a delegate's function, where waiting for a sync would wait for itself.
final class EventScope: Sendable {
    @TaskLocal private static var current: EventScope?

    /// The state of the engine, which engines share that take turns.
    private let state: ObjectIdentifier
    private let task: Int?

    private init(state: ObjectIdentifier) {
        self.state = state
        task = Self.currentTask
    }

    static func run<Answer: Sendable>(in engine: CKSyncEngine, _ body: () async -> Answer) async -> Answer {
        await $current.withValue(EventScope(state: ObjectIdentifier(engine.state)), operation: body)
    }

    /// A task that an event handler leaves behind inherits the scope, and may wait as long as it wants.
    static func isCurrent(_ engine: CKSyncEngine) -> Bool {
        guard let current, current.state == ObjectIdentifier(engine.state) else { return false }
        return current.task == currentTask
    }

    private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }
}

extension DatabaseScope {
    /// Only databases with feeds can be synced (B-SYN-01).
    func checkSyncs() throws {
        guard self == .public else { return }
        throw CKError.invalidArguments("A sync engine works on a private or shared database, not on the public one")
    }
}
