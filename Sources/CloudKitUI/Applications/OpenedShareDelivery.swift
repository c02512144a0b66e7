import CloudKit
import Foundation

/// The links to shares that are opened on this device, on their way to an app's delegate.
@MainActor
struct OpenedShareDelivery {
    /// Returns what links opened since the last call lead to.
    private let take: () async -> [Result<CKShare.Metadata, any Error>]
    private let pause: () async throws -> Void
    private let complain: (String) -> Void

    /// Links for a container, looked for every second.
    init(_ container: CKContainer) {
        self.init(
            take: { await container.takeOpenedLinks() },
            pause: { try await Task.sleep(for: .seconds(1), tolerance: .milliseconds(250)) },
            complain: { FileHandle.standardError.write(Data(($0 + "\n").utf8)) })
    }

    init(
        take: @escaping () async -> [Result<CKShare.Metadata, any Error>], pause: @escaping () async throws -> Void,
        complain: @escaping (String) -> Void
    ) {
        self.take = take
        self.pause = pause
        self.complain = complain
    }

    /// Returns the metadata of the links that wait.
    func next() async -> [CKShare.Metadata] {
        await take().compactMap { result in
            switch result {
            case .success(let metadata): return metadata
            case .failure(let error):
                complain("CloudKitUI: " + Self.sentence(error))
                return nil
            }
        }
    }

    /// Passes on the links that wait and all that come, until the task is cancelled.
    func run(_ waiting: [CKShare.Metadata], receive: (CKShare.Metadata) -> Void) async {
        for metadata in waiting { receive(metadata) }
        while !Task.isCancelled {
            for metadata in await next() { receive(metadata) }
            do { try await pause() } catch { return }
        }
    }

    /// Why a link did not open, and what to do.
    static func sentence(_ error: any Error) -> String {
        switch (error as? CKError)?.code {
        case .unknownItem:
            "A link that was opened leads to no share: sharing was stopped, its one-time link was used already, or you were not "
                + "invited with this account. Ask the owner for a new link."
        case .participantMayNeedVerification:
            "A link that was opened is for an address that your account does not have. Add the address to your account, or ask "
                + "the owner to invite the one you have."
        case .permissionFailure: "A link that was opened is not for your account. Ask the owner to invite you."
        default: "A link that was opened cannot be used: \(error.localizedDescription)"
        }
    }
}
