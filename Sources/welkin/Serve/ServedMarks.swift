import Logging
import OrderedStore
import ServiceLifecycle

/// Notes which state of the store was served, in the store and in the file beside it, while the cloud runs and when it stops.
struct ServedMarks: Service {
    var store: any PersistentStore
    var folder: String
    var logger: Logger

    /// Commits since the last mark are not noticed when they are lost.
    private static let pause = Duration.seconds(1)

    func run() async {
        let marks = Marks(store: store, folder: folder)
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await note(marks)
                try? await Task.sleep(for: Self.pause)
            }
        }
        await note(marks)
    }

    private func note(_ marks: Marks) async {
        do {
            try await marks.note()
        } catch {
            logger.warning(
                "noting what was served failed", metadata: ["error": .string(String(describing: error))])
        }
    }

    private actor Marks {
        let store: any PersistentStore
        let folder: String
        private var commits = 0
        private var epoch: UInt64 = 0

        init(store: any PersistentStore, folder: String) {
            self.store = store
            self.folder = folder
            epoch = store.epoch
        }

        /// Advances the mark if anything was committed since the last call.
        func note() async throws {
            guard store.commitCount != commits || store.epoch != epoch else { return }
            let mark = try await store.advanceServedMark()
            (commits, epoch) = (store.commitCount, store.epoch)
            try ServedFile(storeID: store.storeID, epoch: epoch, mark: mark).write(in: folder)
        }
    }
}
