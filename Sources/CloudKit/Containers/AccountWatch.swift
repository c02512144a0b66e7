// The notification's name is Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CloudKitDevice
import Foundation

extension NSNotification.Name {
    /// Posted on an arbitrary queue when someone signs in or out while a container object lives (B-ACC-03).
    ///
    /// Read the account status again, then the user's record ID, to notice a different user.
    public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}

/// Looks every other second whether someone signed in or out, in this process or another.
final class AccountWatch: Sendable {
    private let watching: Task<Void, Never>

    init(_ account: any DeviceAccount, interval: Duration = .seconds(2)) {
        let start = account.state
        watching = Task.detached(priority: .utility) {
            var known = start
            while (try? await Task.sleep(for: interval, tolerance: .milliseconds(500))) != nil {
                let state = account.state
                guard state != known else { continue }
                known = state
                NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
            }
        }
    }

    deinit { watching.cancel() }
}
