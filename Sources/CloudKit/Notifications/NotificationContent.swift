import CloudKitModel
import Foundation

/// The contents of a notification's dictionary, read once (B-NTF-01 to B-NTF-06).
struct NotificationContent: Sendable {
    enum Kind: Sendable {
        case query(QueryNote)
        case zone(CKRecordZone.ID?)
        case database
    }

    /// The change of a record; parts that were pruned are nil.
    struct QueryNote: Sendable {
        var recordID: CKRecord.ID?
        var reason: CKQueryNotification.Reason
        var fields: [String: NoteField]?
    }

    /// A field's value; the object that represents it is made when it is read.
    enum NoteField: Sendable {
        case value(FieldValue)
        case text(String)
        case number(Double, isWhole: Bool)
    }

    var kind: Kind
    var id: String?
    var container: String?
    var isPruned: Bool
    var subscriptionID: String?
    var user: String?
    var scope: CKDatabase.Scope
    var alert: Alert

    /// The content shown to the user.
    struct Alert: Sendable {
        var title: String?
        var titleKey: String?
        var titleArguments: [String]?
        var subtitle: String?
        var subtitleKey: String?
        var subtitleArguments: [String]?
        var body: String?
        var key: String?
        var arguments: [String]?
        var actionKey: String?
        var launchImage: String?
        var badge: Int?
        var sound: String?
        var category: String?
    }

    /// nil without `ck`: a notification of another service (B-NTF-05).
    init?(_ dictionary: [AnyHashable: Any]) {
        let root = PayloadDictionary(dictionary)
        guard let body = root.dictionary("ck") else { return nil }
        let user = body.text("ckuserid")
        self.user = user
        id = body.text("nid")
        container = body.text("cid")
        isPruned = body.integer("p").map { $0 != 0 } ?? false
        alert = Alert(root.dictionary("aps"))
        let inner: PayloadDictionary?
        if let query = body.dictionary("qry") {
            inner = query
            kind = .query(QueryNote(query, user: user))
        } else if let zone = body.dictionary("fet") {
            inner = zone
            kind = .zone(zone.zoneID(user: user))
        } else if let database = body.dictionary("met") {
            inner = database
            kind = .database
        } else {
            inner = nil
            kind = .query(QueryNote(recordID: nil, reason: .recordUpdated, fields: nil))
        }
        subscriptionID = inner?.text("sid")
        scope = inner?.integer("dbs").flatMap(CKDatabase.Scope.init(rawValue:)) ?? .private
    }
}

extension NotificationContent.QueryNote {
    init(_ query: PayloadDictionary, user: String?) {
        let zoneID = query.zoneID(user: user) ?? .default
        recordID = query.text("rid").flatMap { $0.isEmpty ? nil : CKRecord.ID(recordName: $0, zoneID: zoneID) }
        reason = query.integer("fo").flatMap(CKQueryNotification.Reason.init(rawValue:)) ?? .recordUpdated
        guard let fields = query.dictionary("af") else { return }
        var known: [String: NotificationContent.NoteField] = [:]
        for (name, value) in fields.entries { known[name] = NotificationContent.NoteField(value) }
        self.fields = known
    }
}

extension NotificationContent.NoteField {
    /// Strings and numbers are stored as they are; other values with their type.
    init?(_ value: Any) {
        if let text = value as? String {
            self = .text(text)
        } else if let typed = PayloadDictionary(value), let word = typed.text("type") {
            guard let value = FieldValue(noteValue: value, type: word) else { return nil }
            self = .value(value)
        } else {
            let holder = PayloadDictionary(["n": value] as [AnyHashable: Any])
            guard let number = holder.number("n") else { return nil }
            let isWhole = NumberKind(number) != .double
            self = isWhole ? .value(.int64(number.int64Value)) : .number(number.doubleValue, isWhole: false)
        }
    }

    func object(in zoneID: CKRecordZone.ID) -> Any {
        switch self {
        case .text(let text): text
        case .number(let number, _): number
        case .value(let value): FieldConverter(zoneID: zoneID).object(of: value, key: "")
        }
    }
}

extension FieldValue {
    /// Creates a value that is stored with its type in a notification's fields.
    fileprivate init?(noteValue: Any, type: String) {
        guard let holder = PayloadDictionary(noteValue) else { return nil }
        switch type {
        case "TIMESTAMP":
            guard let number = holder.number("value") else { return nil }
            self = .timestamp(number.int64Value)
        case "REFERENCE":
            guard let name = holder.dictionary("value")?.text("recordName"), !name.isEmpty else { return nil }
            self = .reference(ReferenceValue(recordName: name))
        case "LOCATION":
            guard let place = holder.dictionary("value"), let latitude = place.number("latitude"),
                let longitude = place.number("longitude")
            else { return nil }
            self = .location(LocationValue(latitude: latitude.doubleValue, longitude: longitude.doubleValue))
        default: return nil
        }
    }
}

extension PayloadDictionary {
    /// Returns the zone; another owner's is named by user record name, the caller's own by the default name (B-ZN-03).
    fileprivate func zoneID(user: String?) -> CKRecordZone.ID? {
        guard let name = text("zid"), !name.isEmpty else { return nil }
        let owner = text("zoid") ?? ""
        let isOwn = owner.isEmpty || owner == user || UserID(owner).isCaller
        return CKRecordZone.ID(zoneName: name, ownerName: isOwn ? CKCurrentUserDefaultName : owner)
    }
}

extension NotificationContent.Alert {
    init(_ aps: PayloadDictionary?) {
        guard let aps else { return }
        badge = aps.integer("badge")
        sound = aps.text("sound")
        category = aps.text("category")
        guard let alert = aps.dictionary("alert") else {
            body = aps.text("alert")
            return
        }
        title = alert.text("title")
        titleKey = alert.text("title-loc-key")
        titleArguments = alert.texts("title-loc-args")
        subtitle = alert.text("subtitle")
        subtitleKey = alert.text("subtitle-loc-key")
        subtitleArguments = alert.texts("subtitle-loc-args")
        body = alert.text("body")
        key = alert.text("loc-key")
        arguments = alert.texts("loc-args")
        actionKey = alert.text("action-loc-key")
        launchImage = alert.text("launch-image")
    }
}
