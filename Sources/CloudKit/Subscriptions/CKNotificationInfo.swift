import CloudKitModel
import Foundation
import Synchronization

/// The content and presentation of a subscription's notifications.
///
/// Apps write `CKSubscription.NotificationInfo`; the class is at top level because a nested one cannot be archived.
public final class CKNotificationInfo: NSObject, NSCopying, NSSecureCoding, Sendable {
    private let state: Mutex<NotificationInfo>

    /// The Model value that is sent.
    var model: NotificationInfo { state.withLock { $0 } }

    init(_ model: NotificationInfo) {
        state = Mutex(model)
        super.init()
    }

    /// Creates an object without any content: a silent notification.
    public convenience override init() { self.init(NotificationInfo()) }

    /// Creates an object with the given content; omitted values stay empty.
    public convenience init(
        alertBody: String? = nil, alertLocalizationKey: String? = nil,
        alertLocalizationArgs: [CKRecord.FieldKey] = [], title: String? = nil, titleLocalizationKey: String? = nil,
        titleLocalizationArgs: [CKRecord.FieldKey] = [], subtitle: String? = nil,
        subtitleLocalizationKey: String? = nil, subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
        alertActionLocalizationKey: String? = nil, alertLaunchImage: String? = nil, soundName: String? = nil,
        desiredKeys: [CKRecord.FieldKey] = [], shouldBadge: Bool = false, shouldSendContentAvailable: Bool = false,
        shouldSendMutableContent: Bool = false, category: String? = nil, collapseIDKey: String? = nil
    ) {
        var model = NotificationInfo()
        model.alertBody = alertBody
        model.alertLocalizationKey = alertLocalizationKey
        model.alertLocalizationArgs = alertLocalizationArgs
        model.title = title
        model.titleLocalizationKey = titleLocalizationKey
        model.titleLocalizationArgs = titleLocalizationArgs
        model.subtitle = subtitle
        model.subtitleLocalizationKey = subtitleLocalizationKey
        model.subtitleLocalizationArgs = subtitleLocalizationArgs
        model.alertActionLocalizationKey = alertActionLocalizationKey
        model.alertLaunchImage = alertLaunchImage
        model.soundName = soundName
        model.additionalFields = desiredKeys
        model.shouldBadge = shouldBadge
        model.shouldSendContentAvailable = shouldSendContentAvailable
        model.shouldSendMutableContent = shouldSendMutableContent
        model.category = category
        model.collapseIDKey = collapseIDKey
        self.init(model)
    }

    private func get<Value>(_ part: (NotificationInfo) -> Value) -> Value { state.withLock { part($0) } }
    private func set(_ change: (inout NotificationInfo) -> Void) { state.withLock { change(&$0) } }

    // MARK: Texts

    /// The text of the alert.
    public var alertBody: String? {
        get { get { $0.alertBody } }
        set { set { $0.alertBody = newValue } }
    }

    /// Wins over `alertBody` (B-PSH-05), as the other keys over their texts.
    public var alertLocalizationKey: String? {
        get { get { $0.alertLocalizationKey } }
        set { set { $0.alertLocalizationKey = newValue } }
    }

