import CloudKit
import CloudKitClient
import CloudKitDevice
import CloudKitEncryption
import Synchronization

/// Provides one batch, and keeps its outcome.
actor OneBatch: CKSyncEngineDelegate {
    private var batch: CKSyncEngine.RecordZoneChangeBatch?
    private let meanwhile: @Sendable () -> Void
    private(set) var sent: [CKSyncEngine.Event.SentRecordZoneChanges] = []

    /// - Parameter meanwhile: What happens while the batch is made.
    init(_ batch: CKSyncEngine.RecordZoneChangeBatch, meanwhile: @escaping @Sendable () -> Void = {}) {
        self.batch = batch
        self.meanwhile = meanwhile
    }

    /// Makes an engine that sends the batch when it is told to.
    nonisolated func engine(on database: CKDatabase) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        if case .sentRecordZoneChanges(let event) = event { sent.append(event) }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        defer { batch = nil }
        meanwhile()
        return batch
    }
}

/// A class, not an actor, that has lost all its records.
final class Forgetful: CKSyncEngineDelegate {
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await CKSyncEngine.RecordZoneChangeBatch(
            pendingChanges: syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        ) { self.recordFor(id: $0) }
    }

    private func recordFor(id: CKRecord.ID) -> CKRecord? { nil }
}

/// Does something before a zone is fetched, once, and keeps the errors of such fetches.
actor Interrupting: CKSyncEngineDelegate {
    private var interruption: (@Sendable () async throws -> Void)?
    private(set) var errors: [CKError.Code] = []
    private(set) var names: [String] = []

    func interrupt(by interruption: @escaping @Sendable () async throws -> Void) { self.interruption = interruption }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .willFetchRecordZoneChanges:
            let interruption = interruption
            self.interruption = nil
            do { try await interruption?() } catch { errors.append((error as? CKError)?.code ?? .internalError) }
        case .didFetchRecordZoneChanges(let event):
            if let error = event.error { errors.append(error.code) }
        case .fetchedRecordZoneChanges(let event): names += event.modifications.map(\.record.recordID.recordName)
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}

/// Calls its engine back where it must not, and leaves a task behind that may.
actor Reentrant: CKSyncEngineDelegate {
    private(set) var codes: [CKError.Code] = []
    private(set) var later: Task<Void, any Error>?

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .willFetchChanges = event, later == nil else { return }
        do { try await syncEngine.fetchChanges() } catch { codes.append((error as? CKError)?.code ?? .internalError) }
        do { try await syncEngine.sendChanges() } catch { codes.append((error as? CKError)?.code ?? .internalError) }
        later = Task { try await syncEngine.fetchChanges() }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}

/// A device whose user changes.
final class SwitchingAccount: DeviceAccount {
    private let current: Mutex<SignedInDevice?>
    let apiToken: String?

    init(_ first: SignedInDevice) {
        current = Mutex(first)
        apiToken = first.apiToken
    }

    func become(_ next: SignedInDevice?) { current.withLock { $0 = next } }

    var state: AccountState { current.withLock { $0 }?.state ?? .noAccount }
    func webAuthToken() async throws -> String? { try await current.withLock { $0 }?.webAuthToken() }
    func webAuthToken(insteadOf refused: String) async throws -> String? { nil }
    func webAuthToken(beside apiToken: String) async throws -> String? {
        try await current.withLock { $0 }?.webAuthToken(beside: apiToken)
    }
    func keep(rotated token: String, of device: String) {
        current.withLock { $0 }?.keep(rotated: token, of: device)
    }
    var userRecordName: String? { current.withLock { $0 }?.userRecordName }

    func secret() throws -> AccountSecret {
        guard let device = current.withLock({ $0 }) else { throw CancellationError() }
        return try device.secret()
    }
}
