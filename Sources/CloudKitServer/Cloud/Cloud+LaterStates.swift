import CloudKitModel

extension Cloud {
    /// Begins a new epoch of the store, because a device knows a later state than the store has: what the device fetched then
    /// is not in the store, and versions given out from now on would be mistaken for those that it knows.
    ///
    /// - Parameter epoch: The epoch under which the device's token was read; once it has changed nothing more is done.
    func noteLaterState(than epoch: UInt64) async throws {
        // In a task of its own: it goes on when the device does not wait.
        try await Task {
            try await storeHistory.turns.withLock {
                guard store.epoch == epoch else { return }
                let partitions = try await registry.databases()
                try await ContinueFromEarlierState(self).run(
                    restoredTo: 0, partitions: partitions.map(\.name))
                try await store.renewEpoch(from: epoch)
                storeHistory.note(.deviceAhead)
            }
        }.value
    }

    /// Runs `body`, and begins a new epoch if it refuses the token of a device that knows a later state, also when it reads the newest one.
    func noticingLaterStates<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        let epoch = store.epoch
        do {
            return try await body()
        } catch let failure as RequestFailure where failure == .tokenAhead {
            if try await store.catchUp() {
                do {
                    return try await body()
                } catch let second as RequestFailure where second != .tokenAhead {
                    throw second
                } catch is RequestFailure {}
            }
            try await noteLaterState(than: epoch)
            throw failure
        }
    }
}
