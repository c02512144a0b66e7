import CloudKitModel
import CloudKitWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct ZoneTests {
    @Test func `zones/lookup takes bare and wrapped zone IDs`() throws {
        let body = #"{"zones":[{"zoneName":"A"},{"zoneID":{"zoneName":"B","ownerRecordName":"\#(other)"}},{}]}"#
        let zones = try [ZoneID](wire: bytes(body), limits: .web)
        #expect(zones == [ZoneID(zoneName: "A"), ZoneID(zoneName: "B", owner: other), .default])
        #expect(try [ZoneID](wire: zones.wire(), limits: .web) == zones)
    }

    @Test func `zones/modify creates and deletes`() throws {
        let body =
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"A"}}},"#
            + #"{"operationType":"delete","zone":{"zoneName":"B"}}]}"#
        let operations = try [ZoneOperation](wire: bytes(body), limits: .web)
        #expect(operations == [.create(ZoneID(zoneName: "A")), .delete(ZoneID(zoneName: "B"))])
        #expect(try [ZoneOperation](wire: operations.wire(), limits: .web) == operations)
        let raise = [ZoneOperation.raiseKeyEpoch(ZoneID(zoneName: "A"), to: 7)]
        #expect(try [ZoneOperation](wire: raise.wire(), limits: .native) == raise)
        #expect(throws: RequestFailure.self) {
            try [ZoneOperation](wire: bytes(#"{"operations":[{"operationType":"create"}]}"#), limits: .web)
        }
        let many = [ZoneOperation](repeating: .create(.default), count: 201)
        #expect(throws: RequestFailure.self) { try [ZoneOperation](wire: many.wire(), limits: .web) }
    }

    @Test func `B-ZN-16 the scope of a zone's keys is shown where it is not the default`() throws {
        let create = [ZoneOperation.create(ZoneID(zoneName: "A"), .perZone), .create(ZoneID(zoneName: "B"))]
        #expect(try [ZoneOperation](wire: create.wire(), limits: .native) == create)
        #expect(text(create.wire()).split(separator: "encryptionScope").count == 2)
        let zone = Zone(id: ZoneID(zoneName: "Z"), capabilities: .custom(.perZone), encryptionScope: .perZone)
        for style in [nativeStyle, webStyle] {
            guard
                case .zone(let read)? = try [ZoneOutcome](
                    wireAnswer: [.zone(zone)].wireAnswer(style: style)
                ).first
            else { throw CancellationError() }
            #expect(read.encryptionScope == .perZone && read.capabilities == zone.capabilities)
        }
        #expect(throws: RequestFailure.self) {
            try [ZoneOperation](
                wire: bytes(
                    #"{"operations":[{"operationType":"create","zone":{"zoneName":"A","encryptionScope":"PER_WEEK"}}]}"#
                ),
                limits: .native)
        }
    }

    @Test func `zones as they are printed`() throws {
        let outcomes: [ZoneOutcome] = [
            .zone(Zone(id: ZoneID(zoneName: "Z"), capabilities: .custom, syncToken: "t", keyEpoch: 3)),
            .zone(Zone(id: .default, capabilities: [])), .deleted(ZoneID(zoneName: "Y", owner: other)),
            .failed(ZoneID(zoneName: "X"), RequestFailure(.zonePurged, "Zone was purged by user")),
        ]
        #expect(try [ZoneOutcome](wireAnswer: outcomes.wireAnswer(style: nativeStyle)) == outcomes)
        let web = text(outcomes.wireAnswer(style: webStyle))
        #expect(
            web.hasPrefix(
                #"{"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"\#(me)","zoneType":"REGULAR_CUSTOM_ZONE"},"#
                    + #""syncToken":"t","atomic":true}"#))
        #expect(
            !web.contains("capabilities") && !web.contains("keyEpoch") && !web.contains("native")
                && web.contains("ZONE_NOT_FOUND"))
        let read = try [ZoneOutcome](wireAnswer: bytes(web))
        #expect(read.first == .zone(Zone(id: ZoneID(zoneName: "Z", owner: me), capabilities: .custom, syncToken: "t")))
    }
}

