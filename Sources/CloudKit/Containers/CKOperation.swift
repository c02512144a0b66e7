import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Dispatch
import Foundation
import Synchronization

/// The base of all operations: what they share is settings, a group, an identifier, and how they start and end.
///
/// All blocks of one operation run on its own serial queue; the blocks of single items come before the one that ends the
/// operation, and the operation counts as finished only after that one has returned (B-OPS-01, B-OPS-02).
// Restates what `Operation` declares. Settings and blocks are set before the operation starts, passed to its queue by
// enqueuing and only read from then on (B-OPS-03); state that changes afterwards is in a Mutex.
open class CKOperation: Operation, @unchecked Sendable {
    private let phase = Mutex(OperationPhase.ready)
    private let work = Mutex<Task<Void, Never>?>(nil)
    private let callbacks: DispatchQueue
    private let life = Mutex<LongLivedProgress?>(nil)
    /// The stand-in for containers where the operation was made, which applies to its blocks as well.
    private let standIn = ContainerStandIn.ofTask
    private var ownIdentifier = UUID().uuidString
    private var ownConfiguration = Configuration()
    /// The account that was signed in when the operation was added to a database or container (B-ACC-02).
    private var account: AccountState?

    /// The group the operation belongs to; its default configuration provides the settings that this operation does not
    /// make.
    open var group: CKOperationGroup?

    /// Called when a long-lived operation was written to disk: from then on it outlives its process (B-OPS-06).
    open var longLivedOperationWasPersistedBlock: (() -> Void)?

    /// Creates an operation with a unique identifier.
    public override init() {
        callbacks = DispatchQueue(label: "CKOperation." + ownIdentifier)
        super.init()
    }

    /// Unique; all requests of the operation carry it (B-OPS-07).
    open var operationID: ID { ownIdentifier }

    /// The operation's own settings. Setting copies; nil brings back the defaults.
    open var configuration: Configuration! {
        get { ownConfiguration }
        set { ownConfiguration = newValue?.snapshot() ?? Configuration() }
    }

    /// The configuration's quality of service.
    open override var qualityOfService: QualityOfService {
        get { ownConfiguration.chosen.qualityOfService ?? super.qualityOfService }
        set {
            super.qualityOfService = newValue
            ownConfiguration.qualityOfService = newValue
        }
    }

    /// The configuration's container.
    open var container: CKContainer? {
        get { ownConfiguration.container }
        set { ownConfiguration.container = newValue }
    }

    /// The configuration's access to cellular networks.
    open var allowsCellularAccess: Bool {
        get { ownConfiguration.allowsCellularAccess }
        set { ownConfiguration.allowsCellularAccess = newValue }
    }

    /// The configuration's wish for a long life.
    open var isLongLived: Bool {
        get { ownConfiguration.isLongLived }
        set { ownConfiguration.isLongLived = newValue }
    }

    /// The configuration's timeout without data, seconds.
    open var timeoutIntervalForRequest: TimeInterval {
        get { ownConfiguration.timeoutIntervalForRequest }
        set { ownConfiguration.timeoutIntervalForRequest = newValue }
    }

    /// The configuration's timeout as a whole, seconds.
    open var timeoutIntervalForResource: TimeInterval {
        get { ownConfiguration.timeoutIntervalForResource }
        set { ownConfiguration.timeoutIntervalForResource = newValue }
    }

    // MARK: For subclasses

    /// Returns the work of the operation, ready to be sent: everything it needs is taken from the arguments here.
    ///
    /// Called once, on the operation's queue.
    ///
    /// - Throws: `CallFailure` for arguments that are invalid without asking the server.
    func prepare() throws(CallFailure) -> @Sendable () async throws -> Void { {} }

    /// Calls the blocks that end the operation.
    ///
    /// Called once, on the operation's queue, after all blocks of single items.
    func conclude(_ failure: CallFailure?) {}

    /// Sets the container that the operation was added to, when it has none of its own.
    func adopt(_ container: CKContainer) {
        if ownConfiguration.container == nil { ownConfiguration.container = container }
    }

    /// The connection of the container or database to work on.
    var connection: ContainerConnection { (chosenSettings.container ?? .default()).connection }

    /// The arguments that recreate the operation after its process has ended; nil: this kind cannot be long-lived.
    var longLivedArguments: LongLivedArguments? { nil }

    /// The connection that keeps the operation, and the database it works in; nil: it cannot be long-lived.
    var longLivedPlace: (connection: ContainerConnection, scope: CKDatabase.Scope)? { nil }

    /// The responses from earlier processes, kept for later ones.
    final var longLivedRun: LongLivedProgress? { life.withLock { $0 } }

    /// Continues an operation of an earlier process.
    final func resume(_ kept: LongLivedOperation<LongLivedArguments>, _ life: LongLivedProgress) {
        ownIdentifier = kept.id
        ownConfiguration = Configuration(kept.settings)
        group = kept.group.flatMap { data in LongLivedArchive.read(data) { CKOperationGroup(coder: $0) } }
        self.life.withLock { $0 = life }
    }

