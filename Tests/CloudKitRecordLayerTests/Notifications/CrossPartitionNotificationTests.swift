import CloudKitModel
import CloudKitRecordLayer
import OrderedStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct CrossPartitionNotificationTests {
    private static func member(_ slots: [(share: UInt64, joined: UInt64)]) -> ShareMember {
        var member = ShareMember(user: UserID("_bob"), since: 1)
        member.slots = slots.map {
            ShareMember.Slot(
                share: $0.share, shareName: "s", root: "r", joined: $0.joined, role: .privateUser, permission: .readOnly
            )
        }
        return member
    }

    @Test func `B-SHF-03 a change is reported to the participants at the time it was made`() {
        var change = SharedZoneChange(zone: 2)
        change.note("Note", in: 7)
        change.note("Task", in: 7)
        change.note("Photo", in: 8)
        #expect(change.recordTypes(for: Self.member([(7, 3)]), at: 5) == ["Note", "Task"])
        #expect(change.recordTypes(for: Self.member([(7, 3), (8, 5)]), at: 5) == ["Note", "Task", "Photo"])
        #expect(change.recordTypes(for: Self.member([(7, 6)]), at: 5) == nil)
        #expect(change.recordTypes(for: Self.member([(9, 1)]), at: 5) == nil)
    }

    @Test func `a delivered notification is read as it was written, in order`() async throws {
        var change = SharedZoneChange(zone: 2)
        change.note("Note", in: 7)
        change.users = [UserID("_bob"), UserID("_cyd")]
        change.origin = "phone"
        let draft = NotificationDraft(collapseKey: "k", origin: nil, payload: Array("{}".utf8))
        let carried = [
            CrossPartitionNotification(version: 4, content: .draft(draft, receiver: UserID("_bob"))),
            CrossPartitionNotification(version: 9, content: .sharedChange(change)),
        ]
        let store = MemoryStore()
        let partition = Partition("p")
        try await store.write(partition) { transaction in
            for carried in carried.reversed() { transaction.set(carried) }
        }
        #expect(try await store.read(partition) { try await $0.crossPartitionNotifications(limit: 9) } == carried)
    }

    @Test func `many users are named in parts, each of them once`() {
        var change = SharedZoneChange(zone: 2)
        change.note("Note", in: 7)
        change.users = Set((0..<25).map { UserID("_user\($0)") })
        let parts = change.parts(ofUsers: 10)
        #expect(parts.map(\.users.count) == [10, 10, 5])
        #expect(parts.map(\.recordTypes.isEmpty) == [false, true, true])
        #expect(parts.reduce(into: Set()) { $0.formUnion($1.users) } == change.users)
        #expect(change.parts(ofUsers: 25) == [change])
    }
}
