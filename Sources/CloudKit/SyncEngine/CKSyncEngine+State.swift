import Foundation
import Synchronization

extension CKSyncEngine {
    /// The pending changes, and the engine's position in the change feeds.
    ///
    /// After each change the delegate gets a `stateUpdate`; the serialization in it is all that the next engine needs.
    public final class State: Sendable {
        /// The changes of state that an engine observes.
        enum Change {
            /// There is something to store.
            case changed
            /// There is something to store, and something to send.
            case added
        }

        private struct Content {
            var state: SyncState
            /// The number of changes worth storing.
            var version = 0
            var versionReported = 0
            /// The state that the app may have stored: the one that the engine began with, or that its delegate has got.
            var handedOver: Serialization?
            /// The state that the delegate is just getting.
            var underWay: Serialization?
        }

        private let content: Mutex<Content>
        private struct Observer: Sendable { weak var engine: CKSyncEngine? }

        /// The engines that work with this state, usually one.
        private let observers = Mutex<[Observer]>([])

        /// - Parameter serialization: The state that an app starts an engine with.
        init(startingWith serialization: Serialization?) {
            content = Mutex(Content(state: serialization?.state ?? SyncState(), handedOver: serialization))
        }

        // MARK: What waits to be sent

        /// The records that wait to be sent, in the order in which they were added.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] { value.recordChanges.changes }

        /// The zones that wait to be sent, in the order in which they were added.
        public var pendingDatabaseChanges: [PendingDatabaseChange] { value.databaseChanges.changes }

        /// A Boolean value that indicates whether the app has changes outside of this state to send. The engine then
        /// asks for batches, and sets this to false once the delegate returned none.
        public var hasPendingUntrackedChanges: Bool {
            get { value.hasUntrackedChanges }
            set { update(newValue ? .added : .changed) { $0.setUntracked(newValue) } }
        }

        /// Zones that have changed on the server and were not fetched yet.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] { value.unfetched }

        /// Adds records to send; a later change of a record replaces an earlier one (B-SYN-05).
        public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            update(.added) { $0.add(pendingRecordZoneChanges) }
        }

        /// Takes records back that were not sent yet.
        public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            update(.changed) { $0.remove(pendingRecordZoneChanges) }
        }

        /// Adds zones to send; a later change of a zone replaces an earlier one (B-SYN-05).
        public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
            update(.added) { $0.add(pendingDatabaseChanges) }
        }

        /// Takes zones back that were not sent yet.
        public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
            update(.changed) { $0.remove(pendingDatabaseChanges) }
        }

        // MARK: For the engine

        /// The state as it is now.
        var value: SyncState { content.withLock { $0.state } }

        /// Adds an engine that hears of each change as long as it lives.
        func addObserver(_ engine: CKSyncEngine) { observers.withLock { $0.append(Observer(engine: engine)) } }

        /// Changes the state without telling the engine, who does it.
        ///
        /// - Parameter body: Says whether there is something new to store.
        func revise(_ body: (inout SyncState) -> Bool) {
            content.withLock { content in
                if body(&content.state) { content.version += 1 }
            }
        }

        /// Returns the state, if it differs from the last one reported to the delegate.
        func takeUnreported() -> Serialization? {
            content.withLock { content in
                guard content.version != content.versionReported else { return nil }
                content.versionReported = content.version
                content.underWay = Serialization(state: content.state)
                return content.underWay
            }
        }

        /// Notes that the delegate has got the state that `takeUnreported` returned.
        func noteHandedOver() {
            content.withLock { content in
                content.handedOver = content.underWay
                content.underWay = nil
            }
        }

        /// Returns whether a stored state, nil for none, is the one that the app has from this state's engines, or with which
        /// they began.
        func isContinued(by stored: Serialization?) -> Bool {
            let (handedOver, underWay) = content.withLock { ($0.handedOver, $0.underWay) }
            guard let stored else { return handedOver == nil }
            return [handedOver, underWay].contains { $0.map { $0.isEqual(to: stored) } ?? false }
        }

        private func update(_ change: Change, _ body: (inout SyncState) -> Bool) {
            revise(body)
            let engines = observers.withLock { observers in
                observers.removeAll { $0.engine == nil }
                return observers.compactMap(\.engine)
            }
            for engine in engines { engine.stateChanged(change) }
        }

        /// A state to store, and to start the next engine with. Opaque; holds no field values.
        public struct Serialization: Codable, Sendable {
            let state: SyncState

            init(state: SyncState) { self.state = state }

            /// Returns whether two states are stored as the same bytes.
            func isEqual(to other: Serialization) -> Bool {
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                guard let own = try? encoder.encode(self), let others = try? encoder.encode(other) else { return false }
                return own == others
            }

            /// Creates the value from its encoded form; throws when the data does not describe one.
            public init(from decoder: any Decoder) throws {
                state = try SyncStateArchive(from: decoder).state(decoder.codingPath)
            }

            /// Encodes the value in the form that `init(from:)` reads.
            public func encode(to encoder: any Encoder) throws {
                try SyncStateArchive(state).encode(to: encoder)
            }
        }
    }
}
