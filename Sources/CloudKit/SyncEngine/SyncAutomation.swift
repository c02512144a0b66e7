import CloudKitClient
import Foundation
import Synchronization

/// Runs an engine's automatic syncs: waits for the schedule, does the work, reports the outcome to the schedule.
///
/// Time, waiting and randomness come from the connection, so that a test's clock decides when anything happens
/// (B-SYN-11).
final class SyncAutomation: Sendable {
    private let schedule = Mutex(SyncSchedule())
    private let clientEnvironment: ClientClock
    private let wakeups: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let running = Mutex<Task<Void, Never>?>(nil)
    private let listening = Mutex<Task<Void, Never>?>(nil)
    private let accountObserver = Mutex<AccountObserver?>(nil)

    init(_ clientEnvironment: ClientClock) {
        self.clientEnvironment = clientEnvironment
        (wakeups, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Starts with a fetch, which also finds out who is signed in. The engine is not kept alive; it stops this when it goes.
    func start(_ engine: CKSyncEngine) {
        let hasWork = engine.state.value.hasWork
        plan { schedule, now in
            schedule.wantFetch(at: now)
            if hasWork { schedule.wantSend(at: now) }
        }
        let observer = AccountObserver { [weak self] in self?.accountChanged() }
        accountObserver.withLock { $0 = observer }
        let connection = engine.database.connection
        let notifications = RemoteNotifications(hub: connection.notifications, cloud: connection.cloud)
        let engine = WeakEngine(value: engine)
        let standIn = ContainerStandIn.ofTask
        let listener = Task.detached(priority: .utility) {
            for await remote in notifications {
                guard let engine = engine.value else { return }
                if engine.concerns(remote.notification) { engine.remoteChanged() }
            }
        }
        listening.withLock { $0 = listener }
        let task = Task.detached(priority: .utility) { [self] in
            await ContainerStandIn.$ofTask.withValue(standIn) {
                await run { work in await engine.value?.syncBySchedule(work) }
            }
        }
        running.withLock { $0 = task }
    }

    func stop() {
        running.withLock { $0 }?.cancel()
        listening.withLock { $0 }?.cancel()
        accountObserver.withLock { $0 = nil }
    }

    /// The engine has a subscription: it need not ask as often.
    func noteListening() { plan { schedule, _ in schedule.receivesNotifications = true } }

    func wantFetch() { plan { $0.wantFetch(at: $1) } }

    func wantSend() { plan { $0.wantSend(at: $1) } }

    /// Discards the plan; the next addition or notification makes another one.
    func clear() { plan { schedule, _ in schedule.clear() } }

    private func accountChanged() {
        plan { schedule, now in
            schedule.endQuiet(at: now)
            schedule.wantFetch(at: now)
        }
    }

    private func plan(_ change: (inout SyncSchedule, Duration) -> Void) {
        let now = clientEnvironment.now()
        schedule.withLock { change(&$0, now) }
        wake.yield()
    }

    /// - Parameter sync: nil: the engine is gone.
    private func run(
        _ sync: @Sendable (SyncSchedule.Work) async -> (outcome: SyncOutcome, hasWork: Bool)?
    ) async {
        var bells = wakeups.makeAsyncIterator()
        while !Task.isCancelled {
            switch schedule.withLock({ $0.next(at: clientEnvironment.now()) }) {
            case .idle:
                _ = await bells.next()
            case .wait(let duration):
                let timer = Task { [clientEnvironment, wake] in
                    try await clientEnvironment.sleep(duration)
                    wake.yield()
                }
                _ = await bells.next()
                timer.cancel()
            case .work(let work):
                schedule.withLock { $0.began(work) }
                guard let (outcome, hasWork) = await sync(work) else { return }
                let (now, random) = (clientEnvironment.now(), clientEnvironment.random())
                schedule.withLock { $0.ended(work, outcome, hasWork: hasWork, at: now, random: random) }
            }
        }
    }
}

/// Listens for `CKAccountChanged` as long as it exists.
private final class AccountObserver: Sendable {
    // Opaque, never changed, and given back to the center, which is safe from anywhere.
    nonisolated(unsafe) private let token: any NSObjectProtocol

    init(_ body: @escaping @Sendable () -> Void) {
        token = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { _ in
            body()
        }
    }

    deinit { NotificationCenter.default.removeObserver(token) }
}

private struct WeakEngine: Sendable { weak var value: CKSyncEngine? }

extension CKSyncEngine {
    /// Does one piece of scheduled work; its errors were reported by events, and the schedule decides what follows.
    func syncBySchedule(_ work: SyncSchedule.Work) async -> (outcome: SyncOutcome, hasWork: Bool) {
        var outcome = SyncOutcome.done
        do {
            try await run { engine in
                switch work {
                case .fetch:
                    try await engine.fetch(FetchChangesContext(reason: .scheduled, options: .init()))
                case .send:
                    guard engine.state.value.hasWork else { return }
                    try await engine.send(SendChangesContext(reason: .scheduled, options: .init()))
                }
            }
        } catch {
            outcome = SyncOutcome(CKError.any(error))
        }
        return (outcome, state.value.hasWork)
    }
}
