import CloudKitModel
import CloudKitRecordLayer
import OrderedStore
import SeededChance
import Testing

@testable import CloudKitServer

@Suite("Delivery across partitions", .timeLimit(.minutes(20))) struct CrossPartitionDeliveryTests {
    private let partition = Partition("p")

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `B-SHF-03 changes that wait together mean to each member what they mean one by one`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let users = (0..<5).map { UserID("_user\($0)") }
        let members = Dictionary(
            uniqueKeysWithValues: (1...2 as ClosedRange<UInt32>).map { zone in
                (zone, users.shuffled(using: &generator).prefix(3).map { member($0, &generator) })
            })
        let waiting = (1...30 as ClosedRange<UInt64>).map { version in
            CrossPartitionNotification(version: version * 2, content: content(users, &generator))
        }
        var expected: [UserID: [CrossPartitionDelivery.Item]] = [:]
        for carried in waiting {
            for (user, items) in CrossPartitionDelivery([carried], from: partition, members: members).items {
                for item in items { append(item, to: &expected[user, default: []]) }
            }
        }
        let items = CrossPartitionDelivery(waiting, from: partition, members: members).items
        #expect(items.mapValues { $0.map(unidentified) } == expected.mapValues { $0.map(unidentified) })
    }

    /// Without the identifier, which names the last change of those that were united, also where the member cannot see that one.
    private func unidentified(_ item: CrossPartitionDelivery.Item) -> CrossPartitionDelivery.Item {
        guard case .sharedUpdate(var update) = item else { return item }
        update.notificationIdentifier = ""
        return .sharedUpdate(update)
    }

    /// Appends as a receiver's list does: an update of the same device is merged with the last one.
    private func append(_ item: CrossPartitionDelivery.Item, to items: inout [CrossPartitionDelivery.Item]) {
        if case .sharedUpdate(let update) = item, case .sharedUpdate(var last)? = items.last, last.merge(update) {
            items[items.count - 1] = .sharedUpdate(last)
        } else {
            items.append(item)
        }
    }

    private func member(_ user: UserID, _ generator: inout SplitMix64) -> ShareMember {
        var member = ShareMember(user: user, since: 1)
        member.slots = (1...3 as ClosedRange<UInt64>).filter { _ in Bool.random(using: &generator) }.map { share in
            ShareMember.Slot(
                share: share, shareName: "s", root: nil, joined: .random(in: 0...70, using: &generator),
                role: .privateUser, permission: .readOnly)
        }
        return member
    }

    private func content(
        _ users: [UserID], _ generator: inout SplitMix64
    ) -> CrossPartitionNotification.Content {
        if Int.random(in: 0..<10, using: &generator) == 0 {
            return .draft(NotificationDraft(collapseKey: "k", origin: nil, payload: [1]), receiver: users[0])
        }
        var change = SharedZoneChange(zone: Int.random(in: 0..<6, using: &generator) == 0 ? 2 : 1)
        change.origin = Int.random(in: 0..<6, using: &generator) == 0 ? "phone" : "pad"
        for type in ["Note", "Task", "Photo"].shuffled(using: &generator).prefix(2) {
            change.note(type, in: .random(in: 1...3, using: &generator))
        }
        if Int.random(in: 0..<8, using: &generator) == 0 { change.users = [users[1]] }
        return .sharedChange(change)
    }
}
