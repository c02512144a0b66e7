import CloudKit

// Operations that go on when their app starts again.
extension Step {
    /// A batch of an operation whose end no app has learned.
    struct UnfinishedBatch: Sendable {
        fileprivate let place: Place
        fileprivate let batch: Batch
    }

    /// Makes an operation outlive its app.
    func outlive(_ operation: CKModifyRecordsOperation, _ batch: Batch) {
        let configuration = operation.configuration ?? CKOperation.Configuration()
        configuration.isLongLived = true
        operation.configuration = configuration
        let unfinished = UnfinishedBatch(place: place, batch: batch)
        operation.longLivedOperationWasPersistedBlock = {
            [device, app, trail = history.trail, id = operation.operationID] in
            guard !app.network.isGone else { return }
            device.unfinished.value[id] = unfinished
            trail.note("\(device.name) persists \(id)")
        }
        guard chance.percent(30) else { return }
        let (pause, rest) = (chance.number(0..<600), chance.number(10..<5000))
        if chance.percent(60) {
            app.network.endsWhenServed.value = { endApp(after: 0, startingAfter: rest) }
        } else {
            endApp(after: pause, startingAfter: rest)
        }
    }

    /// Ends the app in a while, and starts it again; milliseconds.
    private func endApp(after pause: Int, startingAfter rest: Int) {
        Task { [history, device, app] in
            if pause > 0 { try? await Task.sleep(for: .milliseconds(pause)) }
            guard history.isPassing.value, !history.isMakingTrouble.value, !app.network.isGone, !device.isVisited.value
            else { return }
            history.restarting.value += 1
            defer { history.restarting.value -= 1 }
            device.crash()
            try? await Task.sleep(for: .milliseconds(rest))
            _ = await history.start(device)
        }
    }
}

extension History {
    /// Resumes the operations that the last app of a device left.
    func resumeOperations(of device: SimulatedDevice, _ app: SimulatedDevice.Booted) {
        let left = device.unfinished.value.sorted { $0.key < $1.key }
        if left.isEmpty { return }
        app.isResuming.value = true
        let chance = Chance(seed: seed, subject: 5000 + UInt64(app.life))
        Task {
            defer { app.isResuming.value = false }
            for (id, unfinished) in left {
                // Without its account, the device has them later.
                guard !app.network.isGone, (try? await app.container.accountStatus()) == .available else { return }
                let operation = try? await app.container.longLivedOperation(for: id) as? CKModifyRecordsOperation
                guard !app.network.isGone else { return }
                guard let operation else {
                    device.unfinished.value[id] = nil
                    if !device.mayLoseOperations.value { violated("\(device.name) has lost operation \(id)") }
                    continue
                }
                trail.note("\(device.name) resumes \(id)")
                let step = Step(history: self, device: device, app: app, place: unfinished.place, chance: chance)
                await step.finish(operation, unfinished.batch)
            }
        }
    }

    /// Waits until all resumed operations have ended.
    func awaitResumedOperations() async throws {
        for _ in 0..<360 where devices.contains(where: { $0.app?.isResuming.value == true }) {
            try await Task.sleep(for: .seconds(10))
        }
        for device in devices where device.app?.isResuming.value == true {
            violated("\(device.name) resumes without an end")
        }
    }
}
