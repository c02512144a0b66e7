import CloudKit

/// One of the user's devices, with the app on it.
struct Device: Sendable {
    let name: String
    let container: CKContainer
    let app: Notebook

    init(_ name: String, profile: String, container: String) {
        self.name = name
        self.container = CKContainer(identifier: container, profile: profile)
        app = Notebook(database: self.container.privateCloudDatabase)
    }

    private init(_ device: Device, _ app: Notebook) {
        name = device.name
        container = device.container
        self.app = app
    }

    /// The same device after its app was ended: what it had on disk is all that it knows.
    func restarted() async -> Device {
        Device(self, Notebook(database: container.privateCloudDatabase, disk: await app.end()))
    }

    /// Waits until the app has come to something.
    ///
    /// - Returns: How long that took.
    /// - Throws: `Unexpected` after a minute and a half.
    @discardableResult
    func wait(until what: String, _ isSo: (Notebook) async -> Bool) async throws -> Duration {
        let start = ContinuousClock.now
        while await !isSo(app) {
            guard ContinuousClock.now - start < .seconds(90) else {
                throw Unexpected("After 90 seconds the \(name) still does not \(what).")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        return ContinuousClock.now - start
    }
}
