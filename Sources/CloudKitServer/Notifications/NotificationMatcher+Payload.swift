import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

extension NotificationMatcher.Match {
    /// Returns the notification in the form of a queue.
    ///
    /// - Throws: `internalError` if a stored field was damaged.
    func draft(in place: DatabaseContext, zoneName: String) throws -> NotificationDraft {
        let info = owner.subscription.notificationInfo ?? NotificationInfo()
        let notification = PushNotification(
            id: NotificationID.text(place.partition, version), container: place.address.container, user: owner.user,
            subscriptionID: owner.subscription.id, scope: place.subscribedScope,
            subject: try subject(in: place, zoneName, info), presentation: try presentation(info))
        return NotificationDraft(
            collapseKey: collapseKey(in: place, zoneName, info), origin: place.caller.deviceID,
            payload: notification.payload())
    }

    private func subject(
        in place: DatabaseContext, _ zoneName: String, _ info: NotificationInfo
    ) throws -> PushNotification.Subject {
        switch owner.subscription.interest {
        case .zone: return .zone(place.zoneID(zoneName))
        case .database: return .database
        case .query:
            guard let change else { return .database }
            return .query(
                PushNotification.RecordChangeNote(
                    recordName: change.record.name, event: change.event, zoneID: place.zoneID(zoneName),
                    fields: try change.record.fields(Set(info.additionalFields)).compactMap(\.notificationValue)))
        }
    }

    /// Returns the info with the record's values where it names fields (B-PSH-05).
    private func presentation(_ info: NotificationInfo) throws -> NotificationInfo {
        var result = info
        let names = Set(info.alertLocalizationArgs + info.titleLocalizationArgs + info.subtitleLocalizationArgs)
        if names.isEmpty { return result }
        var values: [String: String] = [:]
        for field in try change?.record.fields(names) ?? [] { values[field.name] = field.localizedArgument }
        result.alertLocalizationArgs = info.alertLocalizationArgs.map { values[$0] ?? "" }
        result.titleLocalizationArgs = info.titleLocalizationArgs.map { values[$0] ?? "" }
        result.subtitleLocalizationArgs = info.subtitleLocalizationArgs.map { values[$0] ?? "" }
        return result
    }

    /// A waiting notification gives way to a newer one about the same (B-PSH-02), or that says so itself (B-PSH-08).
    private func collapseKey(in place: DatabaseContext, _ zoneName: String, _ info: NotificationInfo) -> String {
        if let key = info.collapseIDKey { return "collapse/" + key }
        let subscription = "\(place.subscribedScope.word)/\(owner.subscription.id)"
        guard let change else { return subscription }
        return "\(subscription)/\(zoneName)/\(change.record.name)"
    }
}

extension DatabaseContext {
    /// The database in which subscriptions meet changes made here: a participant's changes are made in the private
    /// database of the zone's owner (B-DB-10).
    var subscribedScope: DatabaseScope { scope == .public ? .public : .private }
}

/// Notifications about one change have one identifier, whatever subscription they come from.
enum NotificationID {
    /// Returns a UUID made of the partition and the version, which occur together once.
    static func text(_ partition: StoragePartition, _ version: UInt64) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in partition.name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let bytes = [hash, version].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
        }
        // Version 8: the content is its maker's own.
        return UUIDText.text(bytes, version: 8)
    }
}
