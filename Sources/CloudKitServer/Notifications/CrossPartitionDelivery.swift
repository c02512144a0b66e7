import CloudKitModel
import CloudKitRecordLayer

/// The notifications that wait in a partition for delivery to other partitions, by receiver, each in the order of the changes.
struct CrossPartitionDelivery: Sendable {
    enum Item: Hashable, Sendable {
        case draft(NotificationDraft)
        case news(SharedZoneNotification)
    }

    private(set) var items: [UserID: [Item]] = [:]

    /// - Parameter members: Those who have something of the zones that changed, by the zones' numbers.
    init(_ waiting: [CarriedNotification], from partition: StoragePartition, members: [UInt32: [ShareMember]]) {
        for carried in waiting {
            switch carried.content {
            case .draft(let draft, let receiver): items[receiver, default: []].append(.draft(draft))
            case .sharedChange(let change):
                var notified: Set<UserID> = []
                var news = SharedZoneNotification(
                    recordTypes: [], origin: change.origin, noticeID: NotificationID.text(partition, carried.version))
                for member in members[change.zone] ?? [] {
                    guard let types = change.recordTypes(for: member, at: carried.version) else { continue }
                    news.recordTypes = types
                    add(news, for: member.user)
                    notified.insert(member.user)
                }
                news.recordTypes = []
                for user in change.users.subtracting(notified) { add(news, for: user) }
            }
        }
    }

    /// Returns the zones of which the members have to be known.
    static func zones(of waiting: [CarriedNotification]) -> Set<UInt32> {
        Set(
            waiting.compactMap { carried in
                if case .sharedChange(let change) = carried.content, !change.recordTypes.isEmpty {
                    change.zone
                } else {
                    nil
                }
            })
    }

    private mutating func add(_ news: SharedZoneNotification, for user: UserID) {
        var list = items.removeValue(forKey: user) ?? []
        defer { items[user] = list }
        if case .news(var last)? = list.last, last.merge(news) {
            list[list.count - 1] = .news(last)
        } else {
            list.append(.news(news))
        }
    }
}