    /// Names of fields whose strings, numbers and dates go into the localised text (B-PSH-05).
    public var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { get { $0.alertLocalizationArgs.asList } }
        set { set { $0.alertLocalizationArgs = newValue ?? [] } }
    }

    /// The title.
    public var title: String? {
        get { get { $0.title } }
        set { set { $0.title = newValue } }
    }

    /// The key of the localized title.
    public var titleLocalizationKey: String? {
        get { get { $0.titleLocalizationKey } }
        set { set { $0.titleLocalizationKey = newValue } }
    }

    /// The fields whose values fill the placeholders of the localized title.
    public var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { get { $0.titleLocalizationArgs.asList } }
        set { set { $0.titleLocalizationArgs = newValue ?? [] } }
    }

    /// The subtitle.
    public var subtitle: String? {
        get { get { $0.subtitle } }
        set { set { $0.subtitle = newValue } }
    }

    /// The key of the localized subtitle.
    public var subtitleLocalizationKey: String? {
        get { get { $0.subtitleLocalizationKey } }
        set { set { $0.subtitleLocalizationKey = newValue } }
    }

    /// The fields whose values fill the placeholders of the localized subtitle.
    public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { get { $0.subtitleLocalizationArgs.asList } }
        set { set { $0.subtitleLocalizationArgs = newValue ?? [] } }
    }

    /// The key of the localized title of the action button.
    public var alertActionLocalizationKey: String? {
        get { get { $0.alertActionLocalizationKey } }
        set { set { $0.alertActionLocalizationKey = newValue } }
    }

    /// The name of the launch image.
    public var alertLaunchImage: String? {
        get { get { $0.alertLaunchImage } }
        set { set { $0.alertLaunchImage = newValue } }
    }

    /// The name of the sound file.
    public var soundName: String? {
        get { get { $0.soundName } }
        set { set { $0.soundName = newValue } }
    }

    /// The category of the notification’s actions.
    public var category: String? {
        get { get { $0.category } }
        set { set { $0.category = newValue } }
    }

    /// Waiting notifications with the same one replace one another (B-PSH-08).
    public var collapseIDKey: String? {
        get { get { $0.collapseIDKey } }
        set { set { $0.collapseIDKey = newValue } }
    }

    // MARK: Content

    /// Fields that travel with the notification: at most three strings, numbers, dates, locations or references, strings
    /// cut after 100 characters (B-PSH-06).
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { get { $0.additionalFields.asList } }
        set { set { $0.additionalFields = newValue ?? [] } }
    }

    /// A Boolean value that indicates whether the badge of the app’s icon counts the notification.
    public var shouldBadge: Bool {
        get { get { $0.shouldBadge } }
        set { set { $0.shouldBadge = newValue } }
    }

    /// A Boolean value that indicates whether the notification wakes the app silently.
    public var shouldSendContentAvailable: Bool {
        get { get { $0.shouldSendContentAvailable } }
        set { set { $0.shouldSendContentAvailable = newValue } }
    }

    /// A Boolean value that indicates whether an extension may change the notification.
    public var shouldSendMutableContent: Bool {
        get { get { $0.shouldSendMutableContent } }
        set { set { $0.shouldSendMutableContent = newValue } }
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(model) }

    /// Returns a Boolean value that indicates whether another object has the same content.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationInfo)?.model == model }

    /// The hash value of the contents.
    public override var hash: Int { model.hashValue }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Everything, in a form that does not change when the model does.
    struct Content: Codable, Equatable {
        var texts: [String?]
        var lists: [[String]]
        var flags: [Bool]
    }

    var content: Content {
        let model = model
        return Content(
            texts: model.texts, lists: model.lists,
            flags: [model.shouldBadge, model.shouldSendContentAvailable, model.shouldSendMutableContent])
    }

    /// nil for an archive of another form.
    convenience init?(_ content: Content) {
        let (texts, lists, flags) = (content.texts, content.lists, content.flags)
        guard texts.count == 11, lists.count == 4, flags.count == 3 else { return nil }
        self.init(
            alertBody: texts[0], alertLocalizationKey: texts[1], alertLocalizationArgs: lists[0], title: texts[2],
            titleLocalizationKey: texts[3], titleLocalizationArgs: lists[1], subtitle: texts[4],
            subtitleLocalizationKey: texts[5], subtitleLocalizationArgs: lists[2],
            alertActionLocalizationKey: texts[6], alertLaunchImage: texts[7], soundName: texts[8],
            desiredKeys: lists[3], shouldBadge: flags[0], shouldSendContentAvailable: flags[1],
            shouldSendMutableContent: flags[2], category: texts[9], collapseIDKey: texts[10])
    }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder) else { return nil }
        self.init(content)
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) { Archive.encode(content, into: coder) }
}

extension [String] {
    /// The list; nil when it is empty.
    fileprivate var asList: [String]? { isEmpty ? nil : self }
}
