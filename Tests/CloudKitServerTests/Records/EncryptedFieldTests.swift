import CloudKitModel
import CloudKitServer
import Testing

/// Returns a field in the form of a sealed value that no key opens.
func sealedField(_ name: String, _ type: FieldType = .string, epoch: UInt32 = 0, size: Int = 24) -> Field {
    let head = [UInt8(1)] + withUnsafeBytes(of: epoch.bigEndian) { Array($0) }
    return Field(name: name, type: type, sealed: head + Array(repeating: 7, count: size + 12))
}

extension Protection {
    /// The protection with a statement in the form of one that no key opens.
    ///
    /// - Parameters:
    ///   - held: The protection of the version that it is made from; nil: of none.
    ///   - created: The creation that the statement names; nil: none.
    func stated(_ number: UInt64 = 1, after held: Protection? = nil, created: Int64? = nil) -> Protection {
        let previous = held.map { StatementForm.tag(of: $0.statement) } ?? StatementForm.noTag[...]
        var statement: [UInt8] = [1]
        withUnsafeBytes(of: number.bigEndian) { statement.append(contentsOf: $0) }
        statement += previous
        withUnsafeBytes(of: (created ?? 0).bigEndian) { statement.append(contentsOf: $0) }
        statement += [0, 0]
        statement += Array(repeating: UInt8(truncatingIfNeeded: number), count: 28)
        var protection = self
        protection.statement = statement
        return protection
    }
}

