import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema
import CloudKitServer
import Testing

/// Operations of a process that has an older schema than the database's indexes (B-SCH-07).
@Suite(.timeLimit(.minutes(20))) struct SchemaRaceTests {
    private static func setIndex(
        _ indexes: FieldIndexes, on key: QueryKey, of type: String, _ test: TestCloud
    ) async throws {
        try await SetIndex(test.cloud).run(indexes, on: key, ofType: type, in: TestCloud.container, .development)
    }

    /// Notes of zone Z whose number is 1.
    private static let ones = QueryRecordsRequest(
        query: Query(
            recordType: "Note", filters: [QueryFilter(key: .field("n"), comparator: .equals, value: .int64(1))]),
        zoneID: ZoneID(zoneName: "Z"))

    @Test(arguments: Engine.allCases)
    func `B-SCH-07 a save that an index overtakes is in the index`(_ engine: Engine) async throws {
        try await Race {
            try await $0.makeZone()
            try await $0.modify([create("R0", "Note", number("n", 1))])
            try await Self.setIndex([], on: .field("n"), of: "Note", $0)
        } slow: { cloud in
            let saved = try await ModifyRecords(cloud).run(
                ModifyRecordsRequest(
                    operations: [create("R1", "Note", number("n", 1))], zoneID: ZoneID(zoneName: "Z")),
                in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            #expect(saved[0].record != nil)
        } meanwhile: {
            try await Self.setIndex([.queryable, .sortable], on: .field("n"), of: "Note", $0)
        } check: {
            let page = try await QueryRecords($0.cloud).run(
                Self.ones, in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            #expect(page.records.map(\.id.recordName).sorted() == ["R0", "R1"])
            try await $0.expectSoundStore()
        }.run(engine, stepsMin: 4)
    }

    @Test func `B-SCH-07 a query that the loss of its index overtakes is refused or finds everything`() async throws {
        try await Race {
            try await $0.makeZone()
            try await $0.modify([create("R1", "Note", number("n", 1))])
        } slow: { cloud in
            do {
                let page = try await QueryRecords(cloud).run(
                    Self.ones, in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
                #expect(page.records.map(\.id.recordName) == ["R1"])
            } catch let failure as RequestFailure {
                #expect(failure.code == .indexMissing)
            }
        } meanwhile: {
            try await Self.setIndex([], on: .field("n"), of: "Note", $0)
        } check: { _ in
        }.run(stepsMin: 2)
    }

    /// Returns the records of a type as a query finds them, in the order of an attribute.
    private static func records(
        of type: String, by field: QueryKey.SystemField, zone: String, in scope: DatabaseScope, _ test: TestCloud
    ) async throws -> [Record] {
        try await QueryRecords(test.cloud).run(
            QueryRecordsRequest(
                query: Query(recordType: type, sorts: [QuerySort(key: .system(field), ascending: true)]),
                zoneID: ZoneID(zoneName: zone)), in: TestCloud.address(scope), by: Caller(user: TestCloud.ada)
        ).records
    }

    @Test func `B-SCH-07 a share that an index overtakes while it is accepted is in its place in the index`()
        async throws
    {
        try await Race { test in
            try await test.makeZone()
            for root in ["Root", "Other"] {
                try await test.modify([create(root)])
                try await test.shareTree(root, permission: .readOnly)
                test.time.advance(1000)
            }
            try await Self.setIndex([], on: .system(.modifiedTimestamp), of: "cloudkit.share", test)
        } slow: { cloud in
            let link = try await LookupRecords(cloud).run(
                LookupRecordsRequest(records: [.init(recordName: "Share-Root")], zoneID: ZoneID(zoneName: "Z")),
                in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))[0].record?.shortGUID
            let accepted = try await AcceptShares(cloud).run(
                [ShareInvitationRequest(shortGUID: try #require(link))], in: TestCloud.address(.public),
                by: Caller(user: TestCloud.bob))
            #expect(accepted[0].invitation?.acceptance == .accepted)
        } meanwhile: { test in
            try await Self.setIndex(
                [.queryable, .sortable], on: .system(.modifiedTimestamp), of: "cloudkit.share", test)
        } check: { test in
            let found = try await Self.records(
                of: "cloudkit.share", by: .modifiedTimestamp, zone: "Z", in: .private, test)
            #expect(found.map(\.id.recordName) == ["Share-Other", "Share-Root"])
            // A filter walks the index itself; so few records are put in their order without it.
            let accepted = try await QueryRecords(test.cloud).run(
                QueryRecordsRequest(
                    query: Query(
                        recordType: "cloudkit.share",
                        filters: [
                            QueryFilter(
                                key: .system(.modifiedTimestamp), comparator: .greaterThanOrEquals,
                                value: .timestamp(test.time.now))
                        ]), zoneID: ZoneID(zoneName: "Z")), in: TestCloud.address(.private),
                by: Caller(user: TestCloud.ada))
            #expect(accepted.records.map(\.id.recordName) == ["Share-Root"])
            try await test.expectSoundStore()
        }.run(stepsMin: 5)
    }

    @Test func `B-USR-02 a user's record that an index overtakes is made, and the store is sound`() async throws {
        try await Race { test in
            try await CreateUserRecords(test.cloud).run(TestCloud.bob, in: TestCloud.container, .development)
            test.time.advance(1000)
            try await Self.setIndex([], on: .system(.createdTimestamp), of: "Users", test)
        } slow: { cloud in
            try await CreateUserRecords(cloud).run(TestCloud.ada, in: TestCloud.container, .development)
        } meanwhile: { test in
            try await Self.setIndex([.queryable, .sortable], on: .system(.createdTimestamp), of: "Users", test)
        } check: { test in
            try await test.expectSoundStore()
            // Clients cannot query users: the index shows whether the record is in all the places of one made before.
            let entries = try await test.store.read(.publicDatabase(TestCloud.container, .development)) {
                try await $0.scan(Subspace.index.range, limit: .max).map(\.key)
            }
            func count(naming user: UserID) -> Int {
                entries.count { $0.firstRange(of: Array(user.recordName.utf8)) != nil }
            }
            #expect(count(naming: TestCloud.bob) > 1)
            #expect(count(naming: TestCloud.ada) == count(naming: TestCloud.bob))
        }.run(stepsMin: 5)
    }
}
