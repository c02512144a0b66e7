import CloudKitDevice

/// Checks every two seconds whether a user signed in or out, in this process or another, and every two minutes whether
/// a disabled account was enabled again, which only the cloud knows.
package final class AccountMonitor: Sendable {
    private let watching: Task<Void, Never>

    /// - Parameter changed: Called after each change, on an arbitrary thread.
    init(
        _ account: any DeviceAccount, interval: Duration = .seconds(2), changed: @escaping @Sendable () -> Void
    ) {
        let start = account.state
        watching = Task.detached(priority: .utility) {
            var known = start
            var looks = 0
            while (try? await Task.sleep(for: interval, tolerance: .milliseconds(500))) != nil {
                looks += 1
                if case .restricted = known, looks.isMultiple(of: Self.checksPerServerQuery) {
                    try? await account.verify()
                }
                let state = account.state
                guard state != known else { continue }
                known = state
                changed()
            }
        }
    }

    private static let checksPerServerQuery = 60

    deinit { watching.cancel() }
}
