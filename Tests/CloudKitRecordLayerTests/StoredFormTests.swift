import CloudKitModel
import CloudKitRecordLayer
import OrderedStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct StoredFormTests {
    private let fields = [
        Field(name: "a", type: .string, json: Array("\"x\"".utf8)),
        Field(name: "b", type: FieldType(.int64, isList: true), json: Array("[1,2]".utf8)),
        Field(name: "c", type: FieldType(.bytes, isEncrypted: true), json: Array("\"AA==\"".utf8)),
        Field(name: "r", type: .reference, json: Array(#"{"recordName":"T","action":"NONE"}"#.utf8)),
    ]

    private func record(parent: String? = "P") -> StoredRecord {
        StoredRecord(
            name: "R", recordType: "Note", version: 12, feedVersion: 12,
            created: Stamp(timestamp: -5, user: UserID("_a"), deviceID: "d"),
            modified: Stamp(timestamp: .max, user: UserID("_b")), parent: parent, share: nil, shortGUID: "g",
            protection: Protection(epoch: 9, keys: [4, 5], statement: [6]), fields: fields)
    }

    @Test func `a record comes back as it was stored`() throws {
        let record = record()
        let read = try StoredRecord(name: "R", decoding: record.encoded)
        let zone = ZoneID(zoneName: "Z")
        #expect(try read.record(in: zone) == record.record(in: zone, fields: fields))
        #expect(read.hasSameFields(as: record))
        #expect(read.encoded == record.encoded)
        #expect(read.storedBytes == record.encoded.count)
        #expect(read.changeTag == ChangeTag("c"))
    }

    @Test func `the partition of a private database names its place and user, and no other partition does`() throws {
        let (container, user) = (ContainerID("iCloud.com.example.app"), UserID("_ada"))
        for environment in [Environment.development, .production] {
            let place = try #require(Partition.privateDatabase(container, environment, of: user).privateDatabase)
            #expect(place == (container, environment, user))
            for other in [Partition.publicDatabase(container, environment), .schema(container, environment)] {
                #expect(other.privateDatabase == nil)
            }
        }
        for name in [
            "private/c/development/_ada/x", "private/c/other/_ada", "public/c/development/_ada", "private/c", "private",
            "",
        ] {
            #expect(Partition(name).privateDatabase == nil, "\(name)")
        }
    }

    @Test func `B-REC-08 only the fields asked for are taken out`() throws {
        let read = try StoredRecord(name: "R", decoding: record().encoded)
        #expect(try read.fields(["b", "z"]).map(\.name) == ["b"])
        #expect(try read.fields([]) == [])
        #expect(try read.fields(ofType: .reference).map(\.name) == ["r"])
    }

    @Test func `records, zones and databases stored before there were keys are still read`() throws {
        var plain = record()
        plain.protection = nil
        // Format 1 had no byte for the presence of a protection, which precedes the fields.
        let fieldBytes = 2 + fields.reduce(0) { $0 + 8 + $1.name.utf8.count + $1.json.count }
        var old = plain.encoded
        old[0] = 1
        old.remove(at: old.count - fieldBytes - 1)
        let read = try StoredRecord(name: "R", decoding: old)
        #expect(try read.fields() == fields && read.protection == nil && read.shortGUID == "g")
        #expect(read.encoded == plain.encoded)

        var zone = ZoneHeader(name: "Z", number: 7, since: 3, feedVersion: 4)
        zone.clientChangeToken = [1]
        #expect(try ZoneHeader(name: "Z", decoding: [1] + zone.encoded.dropFirst().dropLast(4)) == zone)
        // Format 3 had no encryption scope.
        #expect(try ZoneHeader(name: "Z", decoding: [3] + zone.encoded.dropFirst().dropLast()) == zone)
        var database = DatabaseHeader()
        database.schemaFloor = 8
        #expect(try DatabaseHeader(decoding: [1] + database.encoded.dropFirst().dropLast(4)) == database)
    }

    @Test func `another tag leaves the fields alone`() throws {
        var read = try StoredRecord(name: "R", decoding: record().encoded)
        read.tagVersion = 99
        let touched = try StoredRecord(name: "R", decoding: read.encoded)
        #expect(touched.changeTag == ChangeTag("2r"))
        #expect(touched.feedVersion == 12)
        #expect(try touched.fields() == fields)
    }

    @Test func `a tombstone keeps the type and its place in the feed`() throws {
        let gone = StoredRecord(
            tombstoneOf: record(), version: 30, modified: Stamp(timestamp: 8, user: UserID("_a")))
        let read = try StoredRecord(name: "R", decoding: gone.encoded)
        #expect(read.isTombstone)
        #expect(read.recordType == "Note")
        #expect(read.feedVersion == 30)
        #expect(try read.fields().isEmpty)
        #expect(read.parent == nil)
    }

    @Test func `B-ENC-07 a tombstone keeps the version and tag of the last statement`() throws {
        var statement = [UInt8](repeating: 7, count: StatementForm.bytesMin)
        statement.replaceSubrange(0..<9, with: [1, 0, 0, 0, 0, 0, 0, 2, 3])
        let tag = [UInt8](repeating: 7, count: StatementForm.tagBytes)
        // A damaged row may hold anything, and an earlier build kept the tag alone.
        for (bytes, version) in [(statement, UInt64(0x203)), (tag, nil)] {
            var live = record()
            live.protection = Protection(epoch: 2, statement: bytes)
            let gone = StoredRecord(
                tombstoneOf: live, version: 30, modified: Stamp(timestamp: 8, user: UserID("_a")))
            let read = try StoredRecord(name: "R", decoding: gone.encoded)
            #expect(read.lastStatement == LastStatement(version: version, tag: tag))
        }
    }

    @Test func `a damaged record is an error at every cut, never a trap`() {
        let encoded = record().encoded
        for length in 0..<encoded.count {
            #expect(throws: (any Error).self, "\(length)") {
                try StoredRecord(name: "R", decoding: Array(encoded.prefix(length))).fields()
            }
        }
    }

    @Test func `headers come back as they were stored`() throws {
        var database = DatabaseHeader()
        #expect(database.takeVersions(3) == 1)
        #expect(database.takeVersions(1) == 4)
        database.recordBytes = 9
        database.schemaFloor = 8
        database.keyEpochFloor = 5
        database.keychainGeneration = 6
        #expect(try DatabaseHeader(decoding: database.encoded) == database)
        for state in [
            ZoneHeader.State.live, .purged, .keysReset, .deleted(.deleted), .deleted(.purged),
            .deleted(.encryptedDataReset),
        ] {
            var zone = ZoneHeader(name: "Z", number: 7, since: 3, feedVersion: 4)
            zone.state = state
            zone.clientChangeToken = state == .live ? nil : []
            zone.keyEpoch = 70_000
            #expect(try ZoneHeader(name: "Z", decoding: zone.encoded) == zone)
        }
        var emptied = ZoneHeader.implicitDefault
        var secret = record()
        var statement = [UInt8](repeating: 7, count: StatementForm.bytesMin)
        statement.replaceSubrange(0..<9, with: [1, 0, 0, 0, 0, 0, 0, 3, 132])
        secret.protection = Protection(epoch: 0, statement: statement)
        emptied.noteDeletion(of: secret, now: 900 - 300_001)
        #expect(emptied.statementFloor == 0)
        emptied.noteDeletion(of: secret, now: 900 - 300_000)
        #expect(emptied.statementFloor == 900)
        #expect(try ZoneHeader(name: "_defaultZone", decoding: emptied.encoded) == emptied)
        var sealed = ZoneHeader(name: "Z", number: 7, since: 3)
        sealed.noteStatement(of: secret, now: 900 - 300_001)
        #expect(sealed.newestStatementVersion == 0)
        sealed.noteStatement(of: secret, now: 900 - 300_000)
        #expect(sealed.newestStatementVersion == 900)
        #expect(try ZoneHeader(name: "Z", decoding: sealed.encoded) == sealed)
        let scoped = ZoneHeader(name: "Z", number: 7, since: 3, encryptionScope: .perZone)
        #expect(try ZoneHeader(name: "Z", decoding: scoped.encoded) == scoped)
        #expect(throws: DamagedValue.self) {
            try ZoneHeader(name: "Z", decoding: Array(scoped.encoded.dropLast()) + [9])
        }
    }

    @Test func `the feed of a zone is in the order of versions, from both ends`() async throws {
        let store = MemoryStore()
        let home = Partition("p")
        let versions: [UInt64] = [1, 2, 200, 255, 256, 70_000, 1 << 40]
        try await store.write(home) { transaction in
            for version in versions.shuffled() {
                for zone in [UInt32(2), 3, 300] {
                    transaction.set(
                        FeedEntry(
                            version: version, recordName: "R\(version)", recordType: "T", isTombstone: version == 2,
                            size: 10), zone: zone)
                }
            }
        }
        try await store.read(home) { view in
            let all = try await view.feed(zone: 3, after: 0, limit: 100)
            #expect(all.map(\.version) == versions)
            #expect(all[1].isTombstone)
            let some = try await view.feed(zone: 3, after: 200, limit: 2)
            #expect(some.map(\.recordName) == ["R255", "R256"])
            let back = try await view.feed(zone: 3, before: 256, limit: 2)
            #expect(back.map(\.version) == [255, 200])
        }
    }

    @Test func `references are found by their target alone`() async throws {
        let store = MemoryStore()
        let home = Partition("p")
        let references = [
            BackReference(target: "T", kind: .deleteSelf, holder: "A", field: "f"),
            BackReference(target: "T", kind: .parent, holder: "B", field: nil),
        ]
        try await store.write(home) { transaction in
            for reference in references { transaction.set(reference, zone: 2) }
            transaction.set(BackReference(target: "T2", kind: .parent, holder: "C", field: nil), zone: 2)
            transaction.set(BackReference(target: "T", kind: .parent, holder: "D", field: nil), zone: 3)
            transaction.setOwnerCount(zone: 2, target: "T", 5)
        }
        try await store.read(home) { view in
            let found = try await view.backReferences(zone: 2, target: "T", limit: 10)
            #expect(found == references)
            let counts = try await view.ownerCounts(zone: 2, targets: ["T", "T2"])
            #expect(counts == [5, 0])
        }
    }

    @Test func `B-ZN-08 clearing a zone leaves its neighbours`() async throws {
        let store = MemoryStore()
        let home = Partition("p")
        let record = record()
        try await store.write(home) { transaction in
            for zone in [UInt32(2), 255, 256] {
                transaction.set(record, zone: zone)
                transaction.set(KeyBuilder(.index, zone: zone).adding("x").bytes, [])
            }
            transaction.clearContents(ofZone: 255)
        }
        try await store.read(home) { view in
            for (zone, count) in [(UInt32(2), 1), (255, 0), (256, 1)] {
                let records = try await view.records(zone: zone, after: nil, limit: 10)
                #expect(records.count == count)
                let index = try await view.scan(KeyBuilder(.index, zone: zone).range, limit: 10)
                #expect(index.count == count)
            }
        }
    }
}
