import CloudKitModel
import OrderedStore

/// A subscription in its stored form. Its user and identifier are its key.
extension Subscription {
    private static let format: UInt8 = 1

    /// Returns the key of a subscription.
    package static func key(_ id: String, of user: UserID, in scope: DatabaseScope) -> Bytes {
        keys(of: user, in: scope).adding(id).bytes
    }

    /// The keys of all subscriptions of a user in one database.
    package static func range(of user: UserID, in scope: DatabaseScope) -> KeyRange { keys(of: user, in: scope).range }

    static func keys(of user: UserID, in scope: DatabaseScope) -> KeyBuilder {
        var key = KeyBuilder(.subscription)
        key.append(scope.rawValue)
        key.append(user.recordName)
        return key
    }

    static func typeKey(_ id: String, of user: UserID, recordType: String) -> Bytes {
        KeyBuilder(.subscribedType).adding(recordType).adding(user.recordName).adding(id).bytes
    }

    /// - Throws: `RequestFailure.badRequest` for a filter's value that no field can hold.
    func encoded() throws(RequestFailure) -> Bytes {
        var value = ValueWriter(capacity: 128)
        value.add(byte: Self.format)
        switch interest {
        case .query(let query):
            value.add(byte: 1)
            try value.add(query)
        case .zone(let zoneID, let recordType):
            value.add(byte: 2)
            value.add(zoneID)
            value.add(recordType)
        case .database(let recordType):
            value.add(byte: 3)
            value.add(recordType)
        }
        value.add(byte: notificationInfo == nil ? 0 : 1)
        if let notificationInfo { value.add(notificationInfo) }
        return value.bytes
    }

    init(id: String, decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .subscription)
        guard try value.byte() == Self.format else { throw DamagedValue(.subscription) }
        let interest: Interest
        switch try value.byte() {
        case 1: interest = .query(try value.subscribedQuery())
        case 2: interest = .zone(try value.zoneID(), recordType: try value.optionalText())
        case 3: interest = .database(recordType: try value.optionalText())
        default: throw DamagedValue(.subscription)
        }
        let info = try value.byte() == 1 ? try value.notificationInfo() : nil
        self.init(id: id, interest: interest, notificationInfo: info)
    }
}

extension ValueWriter {
    fileprivate mutating func add(_ zoneID: ZoneID) {
        add(zoneID.zoneName)
        add(zoneID.owner.recordName)
    }

    fileprivate mutating func add(_ texts: [String]) {
        add(UInt16(clamping: texts.count))
        for text in texts { add(text as String?) }
    }

    fileprivate mutating func add(_ query: SubscribedQuery) throws(RequestFailure) {
        add(query.query.recordType)
        add(UInt16(clamping: query.query.filters.count))
        for filter in query.query.filters { try add(filter) }
        add(byte: query.zoneID == nil ? 0 : 1)
        if let zoneID = query.zoneID { add(zoneID) }
        add(byte: query.firesOn.rawValue)
        add(byte: query.firesOnce ? 1 : 0)
    }

    private mutating func add(_ filter: QueryFilter) throws(RequestFailure) {
        switch filter.key {
        case .field(let name):
            add(byte: 1)
            add(name)
        case .system(let field):
            add(byte: 2)
            add(field.rawValue)
        case .anySearchable: add(byte: 3)
        }
        add(filter.comparator.rawValue)
        let type = filter.value.type
        add(byte: type.base.rawValue)
        add(byte: type.isList ? 1 : 0)
        add(try filter.value.json())
        add(byte: filter.distance == nil ? 0 : 1)
        add((filter.distance ?? 0).bitPattern)
    }

    fileprivate mutating func add(_ info: NotificationInfo) {
        for text in info.texts { add(text) }
        for list in info.lists { add(list) }
        let flags = [info.shouldBadge, info.shouldSendContentAvailable, info.shouldSendMutableContent]
        for flag in flags { add(byte: flag ? 1 : 0) }
    }
}

extension ValueReader {
    fileprivate mutating func zoneID() throws -> ZoneID {
        ZoneID(zoneName: try text(), owner: UserID(try text()))
    }

    fileprivate mutating func texts() throws -> [String] {
        let count = Int(try number(UInt16.self))
        var texts: [String] = []
        for _ in 0..<count { texts.append(try text()) }
        return texts
    }

    fileprivate mutating func subscribedQuery() throws -> SubscribedQuery {
        var query = Query(recordType: try text())
        let count = Int(try number(UInt16.self))
        for _ in 0..<count { query.filters.append(try filter()) }
        let zoneID = try byte() == 1 ? try zoneID() : nil
        let firesOn = RecordEvents(rawValue: try byte())
        return SubscribedQuery(query: query, zoneID: zoneID, firesOn: firesOn, firesOnce: try byte() == 1)
    }

    private mutating func filter() throws -> QueryFilter {
        let key: QueryKey
        switch try byte() {
        case 1: key = .field(try text())
        case 2:
            guard let field = QueryKey.SystemField(rawValue: try text()) else { throw DamagedValue(.subscription) }
            key = .system(field)
        case 3: key = .anySearchable
        default: throw DamagedValue(.subscription)
        }
        guard let comparator = QueryFilter.Comparator(rawValue: try text()),
            let base = FieldType.Base(rawValue: try byte())
        else { throw DamagedValue(.subscription) }
        let type = FieldType(base, isList: try byte() == 1)
        let value = try Field(name: "", type: type, json: try string()).value()
        let hasDistance = try byte() == 1
        let distance = Double(bitPattern: try number())
        return QueryFilter(key: key, comparator: comparator, value: value, distance: hasDistance ? distance : nil)
    }

    fileprivate mutating func notificationInfo() throws -> NotificationInfo {
        var info = NotificationInfo()
        info.alertBody = try optionalText()
        info.alertLocalizationKey = try optionalText()
        info.title = try optionalText()
        info.titleLocalizationKey = try optionalText()
        info.subtitle = try optionalText()
        info.subtitleLocalizationKey = try optionalText()
        info.alertActionLocalizationKey = try optionalText()
        info.alertLaunchImage = try optionalText()
        info.soundName = try optionalText()
        info.category = try optionalText()
        info.collapseIDKey = try optionalText()
        info.alertLocalizationArgs = try texts()
        info.titleLocalizationArgs = try texts()
        info.subtitleLocalizationArgs = try texts()
        info.additionalFields = try texts()
        info.shouldBadge = try byte() == 1
        info.shouldSendContentAvailable = try byte() == 1
        info.shouldSendMutableContent = try byte() == 1
        return info
    }
}
