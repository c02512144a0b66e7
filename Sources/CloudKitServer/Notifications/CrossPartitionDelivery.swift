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
        for run in Self.runs(of: waiting, members: members) {
            switch run.content {
            case .draft(let draft, let receiver): items[receiver, default: []].append(.draft(draft))
            case .sharedChange(let change):
                var notified: Set<UserID> = []
                var sharedUpdate = SharedZoneNotification(
                    recordTypes: [], origin: change.origin,
                    notificationIdentifier: NotificationID.text(partition, run.version))
                for member in members[change.zone] ?? [] {
                    guard let types = change.recordTypes(for: member, at: run.version) else { continue }
                    sharedUpdate.recordTypes = types
                    add(sharedUpdate, for: member.user)
                    notified.insert(member.user)
                }
                sharedUpdate.recordTypes = []
                for user in change.users.subtracting(notified) { add(sharedUpdate, for: user) }
            }
        }
    }

    /// Unites changes that follow one another in one zone, from one device, and that mean the same to each member: a busy zone has hundreds of
    /// changes a moment and hundreds of members.
    private static func runs(
        of waiting: [CrossPartitionNotification], members: [UInt32: [ShareMember]]
    ) -> [CrossPartitionNotification] {
        let start = waiting.first?.version ?? 0
        let joins = members.mapValues { $0.flatMap { $0.slots.map(\.joined).filter { $0 > start } } }
        var runs: [CrossPartitionNotification] = []
        for carried in waiting {
            guard case .sharedChange(let change) = carried.content,
                case .sharedChange(var last)? = runs.last?.content, last.unite(change),
                // Who joins between two changes gets the first one with their first fetch.
                !(joins[change.zone] ?? []).contains(where: {
                    $0 > runs[runs.count - 1].version && $0 <= carried.version
                })
            else {
                runs.append(carried)
                continue
            }
            runs[runs.count - 1] = CrossPartitionNotification(version: carried.version, content: .sharedChange(last))
        }
        return runs
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
