import CloudKitWire
import Synchronization

/// The one connection for notifications of a profile and container, shared by all who listen in this process.
package final class NotificationHub: Sendable {
    private struct State {
        var listeners: [Int: Listening] = [:]
        var nextID = 0
        var batch = 0
        /// Positions that take effect once every listener has finished its batch.
        var positions: [(batch: Int, position: String)] = []
        var receiving: Task<Void, Never>?
    }

    private struct Listening {
        weak var listener: NotificationListener?
    }

    private let state = Mutex(State())
    let registrations: any CourierRegistrations

    init(registrations: any CourierRegistrations = MemoryRegistrations()) {
        self.registrations = registrations
    }

    /// Someone begins to listen; the first one opens the connection.
    package func listen(through cloud: CloudAccess) -> NotificationListener {
        state.withLock { state in
            state.nextID += 1
            let listener = NotificationListener(hub: self, id: state.nextID, lastBatch: state.batch)
            state.listeners[state.nextID] = Listening(listener: listener)
            if state.receiving == nil, cloud.surface.isNative {
                let receiving = NotificationReceiver(cloud: cloud, hub: self)
                state.receiving = Task.detached { await receiving.run() }
            }
            return listener
        }
    }

    /// Someone has stopped listening; the last one closes the connection.
    func leave(_ id: Int) {
        let ended = state.withLock { state -> Task<Void, Never>? in
            state.listeners[id] = nil
            return state.listeners.isEmpty ? state.receiving.take() : nil
        }
        ended?.cancel()
        listenerHasMoved()
        if ended != nil { registrations.flush() }
    }

    /// Hands a batch to all who listen.
    func receive(_ notifications: [PayloadValue], position: String) {
        let (listeners, batch) = state.withLock { state in
            state.batch += 1
            state.positions.append((state.batch, position))
            return (state.listeners.values.compactMap(\.listener), state.batch)
        }
        for listener in listeners { listener.receive(notifications, batch: batch) }
        listenerHasMoved()
    }

    /// A registration has replaced the one that positions belong to.
    func forgetPositions() { state.withLock { $0.positions = [] } }

    /// Stores the newest position that all listeners have passed.
    func listenerHasMoved() {
        let listeners = state.withLock { $0.listeners.values.compactMap(\.listener) }
        guard let done = listeners.map(\.doneThrough).min() else { return }
        let position = state.withLock { state -> String? in
            let good = state.positions.last { $0.batch <= done }?.position
            state.positions.removeAll { $0.batch <= done }
            return good
        }
        if let position { registrations.keep(position: position) }
    }

    /// The identity of a connection for notifications: one cloud, container, environment and profile.
    package struct Key: Hashable {
        /// Scheme, host and port of the cloud.
        package var endpoint: String
        /// The identifier of the container.
        package var container: String
        /// The name of the environment.
        package var environment: String
        var profile: String
        /// The absolute path of the profile's folder.
        package var folder: String
    }

    private static let hubs = Mutex<[Key: NotificationHub]>([:])

    /// The hub of one profile at one container, the same for every `CKContainer` object in the process.
    package static func shared(_ key: Key) -> NotificationHub {
        hubs.withLock { hubs in
            if let hub = hubs[key] { return hub }
            let hub = NotificationHub(
                registrations: ProfileRegistrations(
                    folder: key.folder, endpoint: key.endpoint, container: key.container,
                    environment: key.environment))
            hubs[key] = hub
            return hub
        }
    }
}
