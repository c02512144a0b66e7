/// The presentation of a notification: the fields of `CKSubscription.NotificationInfo`. Empty lists are absent ones.
package struct NotificationInfo: Hashable, Sendable {
    /// The text of the alert.
    package var alertBody: String?
    /// The key of the alert's localized text.
    package var alertLocalizationKey: String?
    /// Names of fields whose values go into the localised text (B-PSH-05), as in the two other lists.
    package var alertLocalizationArgs: [String] = []
    /// The title of the alert.
    package var title: String?
    /// The key of the localized title.
    package var titleLocalizationKey: String?
    /// The fields whose values go into the localized title.
    package var titleLocalizationArgs: [String] = []
    /// The subtitle of the alert.
    package var subtitle: String?
    /// The key of the localized subtitle.
    package var subtitleLocalizationKey: String?
    /// The fields whose values go into the localized subtitle.
    package var subtitleLocalizationArgs: [String] = []
    /// The key of the localized title of the alert's action.
    package var alertActionLocalizationKey: String?
    /// The name of the launch image.
    package var alertLaunchImage: String?
    /// The name of the sound.
    package var soundName: String?
    /// Names of fields that travel with the notification, at most three (B-PSH-06); `desiredKeys` in the framework.
    package var additionalFields: [String] = []
    /// A Boolean value that indicates whether the app's badge is increased.
    package var shouldBadge = false
    /// A Boolean value that indicates whether the app is woken without an alert.
    package var shouldSendContentAvailable = false
    /// A Boolean value that indicates whether the app may change the notification before it is shown.
    package var shouldSendMutableContent = false
    /// The category of the notification.
    package var category: String?
    /// Notifications with the same one replace one another while they wait (B-PSH-08).
    package var collapseIDKey: String?

    /// Creates a presentation without alert, sound and badge.
    package init() {}

    /// A Boolean value that indicates whether a user sees or hears something: such a notification is urgent (B-PSH-03).
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
