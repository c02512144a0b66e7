import CloudKitModel
import CloudKitRecordLayer

/// The notifications that wait in a partition for delivery to other partitions, by receiver, each in the order of the changes.
struct CrossPartitionDelivery: Sendable {
    enum Item: Hashable, Sendable {
        case draft(NotificationDraft)
        case sharedUpdate(SharedZoneNotification)
    }

    private(set) var items: [UserID: [Item]] = [:]

    /// - Parameter members: The members of the changed zones, by the zones' numbers.
    init(_ waiting: [CrossPartitionNotification], from partition: StoragePartition, members: [UInt32: [ShareMember]]) {
        for carried in waiting {
            switch carried.content {
            case .draft(let draft, let receiver): items[receiver, default: []].append(.draft(draft))
            case .sharedChange(let change):
                var notified: Set<UserID> = []
                var sharedUpdate = SharedZoneNotification(
                    recordTypes: [], origin: change.origin,
                    notificationIdentifier: NotificationID.text(partition, carried.version))
                for member in members[change.zone] ?? [] {
                    guard let types = change.recordTypes(for: member, at: carried.version) else { continue }
                    sharedUpdate.recordTypes = types
                    add(sharedUpdate, for: member.user)
                    notified.insert(member.user)
                }
                sharedUpdate.recordTypes = []
                for user in change.users.subtracting(notified) { add(sharedUpdate, for: user) }
            }
        }
    }

    /// Returns the zones of which the members have to be known.
    static func zones(of waiting: [CrossPartitionNotification]) -> Set<UInt32> {
        Set(
            waiting.compactMap { carried in
                if case .sharedChange(let change) = carried.content, !change.recordTypes.isEmpty {
                    change.zone
                } else {
                    nil
                }
            })
    }

    private mutating func add(_ sharedUpdate: SharedZoneNotification, for user: UserID) {
        var list = items.removeValue(forKey: user) ?? []
        defer { items[user] = list }
        if case .sharedUpdate(var last)? = list.last, last.merge(sharedUpdate) {
            list[list.count - 1] = .sharedUpdate(last)
        } else {
            list.append(.sharedUpdate(sharedUpdate))
        }
    }
}
