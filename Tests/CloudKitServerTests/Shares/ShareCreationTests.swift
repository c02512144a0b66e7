import CloudKitModel
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct ShareCreationTests {
    @Test(arguments: Engine.allCases)
    func `B-SHR-03, B-SHR-04 a share begins together with its root`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let outcomes = try await test.modify([
                create("Root"), create("Child", parent: .set(recordName: "Root")),
                createShare("S", ShareChange(root: .init(recordName: "Root"))),
            ])
            let share = try #require(outcomes[2].record)
            #expect(outcomes[0].record?.share == "S")
            #expect(outcomes[0].record?.shortGUID == share.shortGUID)
            #expect(share.shortGUID?.isEmpty == false)
            #expect(outcomes[1].record?.share == nil)
            #expect(share.sharing?.root == "Root")
            #expect(share.sharing?.owner?.identity.user == TestCloud.ada)
            #expect(share.sharing?.currentParticipant?.role == .owner)
            let held = try await test.lookup(["Root", "S"])
            #expect(held[0].record?.share == "S")
            #expect(held[1].record?.sharing == share.sharing)
        }
    }

    @Test func `so many records enter and leave a tree with one batch, and one more is refused`() async throws {
        #expect(Limits().treeMovesMax == 100_000)
        var limits = Limits()
        limits.treeMovesMax = 4
        try await withCloud(limits: limits) { test in
            try await test.makeZone()
            try await test.modify([create("Root"), create("In", parent: .set(recordName: "Root"))])
            try await test.modify((0..<3).map { create("C\($0)", parent: .set(recordName: "In")) })
            try await test.shareTree("Root")
            try await test.modify([create("C3", parent: .set(recordName: "In"))])
            await expect(.sizeLimitExceeded) { try await test.modify([delete("Share-Root")]) }
            try await test.modify([delete("C3")])
            #expect(try await test.modify([delete("Share-Root")])[0].isDeleted)
            try await test.modify([create("C3", parent: .set(recordName: "Root"))])
            await expect(.sizeLimitExceeded) { try await test.shareTree("Root") }
        }
    }

    @Test func `B-SHR-03 our own framework must send the root along, others may name it`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.modify([create("Root")])
            let share = createShare("S", ShareChange(root: .init(recordName: "Root")))
            await expect(.badRequest) {
                try await test.modify([share], by: Caller(user: TestCloud.ada, surface: .native))
            }
            let stale = createShare("S", ShareChange(root: .init(recordName: "Root", changeTag: ChangeTag("old"))))
            #expect(try await test.modify([stale])[0].code == .conflict)
            let before = try await test.record("Root")
            #expect(try await test.modify([share])[0].record != nil)
            let after = try await test.record("Root")
            #expect(after?.share == "S")
            #expect(after?.changeTag != before?.changeTag)
            let missing = createShare("T", ShareChange(root: .init(recordName: "Nothing")))
            #expect(try await test.modify([missing])[0].code == .itemNotFound)
            await expect(.badRequest) { try await test.modify([createShare("U", ShareChange())]) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHR-05 trees do not overlap`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([
                create("Top"), create("Root", parent: .set(recordName: "Top")),
                create("Child", parent: .set(recordName: "Root")), create("Leaf", parent: .set(recordName: "Child")),
                create("Sibling", parent: .set(recordName: "Top")), create("Alone"),
            ])
            try await test.shareTree("Root")
            for name in ["Root", "Top", "Child", "Leaf"] {
                let share = createShare("Second", ShareChange(root: .init(recordName: name)))
                #expect(try await test.modify([share])[0].code == .alreadyShared, "\(name)")
            }
            try await test.shareTree("Sibling")
            try await test.shareTree("Alone")
            // Moving does not do so either.
            let move = save(.forceUpdate, "Alone", parent: .set(recordName: "Leaf"))
            #expect(try await test.modify([move])[0].code == .alreadyShared)
            try await test.modify([create("Box")])
            try await test.modify([save(.forceUpdate, "Alone", parent: .set(recordName: "Box"))])
            let box = save(.forceUpdate, "Box", parent: .set(recordName: "Child"))
            #expect(try await test.modify([box])[0].code == .alreadyShared)
        }
    }

    @Test func `B-SHR-06 a zone is shared as a whole or by trees`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.makeZone("Y")
            try await test.modify([create("Root")])
            try await test.shareTree("Root")
            #expect(try await test.modify([createShare(Share.zoneWideName, ShareChange())])[0].code == .badRequest)
            try await test.modify([create("Root")], zone: "Y")
            try await test.shareZone("Y")
            let tree = createShare("S", ShareChange(root: .init(recordName: "Root")))
            #expect(try await test.modify([tree], zone: "Y")[0].code == .serverRejected)
            #expect(
                try await test.modify([createShare(Share.zoneWideName, ShareChange())], zone: "Y")[0].code
                    == .recordExists)
            // In one request the first share goes before the other comes.
            let outcomes = try await test.modify([delete("Share-Root"), createShare(Share.zoneWideName, ShareChange())])
            #expect(outcomes[1].record?.sharing?.root == nil)
        }
    }

    @Test func `B-SHR-02 only custom zones of the private database are shared`() async throws {
        try await withCloud { test in
            let share = createShare("S", ShareChange(root: .init(recordName: "Root")))
            let inPublic = try await test.modify([create("Root"), share], zone: "_defaultZone", in: .public)
            #expect(inPublic[1].code == .badDatabase)
            let inDefault = try await test.modify([create("Root"), share], zone: "_defaultZone")
            #expect(inDefault[1].code == .badRequest)
        }
    }

    @Test func `B-ZN-15, B-ZN-04 a zone names its zone-wide share`() async throws {
        try await withCloud { test in
            #expect(try await test.makeZone().share == nil)
            try await test.shareZone()
            let zone = try await test.makeZone()
            #expect(zone.share == Share.zoneWideName)
            #expect(zone.capabilities.contains(.zoneWideSharing))
        }
    }

    @Test func `B-SHR-07 sharing the same root again gives the same link`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.makeZone("Y")
            try await test.modify([create("Root")])
            let first = try await test.shareTree("Root", as: "One")
            try await test.modify([delete("One")])
            let second = try await test.shareTree("Root", as: "Two")
            #expect(first.shortGUID == second.shortGUID)
            let zone = try await test.shareZone("Y")
            try await test.modify([delete(Share.zoneWideName)], zone: "Y")
            #expect(try await test.shareZone("Y").shortGUID == zone.shortGUID)
        }
    }

    @Test func `B-SAV-09 a share is saved with the tag check under every policy`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.modify([create("Root")])
            let share = try await test.shareTree("Root")
            func forced(_ tag: ChangeTag?) -> RecordOperation {
                RecordOperation(
                    .forceUpdate,
                    RecordChange(
                        recordName: "Share-Root", recordType: "cloudkit.share",
                        fields: [text("cloudkit.title", "Trip")], changeTag: tag, share: ShareChange()))
            }
            let missing = try await test.modify([forced(nil)])[0]
            #expect(missing.code == .recordExists)
            #expect(missing.failure?.serverRecord?.value.sharing != nil)
            #expect(try await test.modify([forced(ChangeTag("old"))])[0].code == .conflict)
            let saved = try await test.modify([forced(share.changeTag)])[0].record
            #expect(saved?.json("cloudkit.title") == "\"Trip\"")
            #expect(saved?.sharing?.root == "Root")
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHR-09 shares are found by queries, in both environments, also where there is none`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            func names(_ filters: [QueryFilter], _ environment: CloudKitModel.Environment = .development) async throws
                -> [String]
            {
                let request = QueryRecordsRequest(
                    query: Query(recordType: "cloudkit.share", filters: filters),
                    zoneID: environment == .development ? ZoneID(zoneName: "Z") : nil)
                let address = DatabaseAddress(
                    container: TestCloud.container, environment: environment, scope: .private)
                return try await QueryRecords(test.cloud).run(request, in: address, by: Caller(user: TestCloud.ada))
                    .records.map(\.id.recordName)
            }
            let titled = QueryFilter(key: .field("cloudkit.title"), comparator: .equals, value: .string("Trip"))
            for filters in [[], [titled]] {
                #expect(try await names(filters).isEmpty)
                #expect(try await names(filters, .production).isEmpty)
            }
            try await test.modify([create("Root")])
            try await test.shareTree("Root")
            #expect(try await names([]) == ["Share-Root"])
            #expect(try await names([titled]).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ACP-08 ending a share leaves its records, with another tag for the root`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("Root"), create("Child", parent: .set(recordName: "Root"))])
            let share = try await test.shareTree("Root", with: [invite(TestCloud.bob)])
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            let before = try await test.record("Root")
            #expect(try await test.modify([delete("Share-Root")])[0].isDeleted)
            let after = try await test.record("Root")
            #expect(after?.share == nil)
            #expect(after?.changeTag != before?.changeTag)
            #expect(try await test.record("Child") != nil)
            #expect(try await test.record("Share-Root") == nil)
            await expect(.zoneNotFound) { _ = try await test.sharedLookup(["Root"], by: TestCloud.bob) }
            #expect(try await test.resolve(share.shortGUID, by: TestCloud.bob).code == .itemNotFound)
        }
    }

    @Test func `B-ACP-09 the share is deleted with its root, and everything with the zone`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.modify([create("Root")])
            let share = try await test.shareTree("Root", with: [invite(TestCloud.bob)])
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            let token = try await test.changes().syncToken
            try await test.modify([delete("Root")])
            let marks = try await test.changes(since: token).events.map(\.mark)
            #expect(Set(marks) == ["†Root", "†Share-Root"])
            #expect(
                try await ListZones(test.cloud).run(in: TestCloud.address(.shared), by: Caller(user: TestCloud.bob))
                    .isEmpty)
        }
    }
}
