import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Testing

/// The pages of zones.
@Suite(.timeLimit(.minutes(20))) struct ZoneTests {
    private static func make(_ cloud: ConsoleCloud, records: Int) async throws -> UserID {
        let user = try await cloud.user()
        try await cloud.makeZone("Notes", of: user)
        for number in 0..<records { try await cloud.save("note-\(100 + number)", "Note", zone: "Notes", user: user) }
        return user
    }

    @Test func `a feed is shown from any token, in pages`() async throws {
        try await ConsoleCloud.run { cloud in
            let user = try await Self.make(cloud, records: 60)
            let browser = try await cloud.signedIn()
            let path = ConsoleCloud.path("zones/zone")
            let first = try await browser.get("\(path)?user=\(user.recordName)&zone=Notes")
            #expect(first.content.contains("note-149") && !first.content.contains("note-150"))
            let form = [("user", user.recordName), ("zone", "Notes")]
            let next = try #require(first.hidden("token").first)
            let second = try await browser.post(path, form + [("token", next)])
            #expect(second.content.contains("note-159") && !second.content.contains("note-149"))
            #expect(second.hidden("token").isEmpty)
            // The token of a device is as good as one of these pages.
            let page = try await FetchZoneChanges(cloud.cloud).run(
                [ZoneChangesRequest(zoneID: ZoneID(zoneName: "Notes"), resultsLimit: 58)],
                in: DatabaseAddress(container: ConsoleCloud.container, environment: .development, scope: .private),
                by: Caller(user: user))
            guard case .page(let known)? = page.first else { throw RequestFailure(.internalError, "no page") }
            let third = try await browser.post(path, form + [("token", known.syncToken)])
            #expect(third.content.contains("note-158") && !third.content.contains("note-157"))
            for bad in ["x", next + "A", String(next.dropLast(4))] {
                let answer = try await browser.post(path, form + [("token", bad)])
                #expect(answer.status == 200)
                #expect(answer.text.contains("role=\"alert\""))
            }
        }
    }

    @Test func `B-CHG-09 tokens expire, of a zone and of a database`() async throws {
        try await ConsoleCloud.run { cloud in
            let user = try await Self.make(cloud, records: 1)
            let address = DatabaseAddress(
                container: ConsoleCloud.container, environment: .development, scope: .private)
            let caller = Caller(user: user)
            let zoneToken = try #require(
                try await ListZones(cloud.cloud).run(in: address, by: caller).first { $0.id.zoneName == "Notes" }?
                    .syncToken)
            let databaseToken = try await FetchDatabaseChanges(cloud.cloud)
                .run(DatabaseChangesRequest(), in: address, by: caller).syncToken
            let browser = try await cloud.signedIn()
            let path = ConsoleCloud.path("zones/expire")
            #expect(try await browser.post(path, [("user", user.recordName), ("zone", "Notes")]).status == 303)
            let page = try await browser.post(
                ConsoleCloud.path("zones/zone"), [("user", user.recordName), ("zone", "Notes"), ("token", zoneToken)])
            #expect(page.content.contains("changeTokenExpired"))
            #expect(try await browser.post(path, [("user", user.recordName)]).status == 303)
            await #expect(throws: RequestFailure.self) {
                try await FetchDatabaseChanges(cloud.cloud)
                    .run(DatabaseChangesRequest(syncToken: databaseToken), in: address, by: caller)
            }
            #expect(try await browser.post(path, [("user", "_nobody")]).status == 404)
            #expect(try await browser.post(path, []).status == 400)
            #expect(cloud.log.orders.map { $0["outcome"] } == ["done", "done", "itemNotFound"])
        }
    }

    @Test func `B-ZN-10 a zone is purged once its name was written`() async throws {
        try await ConsoleCloud.run { cloud in
            let user = try await Self.make(cloud, records: 3)
            let browser = try await cloud.signedIn()
            let path = ConsoleCloud.path("zones/purge")
            let form = [("user", user.recordName), ("zone", "Notes")]
            #expect(
                try await browser.get("\(path)?user=\(user.recordName)&zone=Notes").content.contains("All 3 records"))
            #expect(try await browser.post(path, form).status == 400)
            #expect(try await browser.post(path, form + [("confirmation", "notes")]).status == 400)
            #expect(cloud.log.orders.isEmpty)
            #expect(try await browser.post(path, form + [("confirmation", "Notes")]).status == 303)
            let zones = try await browser.get(ConsoleCloud.path("zones?user=\(user.recordName)"))
            #expect(zones.content.contains("purged"))
            #expect(cloud.log.orders.first?["order"] == "zones/purge")
            #expect(cloud.log.orders.first?["user"] == user.recordName)
        }
    }

    @Test func `shares and subscriptions are shown`() async throws {
        try await ConsoleCloud.run { cloud in
            let user = try await Self.make(cloud, records: 1)
            _ = try await cloud.user("grace@example.com")
            let address = DatabaseAddress(
                container: ConsoleCloud.container, environment: .development, scope: .private)
            var change = RecordChange(
                recordName: Share.zoneWideName, recordType: Validity.shareRecordType, createShortGUID: true)
            change.share = ShareChange(publicPermission: .readOnly)
            let outcome = try await ModifyRecords(cloud.cloud).run(
                ModifyRecordsRequest(operations: [RecordOperation(.create, change)], zoneID: ZoneID(zoneName: "Notes")),
                in: address, by: Caller(user: user)
            ).first
            guard case .record? = outcome else {
                Issue.record("not shared: \(String(describing: outcome))")
                return
            }
            _ = try await ModifySubscriptions(cloud.cloud).run(
                [
                    .create(
                        Subscription(
                            id: "sub-1", interest: .zone(ZoneID(zoneName: "Notes"), recordType: nil),
                            notificationInfo: nil))
                ], in: address, by: Caller(user: user))
            let browser = try await cloud.signedIn()
            let zone = try await browser.get(ConsoleCloud.path("zones/zone?user=\(user.recordName)&zone=Notes"))
            #expect(zone.content.contains("as a whole") && zone.content.contains("Participants"))
            #expect(zone.content.contains("Public permissionread"))
            let zones = try await browser.get(ConsoleCloud.path("zones?user=\(user.recordName)"))
            #expect(zones.content.contains("sub-1") && zones.content.contains("silently"))
        }
    }

    @Test func `zones and databases come in pages`() async throws {
        try await ConsoleCloud.run { cloud in
            let user = try await cloud.user()
            for number in 0..<105 { try await cloud.makeZone("Z\(100 + number)", of: user) }
            let browser = try await cloud.signedIn()
            let first = try await browser.get(ConsoleCloud.path("zones?user=\(user.recordName)"))
            #expect(first.content.contains("Z150") && !first.content.contains("Z204"))
            let start = try #require(first.text.firstRange(of: "after=Z"))
            let last = String(first.text[start.upperBound...].prefix { $0.isNumber })
            let second = try await browser.get(ConsoleCloud.path("zones?user=\(user.recordName)&after=Z\(last)"))
            #expect(second.content.contains("Z204"))
            for number in 0..<55 {
                let other = try await cloud.user("user\(number)@example.com")
                try await cloud.makeZone("Own", of: other)
            }
            let list = try await browser.get(ConsoleCloud.path("data"))
            #expect(list.content.contains("More private databases"))
            #expect(list.text.utf8.count < 100_000)
        }
    }
}
