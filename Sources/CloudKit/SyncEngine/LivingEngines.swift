import Synchronization

/// The engines of this process by their delegates, so that an engine can continue one that its app made a moment before (B-SYN-16).
///
/// Apps make their engine lazily and also in a task at their start, as Apple's sample does. The second one replaces the first, which may
/// have changes that the app has not stored, or be sending them.
enum LivingEngines {
    private struct Weak: Sendable { weak var engine: CKSyncEngine? }

    private static let engines = Mutex<[ObjectIdentifier: [Weak]]>([:])
    /// Delegates after whose number the ended ones are forgotten.
    private static let delegatesMax = 64

    /// Returns the living engine that has the configuration's delegate and database and stands where the configuration begins.
    static func engine(continuedBy configuration: CKSyncEngine.Configuration) -> CKSyncEngine? {
        let known = engines.withLock { engines in
            engines[ObjectIdentifier(configuration.delegate)]?.compactMap(\.engine) ?? []
        }
        return known.last { engine in
            // Another object may have got the memory of a delegate that ended.
            engine.delegate.value === configuration.delegate
                && engine.database.connection === configuration.database.connection
                && engine.database.scope == configuration.database.scope
                && engine.subscriptionID == configuration.subscriptionID
                && engine.state.isContinued(by: configuration.stateSerialization)
        }
    }

    /// Adds an engine, as long as it lives.
    static func add(_ engine: CKSyncEngine, of delegate: any CKSyncEngineDelegate) {
        engines.withLock { engines in
            if engines.count >= delegatesMax {
                engines = engines.compactMapValues { list in
                    let living = list.filter { $0.engine != nil }
                    return living.isEmpty ? nil : living
                }
            }
            let id = ObjectIdentifier(delegate)
            engines[id] = (engines[id] ?? []).filter { $0.engine != nil } + [Weak(engine: engine)]
        }
    }
}