    /// The settings for the operation's requests, its group's and the system's defaults filled in (B-OPS-05).
    final func callSettings() -> CallSettings {
        var settings = chosenSettings.settings(
            operationID: operationID, group: group, qualityOfServiceDefault: super.qualityOfService)
        settings.account = account
        return settings
    }

    final var chosenSettings: OperationSettings { ownConfiguration.chosen.over(group?.defaultConfiguration.chosen) }

    /// Runs blocks of single items on the operation's queue and waits for them.
    final func deliver(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            onCallbacks {
                body()
                continuation.resume()
            }
        }
    }

    // MARK: Life

    /// A Boolean value that indicates whether the operation runs asynchronously; always true.
    open override var isAsynchronous: Bool { true }
    /// A Boolean value that indicates whether the operation is running.
    open override var isExecuting: Bool { phase.withLock { $0 == .executing } }
    /// A Boolean value that indicates whether the operation is finished.
    open override var isFinished: Bool { phase.withLock { $0 == .finished } }

    /// Hands the operation to a queue, unless that has happened before.
    final func enqueue(on queue: OperationQueue, _ prepare: () -> Void) {
        guard advance(to: .enqueued) else { return }
        prepare()
        account = connection.cloud.account.state
        queue.addOperation(self)
    }

    /// Starts the operation; a second start has no effect (B-OPS-03).
    open override func start() {
        // `Operation` on Linux relies on these notifications, without them a queue never drains.
        willChangeValue(forKey: "isExecuting")
        let isFirst = advance(to: .executing)
        didChangeValue(forKey: "isExecuting")
        guard isFirst else { return }
        onCallbacks {
            guard !self.isCancelled else { return self.finish(.cancelled) }
            self.main()
        }
    }

    /// Sends the operation's request; runs once, on the operation's own queue, unless the operation was cancelled
    /// before.
    ///
    /// A subclass may set its arguments here and call `super.main()` then. The operation does not end without it.
    open override func main() {
        guard phase.withLock({ $0 == .executing }), work.withLock({ $0 }) == nil else { return }
        begin()
    }

    /// Ends the operation with `CKError.operationCancelled`, as soon as it can.
    open override func cancel() {
        super.cancel()
        work.withLock { $0 }?.cancel()
        // One that was fetched and is not wanted any more.
        if phase.withLock({ $0 == .ready }) { longLivedRun?.end() }
    }

    private func advance(to next: OperationPhase) -> Bool {
        phase.withLock { phase in
            guard phase < next else { return false }
            phase = next
            return true
        }
    }

    private func begin() {
        guard !isCancelled else { return finish(.cancelled) }
        let isPersisted = beginLongLivedRun()
        do throws(CallFailure) {
            let body = try prepare()
            if isPersisted { longLivedOperationWasPersistedBlock?() }
            let task = Task { await self.run(body) }
            work.withLock { $0 = task }
            // Between the question above and here someone may have cancelled.
            if isCancelled { task.cancel() }
        } catch {
            finish(error)
        }
    }

    private func run(_ body: @Sendable () async throws -> Void) async {
        let failure: CallFailure?
        do {
            try await body()
            failure = nil
        } catch {
            failure = Task.isCancelled ? .cancelled : CallFailure(error)
        }
        onCallbacks { self.finish(failure) }
    }

    private func onCallbacks(_ body: @escaping @Sendable () -> Void) {
        callbacks.async { [standIn] in ContainerStandIn.$ofTask.withValue(standIn, operation: body) }
    }

    /// Writes the operation down if it is to outlive its process.
    ///
    /// - Returns: Whether it was written just now.
    private func beginLongLivedRun() -> Bool {
        guard longLivedRun == nil, chosenSettings.isLongLived == true, let place = longLivedPlace,
            let arguments = longLivedArguments, let store = place.connection.longLivedStore,
            let owner = place.connection.longLivedOwner
        else { return false }
        let operation = LongLivedOperation(
            id: operationID, account: owner.account, scope: place.scope.rawValue, arguments: arguments, chosenSettings,
            group: group.map { group in LongLivedArchive.write { group.encode(with: $0) } }, started: Date())
        // Operations that no app resumed are removed when the next one starts.
        _ = store.ids(of: owner, at: Date())
        guard let life = try? LongLivedProgress(starting: operation, in: store) else { return false }
        self.life.withLock { $0 = life }
        LongLivedOperations.note(self, in: store)
        return true
    }

    private func finish(_ failure: CallFailure?) {
        if failure == nil { longLivedRun?.finish(at: Date()) }
        conclude(failure)
        if let life = longLivedRun {
            life.end()
            LongLivedOperations.forget(operationID, in: life.store)
            self.life.withLock { $0 = nil }
        }
        work.withLock { $0 = nil }
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        phase.withLock { $0 = .finished }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
    }
}
