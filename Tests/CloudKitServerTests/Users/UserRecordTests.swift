import CloudKitModel
import CloudKitServer
import FileStore
import OrderedStore
import TestEnvironment
import Testing

@Suite(.timeLimit(.minutes(20))) struct UserRecordTests {
    private let time = TestServerEnvironment()
    private let user = UserID("_0123456789abcdef0123456789abcdef")

    private func lookUp(_ scope: DatabaseScope, in cloud: Cloud) async throws -> RecordOutcome? {
        try await LookupRecords(cloud).run(
            LookupRecordsRequest(records: [.init(recordName: user.recordName)], zoneID: .default),
            in: DatabaseAddress(container: TestCloud.container, environment: .development, scope: scope),
            by: Caller(user: user)
        ).first
    }

    @Test(arguments: [DatabaseScope.public, .private])
    func `B-USR-02 a user has a record of its own in both databases`(scope: DatabaseScope) async throws {
        let cloud = Cloud(
            store: MemoryStore(), files: MemoryFileStore(now: { 0 }), serverEnvironment: time.serverEnvironment)
        try await CreateUserRecords(cloud).run(user, in: TestCloud.container, .development)
        guard case .record(let first)? = try await lookUp(scope, in: cloud) else {
            Issue.record("no user record")
            return
        }
        #expect(first.recordType == "Users")
        #expect(first.created.user == user)
        #expect(first.fields.isEmpty)
        try await CreateUserRecords(cloud).run(user, in: TestCloud.container, .development)
        #expect(try await lookUp(scope, in: cloud) == .record(first))
    }

    @Test func `B-USR-02 apps cannot make a user, and may add fields to their own`() async throws {
        let cloud = Cloud(
            store: MemoryStore(), files: MemoryFileStore(now: { 0 }), serverEnvironment: time.serverEnvironment)
        let address = DatabaseAddress(container: TestCloud.container, environment: .development, scope: .public)
        func save(_ kind: RecordOperation.Kind) async throws -> RecordOutcome? {
            let field = Field(name: "nickname", type: .string, json: Array(#""Ada""#.utf8))
            let change = RecordChange(recordName: user.recordName, recordType: "Users", fields: [.set(field)])
            return try await ModifyRecords(cloud).run(
                ModifyRecordsRequest(operations: [RecordOperation(kind, change)], zoneID: .default), in: address,
                by: Caller(user: user)
            ).first
        }
        guard case .failed? = try await save(.forceUpdate) else {
            Issue.record("an app made a user")
            return
        }
        try await CreateUserRecords(cloud).run(user, in: TestCloud.container, .development)
        guard case .record(let record)? = try await save(.forceUpdate) else {
            Issue.record("the user's own field was refused")
            return
        }
        #expect(record.fields.map(\.name) == ["nickname"])
    }

    @Test func `B-USR-02 B-DB-07 an app cannot change the roles in a user's record`() async throws {
        let cloud = Cloud(
            store: MemoryStore(), files: MemoryFileStore(now: { 0 }), serverEnvironment: time.serverEnvironment)
        try await CreateUserRecords(cloud).run(user, in: TestCloud.container, .development)
        let address = DatabaseAddress(container: TestCloud.container, environment: .development, scope: .public)
        func save(_ fields: [FieldChange]) async throws -> RecordOutcome? {
            let change = RecordChange(recordName: user.recordName, recordType: "Users", fields: fields)
            return try await ModifyRecords(cloud).run(
                ModifyRecordsRequest(operations: [RecordOperation(.forceUpdate, change)], zoneID: .default),
                in: address, by: Caller(user: user)
            ).first
        }
        let roles = Field(name: "roles", type: FieldType(.int64, isList: true), json: Array("[1]".utf8))
        guard case .failed(_, let failure)? = try await save([.set(roles)]) else {
            Issue.record("a user gave itself a role")
            return
        }
        #expect(failure.code == .accessDenied)
        // A client that sends a record back as it read it removes nothing that is not there.
        guard case .record? = try await save([.remove(name: "roles")]) else {
            Issue.record("nothing was changed")
            return
        }
    }
}
