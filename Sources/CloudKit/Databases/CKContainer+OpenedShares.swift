import CloudKitDevice
import CloudKitModel
import Foundation

/// Welkin's own: how an app learns that somebody opened a link to a share, where Apple's systems call
/// `userDidAcceptCloudKitShareWith`.
extension CKContainer {
    /// What is behind links to shares of this container that are opened on this device with `welkin open`, also those that were
    /// opened while the app did not run.
    ///
    /// Each goes to one reader. The person has agreed to opening it; accepting is the app's part, by
    /// ``accept(_:)-(CKShare.Metadata)`` or ``CKAcceptSharesOperation``, as long as ``CKShareMetadata/participantStatus`` is
    /// `pending`. Owners who open their own links, and people who open one again, come by as well: the metadata says so. Links
    /// are looked for every second while somebody reads; one that cannot be looked up for want of a network is tried again.
    ///
    /// - Note: Not part of Apple's interface.
    public func openedShares() -> AsyncStream<CKShare.Metadata> {
        AsyncStream { continuation in
            let task = Task { [self] in
                while !Task.isCancelled {
                    for metadata in await takeOpenedShares() { continuation.yield(metadata) }
                    try? await Task.sleep(for: .seconds(1), tolerance: .milliseconds(250))
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Calls the handler for each link of ``openedShares()``, on an arbitrary queue, until the task that it returns is cancelled.
    ///
    /// - Note: Not part of Apple's interface.
    @discardableResult
    public func whenShareIsOpened(_ handler: @escaping @Sendable (CKShare.Metadata) -> Void) -> Task<Void, Never> {
        Task { for await metadata in openedShares() { handler(metadata) } }
    }

    /// Takes what was opened since the last time.
    func takeOpenedShares() async -> [CKShare.Metadata] {
        guard let folder = connection.folder, let place = try? connection.cloud.place.get() else { return [] }
        let box = OpenedShares(profileFolder: folder)
        let entries = try? box.take(container: place.container.name, environment: place.environment.rawValue)
        var metadatas: [CKShare.Metadata] = []
        for entry in entries ?? [] {
            guard let url = URL(string: entry.link) else { continue }
            do {
                metadatas.append(try await shareMetadata(for: url))
            } catch let error as CKError where Self.passes(error.code) {
                try? box.put(entry)
            } catch {}
        }
        return metadatas
    }

    /// Whether the same may work later.
    private static func passes(_ code: CKError.Code) -> Bool {
        [
            .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .serverResponseLost,
            .zoneBusy,
            .operationCancelled, .notAuthenticated, .accountTemporarilyUnavailable,
        ].contains(code)
    }
}
