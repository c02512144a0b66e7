import CloudKitModel
import CloudKitServer
import Testing

/// A user's record that two processes create at once.
@Suite(.timeLimit(.minutes(20))) struct UserRecordRaceTests {
    @Test(arguments: Engine.allCases)
    func `B-USR-02 a user's record is made once, and what the user saves in it meanwhile stays`(_ engine: Engine)
        async throws
    {
        let ada = TestCloud.ada
        try await Race { _ in
        } slow: { cloud in
            try await CreateUserRecords(cloud).run(ada, in: TestCloud.container, .development)
        } meanwhile: { test in
            try await CreateUserRecords(test.cloud).run(ada, in: TestCloud.container, .development)
            for scope in [DatabaseScope.public, .private] {
                let saved = try await test.modify(
                    [save(.forceUpdate, ada.recordName, "Users", text("nickname", "Ada"))], zone: "_defaultZone",
                    in: scope)
                #expect(saved[0].record != nil)
            }
        } check: { test in
            for scope in [DatabaseScope.public, .private] {
                let record = try await test.record(ada.recordName, zone: "_defaultZone", in: scope)
                #expect(record?.json("nickname") == #""Ada""#)
            }
            try await test.expectSoundStore()
        }.run(engine, stepsMin: 5)
    }
}
