import CloudKit

/// One of the user's devices, with the app on it.
struct NotebookDevice: Sendable {
    let name: String
    let container: CKContainer
    let app: Notebook

    init(_ name: String, profile: String, container: String) {
        self.name = name
        self.container = CKContainer(identifier: container, profile: profile)
        app = Notebook(database: self.container.privateCloudDatabase)
    }

    private init(_ device: NotebookDevice, _ app: Notebook) {
        name = device.name
        container = device.container
        self.app = app
    }

    /// Returns the device after a restart of its app, with only the state on its disk.
    func restarted() async -> NotebookDevice {
        NotebookDevice(self, Notebook(database: container.privateCloudDatabase, disk: await app.end()))
    }

    /// Waits until a condition holds.
    ///
    /// - Returns: The time until then.
    /// - Throws: `Unexpected` after a minute and a half.
    @discardableResult
    func wait(until condition: String, _ holds: (Notebook) async -> Bool) async throws -> Duration {
        let start = ContinuousClock.now
        while await !holds(app) {
            guard ContinuousClock.now - start < .seconds(90) else {
                throw Unexpected("After 90 seconds the \(name) still does not \(condition).")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        return ContinuousClock.now - start
    }
}