@Suite(.timeLimit(.minutes(20))) struct EncryptedFieldTests {
    private let device = Caller(user: TestCloud.ada, deviceID: "d", surface: .native)

    private func secret(
        _ kind: RecordOperation.Kind, _ name: String, tag: ChangeTag? = nil, _ fields: [FieldChange],
        _ protection: Protection? = Protection(epoch: 0).stated()
    ) -> RecordOperation {
        RecordOperation(
            kind,
            RecordChange(
                recordName: name, recordType: "Diary", fields: fields, changeTag: tag, protection: protection))
    }

    private func save(
        _ test: TestCloud, _ operation: RecordOperation, zone: String = "Z", in scope: DatabaseScope = .private
    ) async throws -> RecordOutcome {
        try await test.modify([operation], zone: zone, in: scope, by: device)[0]
    }

    @Test(arguments: Engine.allCases)
    func `B-ENC-01 sealed values and protection are stored and come back by every way`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let protection = Protection(epoch: 0, keys: [1, 2, 3]).stated()
            let fields = [
                sealedField("data", .bytes), sealedField("day", .timestamp), sealedField("half", .double),
                sealedField("list", .location.list), sealedField("number", .int64), sealedField("text", .string),
            ]
            let saved = try await save(test, secret(.create, "R", fields.map { .set($0) }, protection)).record
            #expect(saved?.fields == fields && saved?.protection == protection)
            let found = try await test.record("R")
            #expect(found?.fields == fields && found?.protection == protection)
            let partial = try await test.lookup(["R"], desiredKeys: ["text"])[0].record
            #expect(partial?.fields.map(\.name) == ["text"] && partial?.protection == protection)
            guard case .changed(let changed)? = try await test.changes().events.first else {
                Issue.record("no change")
                return
            }
            #expect(changed.protection == protection)
            let schema = try await test.cloud.schema(TestCloud.container, .development)
            #expect(schema["Diary"]?.fields["list"]?.type.description == "ENCRYPTED_LOCATION_LIST")
            #expect(schema["Diary"]?.fields["text"]?.indexes == [])
            let conflict = try await save(test, secret(.create, "R", []))
            #expect(conflict.failure?.serverRecord?.value.protection == protection)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ENC-07 a record that is created in the default zone needs a version above those of deleted ones`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            func modify(_ operation: RecordOperation) async throws -> RecordOutcome {
                try await save(test, operation, zone: "_defaultZone")
            }
            func create(_ name: String, _ version: UInt64) async throws -> RecordOutcome {
                try await modify(
                    secret(.create, name, [.set(sealedField("text"))], Protection(epoch: 0).stated(version)))
            }
            func delete(_ name: String) async throws {
                _ = try await modify(RecordOperation(.forceDelete, RecordChange(recordName: name)))
            }
            #expect(try await create("R", 5).record != nil)
            #expect(try await create("S", 3).record != nil)
            try await delete("R")
            try await delete("S")
            // No tombstone says that this one was never there.
            for name in ["R", "T"] {
                let refused = try await create(name, 5).failure
                #expect(refused?.code == .staleRecordStatement && refused?.lastVersion == 5)
                #expect(try await create(name, 6).record != nil)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ENC-07 a record that is created again needs a version above the deleted one's`(_ engine: Engine)
        async throws
    {
        try await withCloud(engine) { test in
            try await test.makeZone()
            func create(_ number: UInt64) async throws -> RecordOutcome {
                try await save(
                    test, secret(.create, "R", [.set(sealedField("text"))], Protection(epoch: 0).stated(number)))
            }
            #expect(try await create(5).record != nil)
            _ = try await save(test, RecordOperation(.forceDelete, RecordChange(recordName: "R")))
            for number: UInt64 in [4, 5] {
                let refused = try await create(number).failure
                #expect(refused?.code == .staleRecordStatement)
                // A save that arrives twice is known by its tag; it has no use for a number.
                #expect(refused?.lastVersion == (number == 5 ? nil : 5))
            }
            #expect(try await create(6).record != nil)
        }
    }

    /// A save that waited for its network since the earlier zone has a lower one than devices have seen there.
    @Test(arguments: Engine.allCases)
    func `B-ENC-07 a record in a zone that was made again needs a version above those of the earlier zone`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            func create(_ name: String, _ version: UInt64) async throws -> RecordOutcome {
                try await save(
                    test,
                    secret(.create, name, [.set(sealedField("text"))], Protection(epoch: 0).stated(version)))
            }
            func makeAgain(_ zone: ZoneID) async throws {
                let made = try await ModifyZones(test.cloud).run(
                    [.delete(zone), .create(zone)], in: TestCloud.address(.private), by: device)
                #expect(made.allSatisfy { $0.failure == nil })
            }
            let zone = try await test.makeZone().id
            #expect(try await create("R", 5).record != nil)
            try await makeAgain(zone)
            let time = UInt64(test.time.now)
            let refused = try await create("R", 5).failure
            #expect(refused?.code == .staleRecordStatement && refused?.lastVersion == time - 1)
            #expect(try await create("R", time - 1).failure?.lastVersion == time - 1)
            #expect(try await create("R", time).record != nil)
            // From a device whose clock is ahead of the server's.
            #expect(try await create("Ahead", time + 200_000).record != nil)
            #expect(try await create("Far ahead", time + 400_000).record != nil)
            try await makeAgain(zone)
            #expect(try await create("R", time + 1).failure?.lastVersion == time + 200_000)
            #expect(try await create("R", time + 200_001).record != nil)
        }
    }

    @Test func `B-ENC-03 plain fields cannot become encrypted, nor encrypted ones plain or another type`() async throws
    {
        try await withCloud { test in
            try await test.makeZone()
            _ = try await save(test, secret(.create, "R", [.set(sealedField("secret")), text("title", "x")]))
            func reason(_ change: FieldChange) async throws -> String? {
                try await save(test, secret(.forceUpdate, "R", [change])).failure?.reason
            }
            #expect(
                try await reason(.set(sealedField("title")))
                    == "Attempt to save encrypted data in non encrypted field type")
            #expect(
                try await reason(.set(sealedField("secret", .bytes)))
                    == "invalid attempt to set value type ENCRYPTED_BYTES for field 'secret' for type 'Diary', "
                    + "defined to be: ENCRYPTED_STRING")
            #expect(
                try await reason(text("secret", "clear"))
                    == "invalid attempt to set value type STRING for field 'secret' for type 'Diary', "
                    + "defined to be: ENCRYPTED_STRING")
            #expect(
                try await reason(.set(sealedField("new", FieldType(.unknown, isList: true))))
                    == "cannot use an empty list to initialize a new field")
            #expect(try await test.record("R")?.json("title") == #""x""#)
        }
    }

    @Test func `B-ENC-01 B-ENC-02 no references, no assets, not in public`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            func reason(_ type: FieldType, _ scope: DatabaseScope = .private) async throws -> String? {
                let zone = scope == .public ? "_defaultZone" : "Z"
                return try await save(
                    test, secret(.create, "R", [.set(sealedField("f", type))]), zone: zone, in: scope
                ).failure?.reason
            }
            #expect(try await reason(.reference) == "references cannot be encrypted fields")
            #expect(try await reason(.reference.list) == "references cannot be encrypted fields")
            #expect(try await reason(.asset) == "assets cannot be encrypted fields")
            #expect(try await reason(.string, .public) == "encrypted fields are not supported in the public database")
            // A value without a tag, in a field that the schema knows as encrypted.
            _ = try await save(test, secret(.create, "S", [.set(sealedField("known"))]))
            var untagged = sealedField("known")
            untagged.type = FieldType(.string, isGuess: true)
            let refused = try await save(
                test, secret(.create, "P", [.set(untagged)]), zone: "_defaultZone", in: .public)
            #expect(refused.failure?.reason == "encrypted fields are not supported in the public database")
            #expect(
                try await save(test, secret(.create, "T", [.set(untagged)])).record?.fields == [sealedField("known")])
        }
    }

    @Test func `a web client cannot believe that a value sent in clear is encrypted`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let clear = Field(name: "s", type: FieldType(.string, isEncrypted: true), json: Array(#""hello""#.utf8))
            let web = Caller(user: TestCloud.ada)
            let refused = try await test.modify([secret(.create, "R", [.set(clear)])], by: web)[0]
            #expect(refused.failure?.reason == "Invalid value, expected sealed data in encrypted field 's'")
            let unkeyed = try await test.modify([secret(.create, "R", [.set(sealedField("s"))])], by: web)[0]
            #expect(unkeyed.failure?.reason == "encrypted fields came without the record's protection")
            _ = try await save(test, secret(.create, "R", [.set(sealedField("s"))]))
            // Other fields are anybody's.
            let tag = try await test.record("R")?.changeTag
            let plain = try await test.modify([secret(.update, "R", tag: tag, [text("t", "x")], nil)], by: web)[0]
            #expect(plain.record?.protection == Protection(epoch: 0).stated())
        }
    }

    @Test func `B-ENC-07 a client without keys neither strips nor moves a protected record`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            _ = try await save(test, secret(.create, "P", [text("t", "x")], nil))
            let held = try #require(
                try await save(test, secret(.create, "R", [.set(sealedField("s")), text("t", "x")])).record)
            let web = Caller(user: TestCloud.ada)
            func outcome(_ kind: RecordOperation.Kind, _ fields: [FieldChange], below parent: String? = nil)
                async throws
                -> RecordOutcome
            {
                var operation = secret(kind, "R", tag: try await test.record("R")?.changeTag, fields, nil)
                if let parent { operation.change.parent = .set(recordName: parent) }
                return try await test.modify([operation], by: web)[0]
            }
            let reason = RequestFailure.unstated.reason
            #expect(try await outcome(.update, [.remove(name: "s")]).failure?.reason == reason)
            #expect(try await outcome(.replace, [text("t", "y")]).failure?.reason == reason)
            #expect(try await outcome(.forceReplace, [text("t", "y")]).failure?.reason == reason)
            #expect(try await outcome(.update, [], below: "P").failure?.reason == reason)
            #expect(try await test.record("R")?.changeTag == held.changeTag)
            let plain = try await outcome(.update, [.remove(name: "t"), text("u", "z")]).record
            #expect(plain?.protection == held.protection && plain?.fields.map(\.name) == ["s", "u"])
            let gone = RecordOperation(.forceDelete, RecordChange(recordName: "R"))
            #expect(try await test.modify([gone], by: web)[0].failure == nil)
        }
    }

    @Test func `B-ENC-07 of two saves that overwrite each other the later one states the other's values`() async throws
    {
        try await withCloud { test in
            try await test.makeZone()
            let first = try await save(test, secret(.create, "R", [.set(sealedField("s")), .set(sealedField("r"))]))
                .record
            let ours = Protection(epoch: 0).stated(2, after: first?.protection)
            let theirs = Protection(epoch: 0).stated(3, after: first?.protection)
            let one = secret(.forceUpdate, "R", [.set(sealedField("s", size: 30))], ours)
            #expect(try await save(test, one).record?.protection == ours)
            // The answer was lost, and the request is sent again.
            #expect(try await save(test, one).record?.protection == ours)
            let two = secret(.forceUpdate, "R", [.set(sealedField("r", size: 31))], theirs)
            #expect(try await save(test, two).code == .staleRecordStatement)
            let again = Protection(epoch: 0).stated(3, after: ours)
            let saved = try await save(test, secret(.forceUpdate, "R", [.set(sealedField("r", size: 31))], again))
            #expect(saved.record?.protection == again)
        }
    }

    @Test func `B-ENC-07, B-TM-14 a save that arrives again after the deletion of its record does not bring it back`()
        async throws
    {
        try await withCloud { test in
            try await test.makeZone()
            for kind in [RecordOperation.Kind.create, .forceUpdate] {
                let name = "\(kind)"
                let first = secret(kind, name, [.set(sealedField("s"))], Protection(epoch: 0).stated())
                #expect(try await save(test, first).record != nil)
                let gone = RecordOperation(.forceDelete, RecordChange(recordName: name))
                #expect(try await test.modify([gone], by: device)[0].failure == nil)
                #expect(try await save(test, first).code == .staleRecordStatement)
                #expect(try await test.record(name) == nil)
                // A device that means it makes a statement of its own.
                let again = secret(kind, name, [.set(sealedField("s"))], Protection(epoch: 0).stated(2))
                #expect(try await save(test, again).record != nil)
            }
        }
    }

    @Test func `B-ENC-04 encrypted fields are not indexed, asked for or sorted by`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            _ = try await save(test, secret(.create, "R", [.set(sealedField("secret")), text("title", "x")]))
            func failure(_ query: Query) async -> RequestFailure? {
                await CloudKitServerTests.failure {
                    _ = try await QueryRecords(test.cloud).run(
                        QueryRecordsRequest(query: query, zoneID: ZoneID(zoneName: "Z")),
                        in: TestCloud.address(.private), by: device)
                }
            }
            var query = Query(recordType: "Diary")
            query.filters = [QueryFilter(key: .field("secret"), comparator: .equals, value: .string("x"))]
            #expect(
                await failure(query)?.reason
                    == "Field 'secret' has a value type of ENCRYPTED_STRING and cannot be queried using filter type EQUALS"
            )
            query.filters = [QueryFilter(key: .field("title"), comparator: .equals, value: .string("x"))]
            query.sorts = [QuerySort(key: .field("secret"))]
            #expect(await failure(query)?.reason == "Field 'secret' is not marked sortable")
            await expect(.badRequest) {
                try await SetIndex(test.cloud).run(
                    .queryable, on: .field("secret"), ofType: "Diary", in: TestCloud.container, .development)
            }
        }
    }

    @Test func `B-LIM-05 sealed values and wrapped keys count as the record's size`() async throws {
        var limits = Limits()
        limits.recordBytesMax = 1000
        try await withCloud(limits: limits) { test in
            try await test.makeZone()
            let large = try await save(test, secret(.create, "R", [.set(sealedField("s", size: 800))]))
            #expect(large.code == .sizeLimitExceeded)
            let keys = Protection(epoch: 0, keys: Array(repeating: 1, count: 960)).stated()
            #expect(
                try await save(test, secret(.create, "R", [.set(sealedField("s"))], keys)).code == .sizeLimitExceeded)
            #expect(try await save(test, secret(.create, "R", [.set(sealedField("s"))])).record != nil)
        }
    }

    // MARK: Epochs

    private func zone(_ test: TestCloud, _ operation: ZoneOperation, by caller: Caller? = nil) async throws
        -> ZoneOutcome
    {
        try await ModifyZones(test.cloud).run(
            [operation], in: TestCloud.address(.private), by: caller ?? device)[0]
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-05 a key epoch is raised by one device, and never goes back`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let id = ZoneID(zoneName: "Z")
            #expect(try await zone(test, .raiseKeyEpoch(id, to: 1)).zone?.keyEpoch == 1)
            #expect(try await zone(test, .raiseKeyEpoch(id, to: 1)).failure?.code == .staleKeyEpoch)
            #expect(try await zone(test, .raiseKeyEpoch(id, to: 3)).failure?.code == .staleKeyEpoch)
            let web = Caller(user: TestCloud.ada)
            #expect(try await zone(test, .raiseKeyEpoch(id, to: 2), by: web).failure?.code == .badRequest)
            let missing = ZoneID(zoneName: "Nowhere")
            #expect(try await zone(test, .raiseKeyEpoch(missing, to: 1)).failure?.code == .zoneNotFound)
            // The default zone has keys, too.
            #expect(try await zone(test, .raiseKeyEpoch(.default, to: 1)).zone?.keyEpoch == 1)
            let listed = try await ListZones(test.cloud).run(in: TestCloud.address(.private), by: device)
            #expect(listed.map(\.keyEpoch) == [1, 1])
            // A zone created again continues at the old one's epoch, even when that is forgotten.
            _ = try await zone(test, .delete(id))
            #expect(try await zone(test, .create(id)).zone?.keyEpoch == 1)
            _ = try await zone(test, .delete(id))
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).zones == 1)
            #expect(try await zone(test, .create(id)).zone?.keyEpoch == 1)
        }
    }

    @Test func `B-TM-05 a stale save changes nothing, and succeeds when the record is sealed again`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let first = try await save(
                test, secret(.create, "R", [.set(sealedField("a")), .set(sealedField("b"))])
            ).record
            _ = try await zone(test, .raiseKeyEpoch(ZoneID(zoneName: "Z"), to: 1))
            let old = try await save(test, secret(.update, "R", tag: first?.changeTag, [.set(sealedField("a"))]))
            #expect(old.code == .staleKeyEpoch)
            let next = Protection(epoch: 1).stated(2, after: first?.protection)
            let half = try await save(
                test, secret(.update, "R", tag: first?.changeTag, [.set(sealedField("a", epoch: 1))], next))
            #expect(half.code == .staleKeyEpoch)
            #expect(try await test.record("R")?.changeTag == first?.changeTag)
            // Removing a value counts like sealing it again.
            let whole = try await save(
                test,
                secret(
                    .update, "R", tag: first?.changeTag, [.set(sealedField("a", epoch: 1)), .remove(name: "b")], next))
            #expect(whole.record?.protection == next)
            // Saves of plain fields go on in any epoch.
            let plain = try await save(test, secret(.forceUpdate, "R", [text("t", "x")], nil))
            #expect(plain.record?.protection == next)
        }
    }
}
