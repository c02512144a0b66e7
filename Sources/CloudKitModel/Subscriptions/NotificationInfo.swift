/// How a notification presents itself: the fields of `CKSubscription.NotificationInfo`. Empty lists are absent ones.
package struct NotificationInfo: Hashable, Sendable {
    package var alertBody: String?
    package var alertLocalizationKey: String?
    /// Names of fields whose values go into the localised text (B-PSH-05), as in the two other lists.
    package var alertLocalizationArgs: [String] = []
    package var title: String?
    package var titleLocalizationKey: String?
    package var titleLocalizationArgs: [String] = []
    package var subtitle: String?
    package var subtitleLocalizationKey: String?
    package var subtitleLocalizationArgs: [String] = []
    package var alertActionLocalizationKey: String?
    package var alertLaunchImage: String?
    package var soundName: String?
    /// Names of fields that travel with the notification, at most three (B-PSH-06); `desiredKeys` in the framework.
    package var additionalFields: [String] = []
    package var shouldBadge = false
    package var shouldSendContentAvailable = false
    package var shouldSendMutableContent = false
    package var category: String?
    /// Notifications with the same one replace one another while they wait (B-PSH-08).
    package var collapseIDKey: String?

    package init() {}

    /// Whether people see or hear something: such a notification is urgent (B-PSH-03).
    package var isVisible: Bool {
        shouldBadge || soundName != nil || alertBody != nil || alertLocalizationKey != nil || title != nil
            || titleLocalizationKey != nil || subtitle != nil || subtitleLocalizationKey != nil
    }

    /// All texts that the app chose, in a fixed order.
    package var texts: [String?] {
        [
            alertBody, alertLocalizationKey, title, titleLocalizationKey, subtitle, subtitleLocalizationKey,
            alertActionLocalizationKey, alertLaunchImage, soundName, category, collapseIDKey,
        ]
    }

    /// All lists of field names, in a fixed order.
    package var lists: [[String]] {
        [alertLocalizationArgs, titleLocalizationArgs, subtitleLocalizationArgs, additionalFields]
    }
}
