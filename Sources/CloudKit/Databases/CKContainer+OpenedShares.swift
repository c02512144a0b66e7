import CloudKitDevice
import CloudKitModel
import Foundation

/// An addition of Welkin: reports links to shares that the user opens, where Apple's systems call
/// `userDidAcceptCloudKitShareWith`.
extension CKContainer {
    /// Returns the metadata of links to shares of this container that are opened on this device with `welkin open`,
    /// also of those opened while the app did not run.
    ///
    /// Each link goes to one reader. The user has agreed to open it; the app accepts the share with
    /// ``accept(_:)-(CKShare.Metadata)`` or ``CKAcceptSharesOperation`` while ``CKShareMetadata/participantStatus`` is
    /// `pending`. Links that owners open themselves, and links that are opened again, are reported as well: the
    /// metadata says so. The sequence checks for links every second while it is read; a link that cannot be resolved
    /// without a network is tried again.
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

    /// Returns the metadata of links opened since the last call; links that lead to no share are left out.
    func takeOpenedShares() async -> [CKShare.Metadata] { await takeOpenedLinks().compactMap { try? $0.get() } }

    /// Returns what links opened since the last call lead to: metadata, or the error of a link that leads to no share of the user.
    package func takeOpenedLinks() async -> [Result<CKShare.Metadata, any Error>] {
        guard let folder = connection.folder, let place = try? connection.cloud.place.get() else { return [] }
        let box = OpenedShares(profileFolder: folder)
        let entries = try? box.take(container: place.container.name, environment: place.environment.rawValue)
        var results: [Result<CKShare.Metadata, any Error>] = []
        for entry in entries ?? [] {
            guard let url = URL(string: entry.link) else { continue }
            do {
                results.append(.success(try await shareMetadata(for: url)))
            } catch let error as CKError where Self.passes(error.code) {
                try? box.put(entry)
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }

    /// Returns a Boolean value that indicates whether a later attempt may succeed.
    private static func passes(_ code: CKError.Code) -> Bool {
        [
            .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .serverResponseLost,
            .zoneBusy,
            .operationCancelled, .notAuthenticated, .accountTemporarilyUnavailable,
        ].contains(code)
    }
}
