// The notification's name is Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

extension NSNotification.Name {
    /// Posted on an arbitrary queue when someone signs in or out, or the account becomes usable or unusable, while a
    /// container object lives (B-ACC-03).
    ///
    /// Read the account status again, then the user's record ID, to notice a different user.
    public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}
