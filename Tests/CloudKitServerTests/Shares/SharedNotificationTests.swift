import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Testing

/// Notifications of participants about changes of shared records.
@Suite(.timeLimit(.minutes(20))) struct SharedNotificationTests {
    /// Ada's tree with Root, A and B, shared with Bob, Cyd and Dan; Bob and Cyd have accepted and have subscriptions.
    private struct Stage {
        let test: TestCloud
        let share: Record
        var adas: TestDevice
        var phone: TestDevice
        var laptop: TestDevice
        var cyds: TestDevice

        static let everything = Subscription(id: "S", interest: .database(recordType: nil))

        static func run(_ engine: Engine = .memory, _ body: (inout Stage) async throws -> Void) async throws {
            try await withCloud(engine) { test in
                try await test.makeZone()
                try await test.modify([
                    create("Root"), create("A", parent: .set(recordName: "Root")),
                    create("B", parent: .set(recordName: "A")), create("Outside"),
                ])
                let people = [TestCloud.bob, TestCloud.cyd, TestCloud.dan]
                let share = try await test.shareTree("Root", with: people.map { invite($0) })
                var stage = Stage(
                    test: test, share: share, adas: try await TestDevice(test, "ada's"),
                    phone: try await TestDevice(test, "phone", of: TestCloud.bob),
                    laptop: try await TestDevice(test, "laptop", of: TestCloud.bob),
                    cyds: try await TestDevice(test, "cyd's", of: TestCloud.cyd))
                for user in [TestCloud.bob, TestCloud.cyd] { try await test.accept(share.shortGUID, by: user) }
                try await stage.settle()
                for user in [TestCloud.bob, TestCloud.cyd] {
                    try await test.subscribe(everything, in: .shared, by: user)
                }
                #expect(try await stage.heard() == "")
                try await body(&stage)
            }
        }

        func settle() async throws { while try await RunOutbox(test.cloud).run() {} }

        /// Returns the devices notified since the last call, after waiting notifications were delivered.
        mutating func heard() async throws -> String {
            try await settle()
            var names: [String] = []
            if try await adas.received() != [] { names.append("ada") }
            for (name, received) in [
                ("phone", try await phone.received()), ("laptop", try await laptop.received()),
                ("cyd", try await cyds.received()),
            ] where received != [] {
                #expect(received == ["S"])
                names.append(name)
            }
            return names.joined(separator: " ")
        }

        func modify(_ operations: [RecordOperation], by device: TestDevice) async throws {
            let isOwner = device.caller.user == TestCloud.ada
            let outcomes = try await ModifyRecords(test.cloud).run(
                ModifyRecordsRequest(
                    operations: operations, zoneID: ZoneID(zoneName: "Z", owner: TestCloud.ada)),
                in: TestCloud.address(isOwner ? .private : .shared), by: device.caller)
            #expect(outcomes.allSatisfy { $0.failure == nil })
        }

        func invitees(_ users: [UserID], _ permission: ParticipantPermission = .readWrite) -> ShareChange {
            ShareChange(participants: users.map { invite($0, permission) })
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SUB-01 B-SHF-03 participants are notified of shared records only`(
        _ engine: Engine
    ) async throws {
        try await Stage.run(engine) { stage in
            try await stage.modify([save(.forceUpdate, "B", number("n", 1))], by: stage.adas)
            #expect(try await stage.heard() == "phone laptop cyd")
            try await stage.modify([save(.forceUpdate, "Outside", number("n", 1))], by: stage.adas)
            #expect(try await stage.heard() == "")
            try await stage.modify([delete("B")], by: stage.adas)
            #expect(try await stage.heard() == "phone laptop cyd")
            // A failed batch is not a change.
            try await stage.test.modify([create("A")])
            #expect(try await stage.heard() == "")
            // Dan was invited and has not come.
            var dans = try await TestDevice(stage.test, "dan's", of: TestCloud.dan)
            try await stage.test.subscribe(Stage.everything, in: .shared, by: TestCloud.dan)
            try await stage.modify([save(.forceUpdate, "A", number("n", 2))], by: stage.adas)
            #expect(try await stage.heard() == "phone laptop cyd")
            #expect(try await dans.received() == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-PSH-01 B-SUB-02 all other devices are notified of a participant's changes`(_ engine: Engine) async throws {
        try await Stage.run(engine) { stage in
            try await stage.test.subscribe(Subscription(id: "D", interest: .database(recordType: nil)))
            try await stage.modify([create("C", parent: .set(recordName: "A"))], by: stage.phone)
            #expect(try await stage.heard() == "ada laptop cyd")
            try await stage.modify([save(.forceUpdate, "C", number("n", 1))], by: stage.cyds)
            #expect(try await stage.heard() == "ada phone laptop")
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHF-06 records that enter or leave the tree are reported`(_ engine: Engine) async throws {
        try await Stage.run(engine) { stage in
            try await stage.modify(
                [save(.forceUpdate, "Outside", parent: .set(recordName: "A"))], by: stage.adas)
            #expect(try await stage.heard() == "phone laptop cyd")
            try await stage.modify([save(.forceUpdate, "Outside", parent: .remove)], by: stage.adas)
            #expect(try await stage.heard() == "phone laptop cyd")
            try await stage.modify([save(.forceUpdate, "Outside", number("n", 1))], by: stage.adas)
            #expect(try await stage.heard() == "")
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHF-01 an acceptance is reported to the user's other devices, the others see the share change`(
        _ engine: Engine
    ) async throws {
        try await Stage.run(engine) { stage in
            let test = stage.test
            var there = try await TestDevice(test, "dan there", of: TestCloud.dan)
            var here = try await TestDevice(test, "dan here", of: TestCloud.dan)
            try await test.subscribe(Stage.everything, in: .shared, by: TestCloud.dan)
            let guid = try #require(stage.share.shortGUID)
            _ = try await AcceptShares(test.cloud).run(
                [ShareInvitationRequest(shortGUID: guid)], in: TestCloud.address(.public), by: here.caller)
            #expect(try await stage.heard() == "phone laptop cyd")
            #expect(try await there.received() == ["S"])
            #expect(try await here.received() == [])
            // Accepting twice is not a change (B-ACP-03).
            try await test.accept(guid, by: TestCloud.dan)
            #expect(try await stage.heard() == "")
            #expect(try await there.received() == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHF-04 B-SHF-07 a participant who is removed, leaves, or gets another permission is informed`(
        _ engine: Engine
    ) async throws {
        try await Stage.run(engine) { stage in
            let test = stage.test
            try await test.changeShare(
                "Share-Root",
                ShareChange(participants: [invite(TestCloud.bob, .readOnly), invite(TestCloud.cyd)]))
            #expect(try await stage.heard() == "phone laptop cyd")
            try await test.changeShare("Share-Root", stage.invitees([TestCloud.cyd]))
            #expect(try await stage.heard() == "phone laptop cyd")
            try await stage.modify([save(.forceUpdate, "A", number("n", 1))], by: stage.adas)
            #expect(try await stage.heard() == "cyd")
            // Cyd leaves on another device.
            try await test.modify([delete("Share-Root")], of: TestCloud.ada, by: TestCloud.cyd)
            #expect(try await stage.heard() == "cyd")
            try await stage.modify([save(.forceUpdate, "A", number("n", 2))], by: stage.adas)
            #expect(try await stage.heard() == "")
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ACP-08 B-ACP-09 the end of a share, its root or its zone is reported`(_ engine: Engine) async throws {
        let ends: [@Sendable (TestCloud) async throws -> Void] = [
            { try await $0.modify([delete("Share-Root")]) },
            { try await $0.modify([delete("Root"), delete("A"), delete("B")]) },
            { test in
                _ = try await ModifyZones(test.cloud).run(
                    [.delete(ZoneID(zoneName: "Z"))], in: TestCloud.address(.private),
                    by: Caller(user: TestCloud.ada, deviceID: "ada's"))
            },
            { try await EndZone($0.cloud).purge("Z", of: TestCloud.ada, in: TestCloud.container, .development) },
            {
                try await EndZone($0.cloud).resetKeys(
                    ofZone: "Z", of: TestCloud.ada, in: TestCloud.container, .development)
            },
        ]
        for end in ends {
            try await Stage.run(engine) { stage in
                try await end(stage.test)
                #expect(try await stage.heard() == "phone laptop cyd")
                #expect(try await stage.heard() == "")
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHR-01 in a zone that is shared as a whole every change is reported`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let share = try await test.shareZone(with: [invite(TestCloud.bob)])
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            while try await RunOutbox(test.cloud).run() {}
            var device = try await TestDevice(test, "phone", of: TestCloud.bob)
            try await test.subscribe(Stage.everything, in: .shared, by: TestCloud.bob)
            try await test.subscribe(
                Subscription(id: "T", interest: .database(recordType: "Task")), in: .shared, by: TestCloud.bob)
            try await test.modify([create("A")])
            while try await RunOutbox(test.cloud).run() {}
            #expect(try await device.received() == ["S"])
            try await test.modify([create("B", "Task")])
            while try await RunOutbox(test.cloud).run() {}
            #expect(try await device.received() == ["S", "T"])
            try await test.modify([delete(Share.zoneWideName)])
            while try await RunOutbox(test.cloud).run() {}
            // The loss of a participation is reported only by a subscription to everything.
            #expect(try await device.received() == ["S"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-PSH-02 a stored notification is delivered after a restart, and is not lost before`(
        _ engine: Engine
    ) async throws {
        try await Stage.run(engine) { stage in
            for number in 1...3 {
                try await stage.modify(
                    [save(.forceUpdate, "A", CloudKitServerTests.number("n", number))], by: stage.adas)
            }
            let after = stage.test.restarted()
            while try await RunOutbox(after).run() {}
            #expect(try await stage.heard() == "phone laptop cyd")
            #expect(try await stage.heard() == "")
        }
    }

    @Test func `a change leaves one value for participants, however many they are`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let users = (0..<99).map { UserID("_user\($0)00000000000000000000000000") }
            let share = try await test.shareZone(with: users.map { invite($0) })
            for user in users { try await test.accept(share.shortGUID, by: user) }
            while try await RunOutbox(test.cloud).run() {}
            try await test.modify([create("A"), create("B", "Task")])
            let partition = StoragePartition.privateDatabase(TestCloud.container, .development, of: TestCloud.ada)
            let waiting = try await test.store.read(partition) { try await $0.crossPartitionNotifications(limit: 100) }
            #expect(waiting.count == 1)
        }
    }

    @Test func `B-PSH-01 a participant without another device is counted as dropped`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let share = try await test.shareZone(with: [invite(TestCloud.bob), invite(TestCloud.cyd)])
            for user in [TestCloud.bob, TestCloud.cyd] {
                try await test.accept(share.shortGUID, by: user)
                try await test.subscribe(Stage.everything, in: .shared, by: user)
            }
            while try await RunOutbox(test.cloud).run() {}
            _ = try await TestDevice(test, "phone", of: TestCloud.bob)
            let before = test.cloud.notificationMetrics.counts
            try await test.modify([create("A")])
            while try await RunOutbox(test.cloud).run() {}
            let after = test.cloud.notificationMetrics.counts
            #expect(after.decided - before.decided == 2)
            let droppedBefore = before.dropped[.noOtherDevice, default: 0]
            #expect(after.dropped[.noOtherDevice, default: 0] == droppedBefore + 1)
        }
    }
}
