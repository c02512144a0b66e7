import CloudKitModel
import CloudKitWire
import Foundation
import ScriptedCloud
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct SubscriptionTests {
    private static func query(_ format: String, _ arguments: Any?...) -> CKQuerySubscription {
        CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(format: format, argumentArray: arguments.compactMap(\.self)),
            subscriptionID: "Q", options: [.firesOnRecordCreation, .firesOnce])
    }

    @Test func `a query subscription carries its condition, zone and options`() throws {
        let subscription = Self.query("n > %@ AND t BEGINSWITH %@", 3, "a")
        subscription.zoneID = CKRecordZone.ID(zoneName: "Z")
        subscription.notificationInfo = CKSubscription.NotificationInfo(alertBody: "x", desiredKeys: ["a"])
        #expect(subscription.subscriptionType == .query && subscription.recordType == "Note")
        let model = try subscription.model()
        var info = NotificationInfo()
        info.alertBody = "x"
        info.additionalFields = ["a"]
        #expect(model.notificationInfo == info)
        let expected = SubscribedQuery(
            query: Query(
                recordType: "Note",
                filters: [
                    QueryFilter(key: .field("n"), comparator: .greaterThan, value: .int64(3)),
                    QueryFilter(key: .field("t"), comparator: .beginsWith, value: .string("a")),
                ]), zoneID: ZoneID(zoneName: "Z"), firesOn: .created, firesOnce: true)
        #expect(model.interest == .query(expected))
    }

    @Test(arguments: [
        "TRUEPREDICATE", "FALSEPREDICATE", "n == 3", "n != 3", "n < 3 AND n >= 1", "t IN {'a', 'b'}",
        "NOT (t IN {'a'})", "t BEGINSWITH 'a'", "NOT (t BEGINSWITH 'a')", "l CONTAINS 'a'", "NOT (l CONTAINS 'a')",
        "ANY l IN {'a', 'b'}", "self CONTAINS 'words'", "allTokens TOKENMATCHES 'words'",
    ])
    func `B-SUB-05 a predicate comes back from the server as it went`(format: String) throws {
        let sent = try Self.query(format).model()
        let back = try #require(CKSubscription.from(sent) as? CKQuerySubscription)
        #expect(try back.model() == sent)
        #expect(back.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnce])
    }

    @Test(arguments: [
        ([], "TRUEPREDICATE"), (["a"], "l CONTAINS \"a\""), (["a", "b"], "l CONTAINS \"a\" AND l CONTAINS \"b\""),
    ])
    func `B-SUB-05 a list that contains all of some values is read as one comparison for each`(
        values: [String], predicate: String
    ) throws {
        let filter = QueryFilter(
            key: .field("l"), comparator: .listContainsAll, value: .list(.string, values.map { .string($0) }))
        let query = SubscribedQuery(
            query: Query(recordType: "Note", filters: [filter]), zoneID: nil, firesOn: .created, firesOnce: false)
        let read = try #require(
            CKSubscription.from(Subscription(id: "Q", interest: .query(query))) as? CKQuerySubscription)
        #expect(PredicateTree(read.predicate) == PredicateTree(NSPredicate(format: predicate)))
    }

    @Test func `B-QRY-10 B-QRY-13 locations, users and dates are read back too`() throws {
        let place = CLLocation(latitude: 1, longitude: 2)
        let formats: [(String, [Any])] = [
            ("distanceToLocation:fromLocation:(place, %@) < 5", [place]),
            ("creatorUserRecordID == %@", [CKRecord.ID(recordName: "_u")]),
            ("creationDate > %@", [Date(timeIntervalSince1970: 5)]),
            ("recordID == %@", [CKRecord.ID(recordName: "r")]),
            ("r == %@", [CKRecord.Reference(recordID: CKRecord.ID(recordName: "x"), action: .none)]),
        ]
        for (format, arguments) in formats {
            let subscription = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(format: format, argumentArray: arguments),
                subscriptionID: "Q")
            let sent = try subscription.model()
            #expect(try CKSubscription.from(sent).model() == sent, "\(format)")
        }
    }

    @Test func `subscriptions survive an archive and a copy`() throws {
        let query = Self.query("n > 3")
        query.notificationInfo = CKSubscription.NotificationInfo(
            alertBody: "b", alertLocalizationKey: "k", alertLocalizationArgs: ["a"], title: "t",
            titleLocalizationKey: "tk", titleLocalizationArgs: ["ta"], subtitle: "s", subtitleLocalizationKey: "sk",
            subtitleLocalizationArgs: ["sa"], alertActionLocalizationKey: "al", alertLaunchImage: "li",
            soundName: "sn", desiredKeys: ["d"], shouldBadge: true, shouldSendContentAvailable: true,
            shouldSendMutableContent: true, category: "c", collapseIDKey: "ci")
        query.zoneID = CKRecordZone.ID(zoneName: "Z")
        let zone = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Z"), subscriptionID: "Z")
        zone.recordType = "T"
        zone.notificationInfo = CKSubscription.NotificationInfo(alertBody: "z")
        let database = CKDatabaseSubscription(subscriptionID: "D")
        database.recordType = "U"
        database.notificationInfo = CKSubscription.NotificationInfo(alertBody: "d")
        #expect(try archivedAndBack(query).model() == query.model())
        #expect(try archivedAndBack(zone).model() == zone.model())
        #expect(try archivedAndBack(database).model() == database.model())
        for subscription in [query, zone, database] as [CKSubscription] {
            let copy = try #require(subscription.copy() as? CKSubscription)
            #expect(copy !== subscription && type(of: copy) == type(of: subscription))
            #expect(try copy.model() == subscription.model())
        }
        let info = try #require(query.notificationInfo)
        #expect(try archivedAndBack(info).model == info.model)
        #expect(info.alertLocalizationArgs == ["a"] && CKSubscription.NotificationInfo().desiredKeys == nil)
    }

    @Test func `the notification info is copied when it is set`() {
        let subscription = CKDatabaseSubscription(subscriptionID: "D")
        let info = CKSubscription.NotificationInfo()
        subscription.notificationInfo = info
        info.alertBody = "later"
        #expect(subscription.notificationInfo?.alertBody == nil)
        subscription.notificationInfo?.alertBody = "inside"
        #expect(subscription.notificationInfo?.alertBody == "inside")
    }

    // MARK: Functions and operations

    private static func database(_ outcomes: [SubscriptionOutcome]) -> (CKDatabase, ScriptedTransport) {
        let transport = ScriptedTransport { _ in .subscriptions(outcomes) }
        let container = CKContainer(
            identifier: "iCloud.a", endpoint: "http://x", account: ScriptedAccount(), transport: transport)
        return (container.privateCloudDatabase, transport)
    }

    @Test func `B-SUB-06 single functions throw the item's own error`() async throws {
        let missing = RequestFailure(.itemNotFound, "Subscription not found")
        let (database, transport) = Self.database([.failed(id: "S", missing)])
        await #expect { _ = try await database.subscription(for: "S") } throws: {
            ($0 as? CKError)?.code == .unknownItem
        }
        await #expect { _ = try await database.deleteSubscription(withID: "S") } throws: {
            ($0 as? CKError)?.code == .unknownItem
        }
        #expect(transport.requests.map(\.url.lastPathComponent) == ["lookup", "modify"])
        let results = try await database.modifySubscriptions(saving: [], deleting: ["S"])
        #expect(throws: CKError.self) { try results.deleteResults["S"]?.get() }
    }

    @Test func `conditions that CloudKit cannot run are refused on the device, while others are saved`() async throws {
        let good = CKDatabaseSubscription(subscriptionID: "D")
        let (database, transport) = Self.database([.subscription(try good.model())])
        let bad = Self.query("t LIKE 'a'")
        let results = try await database.modifySubscriptions(saving: [bad, good], deleting: [])
        #expect(throws: CKError.self) { try results.saveResults["Q"]?.get() }
        #expect(try results.saveResults["D"]?.get().subscriptionID == "D")
        #expect(transport.requests.count == 1)
        await #expect(throws: CKError.self) {
            _ = try await database.modifySubscriptions(saving: [good], deleting: ["D"])
        }
    }

    @Test func `operations report each subscription and the whole`() async throws {
        let good = CKDatabaseSubscription(subscriptionID: "D")
        let (database, _) = Self.database([
            .subscription(try good.model()), .failed(id: "X", RequestFailure(.itemNotFound, "no")),
        ])
        let modification = CKModifySubscriptionsOperation(
            subscriptionsToSave: [good], subscriptionIDsToDelete: ["X"])
        let said: [String] = await withCheckedContinuation { continuation in
            var said: [String] = []
            modification.perSubscriptionSaveBlock = { said.append("saved \($0) \((try? $1.get()) != nil)") }
            modification.perSubscriptionDeleteBlock = { said.append("deleted \($0) \((try? $1.get()) != nil)") }
            modification.modifySubscriptionsCompletionBlock = { saved, deleted, error in
                let code = (error as? CKError)?.code == .partialFailure
                said.append("\(saved?.count ?? 0) \(deleted?.count ?? 0) \(code)")
            }
            modification.modifySubscriptionsResultBlock = { _ in continuation.resume(returning: said) }
            database.add(modification)
        }
        #expect(said == ["saved D true", "deleted X false", "1 0 true"])
        let fetched: Int = await withCheckedContinuation { continuation in
            let fetch = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
            fetch.fetchSubscriptionCompletionBlock = { found, _ in continuation.resume(returning: found?.count ?? 0) }
            database.add(fetch)
        }
        #expect(fetched == 1)
    }

    @Test func `completion-handler forms do the same as async forms`() async throws {
        let good = CKDatabaseSubscription(subscriptionID: "D")
        let (database, transport) = Self.database([.subscription(try good.model())])
        let saved = await withCheckedContinuation { continuation in
            database.save(good) { subscription, _ in continuation.resume(returning: subscription?.subscriptionID) }
        }
        let found = await withCheckedContinuation { continuation in
            database.fetch(withSubscriptionID: "D") { subscription, _ in
                continuation.resume(returning: subscription?.subscriptionID)
            }
        }
        let all = await withCheckedContinuation { continuation in
            database.fetchAllSubscriptions { found, _ in continuation.resume(returning: found?.count) }
        }
        #expect(saved == "D" && found == "D" && all == 1)
        #expect(transport.requests.map(\.url.lastPathComponent) == ["modify", "lookup", "list"])
    }
}
