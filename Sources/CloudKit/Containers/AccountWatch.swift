// The notification's name is Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CloudKitDevice
import Foundation

extension NSNotification.Name {
    /// Posted on an arbitrary queue when someone signs in or out, or the account becomes usable or unusable, while a
    /// container object lives (B-ACC-03).
    ///
    /// Read the account status again, then the user's record ID, to notice a different user.
    public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}

/// Looks every other second whether someone signed in or out, in this process or another; and every other minute whether a
/// disabled account was enabled again, which nobody but the cloud knows.
final class AccountWatch: Sendable {
    private let watching: Task<Void, Never>

    init(_ account: any DeviceAccount, interval: Duration = .seconds(2)) {
        let start = account.state
        watching = Task.detached(priority: .utility) {
            var known = start
            var looks = 0
            while (try? await Task.sleep(for: interval, tolerance: .milliseconds(500))) != nil {
                looks += 1
                if case .restricted = known, looks.isMultiple(of: Self.looksBetweenQuestions) {
                    await account.verify()
                }
                let state = account.state
                guard state != known else { continue }
                known = state
                NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
            }
        }
    }

    private static let looksBetweenQuestions = 60

    deinit { watching.cancel() }
}
