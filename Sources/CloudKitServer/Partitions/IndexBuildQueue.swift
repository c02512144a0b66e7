import AsyncLocks
import CloudKitModel
import Synchronization

/// How far the index builds of a container and environment are.
package struct IndexBuildProgress: Hashable, Sendable {
    /// Databases that are covered.
    package var databasesDone = 0
    /// Databases that there are.
    package var databases = 0
    /// Records that were looked at.
    package var records = 0

    /// Creates the progress of a build that has not begun.
    package init() {}
}

/// The index builds that this process has to do, and how far they are.
package final class IndexBuildQueue: Sendable {
    private struct State {
        var waiting: [ContainerEnvironment] = []
        var progress: [ContainerEnvironment: IndexBuildProgress] = [:]
    }

    private let state = Mutex(State())
    /// The turns of builds of one container and environment: two at a time would clear each other's entries.
    let turns = KeyedAsyncMutex<ContainerEnvironment>()

    init() {}

    /// Adds the builds of a container and environment, which the cloud's worker does in the background.
    func add(_ place: ContainerEnvironment) {
        state.withLock { state in
            if !state.waiting.contains(place) { state.waiting.append(place) }
        }
    }

    /// Takes the oldest builds; nil for none.
    func next() -> ContainerEnvironment? {
        state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
    }

    func note(_ progress: IndexBuildProgress?, of place: ContainerEnvironment) {
        state.withLock { $0.progress[place] = progress }
    }

    /// Returns how far the builds of a container and environment are; nil while none run in this process.
    package func progress(of container: ContainerID, _ environment: Environment) -> IndexBuildProgress? {
        let place = ContainerEnvironment(container: container, environment: environment)
        return state.withLock { $0.progress[place] }
    }
}
