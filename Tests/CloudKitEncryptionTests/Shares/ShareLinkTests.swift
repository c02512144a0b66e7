import CloudKitEncryption
import Testing

@Suite(.timeLimit(.minutes(20))) struct ShareLinkTests {
    private let fixtures = Fixtures()
    private let share: RecordAddress
    private let key: ShareKey

    init() {
        share = RecordAddress(zone: fixtures.zoneKey().place, name: "share-1")
        key = ShareKey(madeFor: share, epoch: 3, random: fixtures.random)
    }

    @Test func `B-TM-07 the link's fragment opens the share`() throws {
        let link = fixtures.root.linkSecret(of: share, root: "root")
        let wrapped = try link.wrap(key)
        #expect(ShareLinkSecret.isLinkWrap(wrapped))
        for fragment in [link.fragment, "#" + link.fragment, "#title=Notes&" + link.fragment + "&x=y"] {
            #expect(try ShareLinkSecret(fragment: fragment).open(wrapped, share: share) == key)
        }
        #expect(throws: EncryptionError.doesNotOpen(.shareKey(share: "share-1"))) {
            try ShareLinkSecret(random: fixtures.random).open(wrapped, share: share)
        }
    }

    @Test func `B-SHR-07 the secret of a tree is that of its root, in each share of it, and of no other root`() throws {
        let secret = fixtures.root.linkSecret(of: share, root: "root")
        let again = RecordAddress(zone: share.zone, name: "share-2")
        #expect(fixtures.root.linkSecret(of: again, root: "root") == secret)
        #expect(fixtures.root.linkSecret(of: share, root: "other") != secret)
        #expect(fixtures.root.linkSecret(of: share, root: nil) != secret)
        let elsewhere = RecordAddress(
            zone: ZoneAddress(
                container: share.zone.container, environment: share.zone.environment, owner: share.zone.owner,
                zone: "elsewhere"), name: "share-1")
        #expect(fixtures.root.linkSecret(of: elsewhere, root: "root") != secret)
        // A wrap is of one share all the same.
        #expect(throws: EncryptionError.self) { try secret.open(try secret.wrap(key), share: again) }
    }

    @Test func `a link from before trees had secrets of their own goes on`() throws {
        let former = fixtures.root.linkSecret(of: share, root: nil)
        let wrapped = try former.wrap(key)
        #expect(fixtures.root.linkSecret(of: share, root: "root", opening: wrapped) == former)
        let secret = fixtures.root.linkSecret(of: share, root: "root")
        #expect(fixtures.root.linkSecret(of: share, root: "root", opening: try secret.wrap(key)) == secret)
        #expect(fixtures.root.linkSecret(of: share, root: "root", opening: nil) == secret)
        #expect(fixtures.root.linkSecret(of: share, root: nil, opening: wrapped) == former)
    }

    @Test func `a one-time link opens its own wrap only`() throws {
        let slot = fixtures.root.linkSecret(of: share, participant: "p-1")
        #expect(slot != fixtures.root.linkSecret(of: share, root: nil))
        #expect(slot != fixtures.root.linkSecret(of: share, participant: "p-2"))
        let wrapped = try slot.wrap(key, participant: "p-1")
        #expect(try slot.open(wrapped, share: share, participant: "p-1") == key)
        #expect(throws: EncryptionError.self) { try slot.open(wrapped, share: share, participant: "p-2") }
        #expect(throws: EncryptionError.self) { try slot.open(wrapped, share: share) }
    }

    @Test func `a link that was cut or changed says so`() throws {
        let link = ShareLinkSecret(random: fixtures.random)
        #expect(link.fragment.count == 46)
        #expect(throws: EncryptionError.truncated(.link)) {
            try ShareLinkSecret(fragment: String(link.fragment.dropLast(3)))
        }
        #expect(throws: EncryptionError.noKey(.link)) { try ShareLinkSecret(fragment: "#Title") }
        #expect(throws: EncryptionError.self) { try ShareLinkSecret(fragment: "#k=") }
        #expect(throws: EncryptionError.self) { try ShareLinkSecret(fragment: "#" + link.fragment + "A") }
        #expect(throws: EncryptionError.self) {
            try ShareLinkSecret(fragment: "#k=" + String(repeating: "é", count: 44))
        }
        #expect(throws: EncryptionError.unknownVersion(.link, 2)) {
            try ShareLinkSecret(fragment: "k=Ag" + link.fragment.dropFirst(4))
        }
        #expect(throws: EncryptionError.self) { try ShareLinkSecret(fragment: String(repeating: "k", count: 5000)) }
    }
}
