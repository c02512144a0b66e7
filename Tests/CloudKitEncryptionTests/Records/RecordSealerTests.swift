import CloudKitEncryption
import Testing

@Suite(.timeLimit(.minutes(20))) struct RecordSealerTests {
    private let fixtures = Fixtures()
    private let plain = Array(#""seven""#.utf8)

    @Test func `B-E2E-01 a value sealed on one device opens on another`() throws {
        let sealed = try fixtures.sealer().seal(plain, field: "title", type: "ENCRYPTED_STRING")
        #expect(sealed.count == plain.count + RecordSealer.overhead)
        let there = RecordSealer(
            try AccountSecret(bytes: fixtures.secret.bytes).root(
                container: "iCloud.org.example.notes", environment: "development"
            ).zoneKey(owner: "_ada", zone: "Notes", epoch: 0).recordKey("note-1"), recordType: "Note")
        #expect(try there.open(sealed, field: "title", type: "ENCRYPTED_STRING") == plain)
        #expect(try fixtures.sealer().seal(plain, field: "title", type: "ENCRYPTED_STRING") != sealed)
        let empty = try fixtures.sealer().seal([], field: "title", type: "ENCRYPTED_STRING")
        #expect(try there.open(empty, field: "title", type: "ENCRYPTED_STRING") == [])
    }

    @Test func `B-TM-04 a value opens in its own place only`() throws {
        let sealed = try fixtures.sealer().seal(plain, field: "title", type: "ENCRYPTED_STRING")
        func refused(_ sealer: RecordSealer, field: String = "title", type: String = "ENCRYPTED_STRING") {
            #expect(throws: EncryptionError.doesNotOpen(.field(field))) {
                try sealer.open(sealed, field: field, type: type)
            }
        }
        refused(fixtures.sealer(), field: "body")
        refused(fixtures.sealer(), type: "ENCRYPTED_BYTES")
        refused(fixtures.sealer("note-2"))
        refused(fixtures.sealer(type: "Task"))
        refused(RecordSealer(fixtures.zoneKey("Other").recordKey("note-1"), recordType: "Note"))
        refused(RecordSealer(fixtures.zoneKey(owner: "_eve").recordKey("note-1"), recordType: "Note"))
        let production = fixtures.secret.root(container: fixtures.root.container, environment: "production")
        let key = production.zoneKey(owner: "_ada", zone: "Notes", epoch: 0).recordKey("note-1")
        refused(RecordSealer(key, recordType: "Note"))
    }

    @Test func `B-TM-04 even the same key does not open a value in another place`() throws {
        let place = RecordAddress(zone: fixtures.zoneKey().place, name: "note-1")
        let made = RecordKey(madeFor: place, epoch: 0, random: fixtures.random)
        let sealed = try RecordSealer(made, recordType: "Note").seal(plain, field: "title", type: "ENCRYPTED_STRING")
        #expect(throws: EncryptionError.doesNotOpen(.field("title"))) {
            try RecordSealer(made, recordType: "Task").open(sealed, field: "title", type: "ENCRYPTED_STRING")
        }
    }

    @Test func `B-TM-04 a value of another epoch is distinguished`() throws {
        let sealed = try fixtures.sealer(epoch: 1).seal(plain, field: "title", type: "ENCRYPTED_STRING")
        #expect(try RecordSealer.epoch(ofSealed: sealed, field: "title") == 1)
        #expect(throws: EncryptionError.wrongEpoch(.field("title"), found: 1, expected: 2)) {
            try fixtures.sealer(epoch: 2).open(sealed, field: "title", type: "ENCRYPTED_STRING")
        }
        var relabelled = sealed
        relabelled[4] = 2
        #expect(throws: EncryptionError.doesNotOpen(.field("title"))) {
            try fixtures.sealer(epoch: 2).open(relabelled, field: "title", type: "ENCRYPTED_STRING")
        }
    }

    @Test func `B-TM-12 every changed or missing byte is an error`() throws {
        let sealer = fixtures.sealer()
        let sealed = try sealer.seal(plain, field: "title", type: "ENCRYPTED_STRING")
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x40
            #expect(throws: EncryptionError.self) { try sealer.open(changed, field: "title", type: "ENCRYPTED_STRING") }
            #expect(throws: EncryptionError.self) {
                try sealer.open(Array(sealed[..<index]), field: "title", type: "ENCRYPTED_STRING")
            }
        }
        #expect(throws: EncryptionError.unknownVersion(.field("title"), UInt8(ascii: "s"))) {
            try sealer.open(Array("some plain text".utf8), field: "title", type: "ENCRYPTED_STRING")
        }
    }

    @Test func `B-E2E-05 an asset's key opens in its field and position only`() throws {
        let secret = try AssetSecret(plainSize: 5, plainSHA256: Array(repeating: 3, count: 32), random: fixtures.random)
        let sealer = fixtures.sealer()
        let single = try sealer.seal(secret, field: "photo")
        #expect(try sealer.openAsset(single, field: "photo") == secret)
        let second = try sealer.seal(secret, field: "photos", position: 1)
        #expect(try sealer.openAsset(second, field: "photos", position: 1) == secret)
        let refusal = EncryptionError.doesNotOpen(.assetKey(field: "photos"))
        #expect(throws: refusal) { try sealer.openAsset(second, field: "photos", position: 0) }
        #expect(throws: refusal) { try sealer.openAsset(second, field: "photos") }
        #expect(throws: refusal) { try fixtures.sealer("note-2").openAsset(second, field: "photos", position: 1) }
        #expect(throws: EncryptionError.self) { try sealer.seal(secret, field: "photos", position: -1) }
        #expect(throws: EncryptionError.self) { try sealer.open(single, field: "photo", type: "ASSET") }
    }
}