@Suite(.timeLimit(.minutes(20))) struct ChangesTests {
    @Test func `changes/zone takes defaults from the top level`() throws {
        let body =
            #"{"zones":[{"zoneID":{"zoneName":"A"},"syncToken":"","resultsLimit":5,"reverse":true},"#
            + #"{"zoneID":{"zoneName":"B"},"syncToken":null,"desiredRecordTypes":["T"],"numberAsStrings":true}],"#
            + #""resultsLimit":200,"desiredKeys":["a"],"pluginFields":{}}"#
        let requests = try [ZoneChangesRequest](wire: bytes(body), limits: .web)
        #expect(
            requests == [
                ZoneChangesRequest(
                    zoneID: ZoneID(zoneName: "A"), syncToken: "", resultsLimit: 5, desiredKeys: ["a"], reverse: true),
                ZoneChangesRequest(
                    zoneID: ZoneID(zoneName: "B"), resultsLimit: 200, desiredKeys: ["a"], desiredRecordTypes: ["T"],
                    numbersAsStrings: true),
            ])
        #expect(try [ZoneChangesRequest](wire: requests.wire(), limits: .web) == requests)
    }

    @Test func `B-CHG-05 a feed's page has token and moreComing, its tombstones their type on the native surface`()
        throws
    {
        let page = ZoneChangesPage(
            zoneID: ZoneID(zoneName: "Z"),
            events: [
                .deleted(RecordTombstone(recordName: "R1", recordType: "Note", changeTag: ChangeTag("x"))),
                .deleted(RecordTombstone(recordName: "R2")),
            ], syncToken: "t", moreComing: false, clientChangeToken: [1])
        func tail(_ type: String) -> String {
            #""records":[{"recordName":"R1",\#(type)"recordChangeTag":"x","deleted":true},"#
                + #"{"recordName":"R2","deleted":true}],"syncToken":"t","moreComing":false"#
        }
        let outcomes: [ZoneChangesOutcome] = [
            .page(page), .failed(ZoneID(zoneName: "Y"), RequestFailure(.zoneNotFound, "Zone not found")),
        ]
        #expect(text(outcomes.wireAnswer(style: webStyle)).contains(tail("") + "}"))
        #expect(text(page.legacyWireAnswer(style: webStyle)) == "{\(tail(""))}")
        let native = tail(#""recordType":"Note","#) + #","clientChangeToken":"AQ=="}"#
        #expect(text(outcomes.wireAnswer(style: nativeStyle)).contains(native))
        #expect(try [ZoneChangesOutcome](wireAnswer: outcomes.wireAnswer(style: nativeStyle)) == outcomes)
    }

    @Test func `each zone gets the fields that it asked for`() throws {
        var record = try sampleRecord()
        record.id.zoneID.owner = .caller
        let page = ZoneChangesPage(
            zoneID: record.id.zoneID, events: [.changed(record)], syncToken: "t", moreComing: true)
        let requests = [nil, ["int"]].map { ZoneChangesRequest(zoneID: record.id.zoneID, desiredKeys: $0) }
        let answer = [ZoneChangesOutcome.page(page), .page(page)].wireAnswer(style: nativeStyle, answering: requests)
        let counts = try [ZoneChangesOutcome](wireAnswer: answer).map { outcome -> Int? in
            guard case .page(let page) = outcome, case .changed(let record) = page.events[0] else { return nil }
            return record.fields.count
        }
        #expect(try counts == [sampleFields().count, 1])
    }

    @Test func `null for moreComing is false, and a missing token empty`() throws {
        let body = #"{"zones":[{"records":null,"moreComing":null,"zoneID":{"zoneName":"Z"}}]}"#
        let expected = ZoneChangesPage(zoneID: ZoneID(zoneName: "Z"), events: [], syncToken: "", moreComing: false)
        #expect(try [ZoneChangesOutcome](wireAnswer: bytes(body)) == [.page(expected)])
    }

    @Test func `the old forms`() throws {
        let zone = try ZoneChangesRequest(
            legacyWire: bytes(#"{"zoneID":{"zoneName":"Z"},"syncToken":"t","resultsLimit":3}"#), limits: .web)
        #expect(zone == ZoneChangesRequest(zoneID: ZoneID(zoneName: "Z"), syncToken: "t", resultsLimit: 3))
        let database = try DatabaseChangesRequest(
            legacyWire: bytes(#"{"metaSyncToken":"m","syncToken":"ignored"}"#), limits: .web)
        #expect(database == DatabaseChangesRequest(syncToken: "m"))
        let page = DatabaseChangesPage(events: [], syncToken: "n", moreComing: true)
        #expect(text(page.legacyWireAnswer(style: webStyle)) == #"{"zones":[],"metaSyncToken":"n","moreComing":true}"#)
    }

    @Test func `B-ZN-09 changes/database`() throws {
        #expect(try DatabaseChangesRequest(wire: [], limits: .web) == DatabaseChangesRequest())
        let request = DatabaseChangesRequest(syncToken: "t", resultsLimit: 100)
        #expect(try DatabaseChangesRequest(wire: request.wire(), limits: .web) == request)
        let page = DatabaseChangesPage(
            events: [.changed(ZoneID(zoneName: "A"), syncToken: "a"), .deleted(ZoneID(zoneName: "B"), .purged)],
            syncToken: "t", moreComing: false)
        #expect(try DatabaseChangesPage(wireAnswer: page.wireAnswer(style: nativeStyle)) == page)
        let web = text(page.wireAnswer(style: webStyle))
        #expect(web.contains(#""deleted":true}],"syncToken":"t","moreComing":false}"#) && !web.contains("purged"))
    }

    @Test func `users/caller is answered bare and in a list`() throws {
        let identity = UserIdentity(user: me, givenName: "Ada")
        let answer = identity.wireAnswer()
        let one = #""userRecordName":"\#(me)","nameComponents":{"givenName":"Ada"}"#
        #expect(text(answer) == "{\(one),\"users\":[{\(one)}]}")
        #expect(try UserIdentity(wireAnswer: answer) == identity)
        #expect(try UserIdentity(wireAnswer: bytes("{\"users\":[{\(one)},{}]}")) == identity)
        #expect(throws: RequestFailure.self) { try UserIdentity(wireAnswer: bytes("{}")) }
    }
}
