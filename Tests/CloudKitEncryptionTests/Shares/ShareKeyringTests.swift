import CloudKitEncryption
import Testing

@Suite(.timeLimit(.minutes(20))) struct ShareKeyringTests {
    private let fixtures = Fixtures()
    private let share: RecordAddress

    init() { share = RecordAddress(zone: fixtures.zoneKey().place, name: "cloudkit.zoneshare") }

    private func key(_ epoch: UInt32) -> ShareKey { ShareKey(madeFor: share, epoch: epoch, random: fixtures.random) }

    @Test func `B-TM-05 a later participant reads earlier values, through the ring of each epoch`() throws {
        let keys = [key(1), key(2), key(3)]
        var rings: [ShareKeyring] = []
        for (earlier, present) in zip(keys, keys.dropFirst()) {
            var ring = ShareKeyring(of: present)
            try ring.add(earlier: earlier, under: present)
            rings.append(try ShareKeyring(bytes: ring.bytes, share: share))
            #expect(rings.last == ring)
        }
        let second = try #require(try rings[1].earlierKeys(keys[2]).first)
        #expect(second == keys[1])
        #expect(try rings[0].earlierKeys(second) == [keys[0]])
        #expect(throws: EncryptionError.wrongEpoch(.shareKey(share: share.name), found: 1, expected: 2)) {
            try rings[0].earlierKeys(keys[0])
        }
    }

    @Test func `the members of a zone-wide share get the zone's keys and the link`() throws {
        let present = key(1)
        let link = ShareLinkSecret(random: fixtures.random)
        var ring = ShareKeyring(of: present)
        #expect(try ring.linkSecret(present) == nil)
        try ring.add(fixtures.zoneKey(epoch: 0), under: present)
        try ring.add(fixtures.zoneKey(epoch: 1), under: present)
        try ring.add(link, under: present)
        let back = try ShareKeyring(bytes: ring.bytes, share: share)
        #expect(try back.zoneKeys(present) == [fixtures.zoneKey(epoch: 1), fixtures.zoneKey(epoch: 0)])
        #expect(try back.linkSecret(present) == link)
        #expect(throws: EncryptionError.self) { try ring.add(fixtures.zoneKey("Other"), under: present) }
        #expect(throws: EncryptionError.doesNotOpen(.shareKey(share: share.name))) { try back.zoneKeys(key(1)) }
    }

    @Test func `B-TM-04 entries cannot change places, rings cannot overflow`() throws {
        let present = key(40)
        var ring = ShareKeyring(of: present)
        try ring.add(fixtures.zoneKey(epoch: 0), under: present)
        var relabelled = ring.bytes
        relabelled[10] = 1
        #expect(throws: EncryptionError.doesNotOpen(.shareKey(share: share.name))) {
            try ShareKeyring(bytes: relabelled, share: share).zoneKeys(present)
        }
        for epoch in 1...30 as ClosedRange<UInt32> { try ring.add(fixtures.zoneKey(epoch: epoch), under: present) }
        #expect(ring.bytes.count <= 2048)
        #expect(throws: EncryptionError.tooMany(.shareKey(share: share.name), limit: 31)) {
            try ring.add(fixtures.zoneKey(epoch: 31), under: present)
        }
        for count in 0..<ring.bytes.count {
            #expect(throws: EncryptionError.self) { try ShareKeyring(bytes: Array(ring.bytes[..<count]), share: share) }
        }
        #expect(throws: EncryptionError.self) { try ShareKeyring(bytes: ring.bytes + [0], share: share) }
    }
}
