import CloudKitModel
import OrderedStore

/// Rows that count others, and those of subscriptions and notifications.
extension RowCheck {
    mutating func checkOwnerCount(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .ownerCount)
        let zone = try key.zoneNumber(.ownerCount)
        let target = try key.readString()
        let count = try await view.ownerCounts(zone: zone, targets: [target])[0]
        let references = try await view.backReferences(zone: zone, target: target, limit: .max)
        let held = references.count { $0.kind == .deleteSelf }
        if count != held {
            note(
                .ownerCount, "zone \(zone), record \(target)", "it counts \(count) owning references and has \(held)")
        }
    }

    mutating func checkAssetBytes(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .assetBytes)
        var value = ValueReader(entry.value, of: .assetBytes)
        assetBytes[try key.zoneNumber(.assetBytes)] = try value.number()
    }

    mutating func checkSubscription(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .subscription)
        guard let scope = Int(exactly: try key.readInteger()).flatMap(DatabaseScope.init(rawValue:))
        else { throw DamagedValue(.subscription) }
        let user = UserID(try key.readString())
        let subscription = try Subscription(id: key.readString(), decoding: entry.value)
        subscriptionCount += 1
        if let other = subscription.typeKey(of: user, in: scope), try await view.get(other) != entry.value {
            note(.subscription, "the database", "a subscription is missing among those of its record type")
        }
    }

    mutating func checkSubscribedType(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .subscribedType)
        try key.skip()
        let user = UserID(try key.readString())
        let id = try key.readString()
        _ = try Subscription(id: id, decoding: entry.value)
        if try await view.get(Subscription.key(id, of: user, in: .public)) != entry.value {
            note(.subscribedType, "the database", "a subscription to a record type is missing among its user's")
        }
    }

    mutating func checkNotification(_ entry: Entry, _ view: ReadTransaction) async throws {
        let notification = try QueuedNotification(entry)
        notificationCount += 1
        let pointer = try await view.get(QueuedNotification.collapseKey(notification.collapseKey))
        if try pointer.map({ try QueuedNotification.sequence(pointer: $0) }) != notification.sequence {
            note(.notification, "place \(notification.sequence)", "its key does not lead to it")
        }
        if notification.sequence > queue?.sequence ?? 0 {
            note(.notification, "place \(notification.sequence)", "it is behind the end of its queue")
        }
    }

    mutating func checkNotificationKey(_ entry: Entry, _ view: ReadTransaction) async throws {
        let sequence = try QueuedNotification.sequence(pointer: entry.value)
        let held = try await view.get(QueuedNotification.key(sequence)).map {
            try QueuedNotification(sequence: sequence, decoding: $0)
        }
        if held.map({ QueuedNotification.collapseKey($0.collapseKey) }) != entry.key {
            note(.notificationKey, "place \(sequence)", "a key leads to a notification that is missing")
        }
    }

    mutating func checkPushToken(_ entry: Entry, _ view: ReadTransaction) async throws {
        var key = KeyReader(entry.key, in: .pushToken)
        let token = try PushToken(hash: key.readBytes(), decoding: entry.value)
        if queue?.devices.contains(token.device) != true {
            note(.pushToken, "the queue", "a device with a token is missing among its devices")
        }
    }
}
