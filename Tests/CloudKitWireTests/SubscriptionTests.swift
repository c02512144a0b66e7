import CloudKitModel
import CloudKitWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct SubscriptionTests {
    private static var info: NotificationInfo {
        var info = NotificationInfo()
        info.alertBody = "b"
        info.alertLocalizationKey = "k"
        info.alertLocalizationArgs = ["f"]
        info.title = "t"
        info.titleLocalizationKey = "tk"
        info.titleLocalizationArgs = ["g"]
        info.subtitle = "s"
        info.subtitleLocalizationKey = "sk"
        info.subtitleLocalizationArgs = ["h"]
        info.alertActionLocalizationKey = "a"
        info.alertLaunchImage = "l"
        info.soundName = "default"
        info.additionalFields = ["x", "y"]
        info.shouldBadge = true
        info.shouldSendContentAvailable = true
        info.shouldSendMutableContent = true
        info.category = "c"
        info.collapseIDKey = "i"
        return info
    }

    private static let subscriptions: [Subscription] = [
        Subscription(
            id: "S1",
            interest: .query(
                SubscribedQuery(
                    query: Query(
                        recordType: "Note",
                        filters: [
                            QueryFilter(key: .field("n"), comparator: .greaterThan, value: .int64(3)),
                            QueryFilter(
                                key: .system(.createdUserRecordName), comparator: .equals,
                                value: .reference(ReferenceValue(recordName: "_x"))),
                        ]), zoneID: ZoneID(zoneName: "Z", owner: other), firesOn: [.created, .deleted],
                    firesOnce: true)), notificationInfo: info),
        Subscription(id: "S2", interest: .zone(ZoneID(zoneName: "Z", owner: other), recordType: "T")),
        Subscription(id: "S3", interest: .database(recordType: nil), notificationInfo: NotificationInfo()),
    ]

    @Test func `subscriptions/modify carries everything there and back`() throws {
        let operations: [SubscriptionOperation] =
            Self.subscriptions.map { .create($0) } + [.update(Self.subscriptions[0]), .delete(id: "S9")]
        #expect(try [SubscriptionOperation](wire: operations.wire(), limits: .web) == operations)
        let outcomes: [SubscriptionOutcome] =
            Self.subscriptions.map { .subscription($0) } + [
                .deleted(id: "S9"), .failed(id: "S8", RequestFailure(.itemNotFound, "Subscription not found")),
            ]
        #expect(try [SubscriptionOutcome](wireAnswer: outcomes.wireAnswer(style: nativeStyle)) == outcomes)
    }

    @Test func `subscriptions/modify as web clients write it`() throws {
        let body =
            #"{"operations":[{"subscription":{"firesOn":["create","update"],"notificationInfo":{"alertBody":"x"},"#
            + #""query":{"recordType":"Note","filterBy":[]},"zoneWide":true,"zoneID":{"zoneName":"Z"},"#
            + #""subscriptionType":"query"},"operationType":"create"},"#
            + #"{"operationType":"delete","subscription":{"subscriptionID":"S"}}]}"#
        var info = NotificationInfo()
        info.alertBody = "x"
        let query = SubscribedQuery(query: Query(recordType: "Note"), firesOn: [.created, .updated])
        #expect(
            try [SubscriptionOperation](wire: bytes(body), limits: .web) == [
                .create(Subscription(id: "", interest: .query(query), notificationInfo: info)), .delete(id: "S"),
            ])
        let outcomes: [SubscriptionOutcome] = [.deleted(id: "S"), .subscription(Self.subscriptions[2])]
        #expect(
            text(outcomes.wireAnswer(style: webStyle))
                == #"{"subscriptions":[{"subscriptionID":"S"},{"subscriptionID":"S3","subscriptionType":"database","#
                + #""zoneWide":true,"notificationInfo":{}}]}"#)
    }

    @Test(arguments: [
        #"{"operationType":"create"}"#, #"{"subscription":{}}"#,
        #"{"operationType":"create","subscription":{"subscriptionType":"query"}}"#,
        #"{"operationType":"create","subscription":{"subscriptionType":"zone"}}"#,
        #"{"operationType":"create","subscription":{"subscriptionType":"moon"}}"#,
        #"{"operationType":"create","subscription":{"subscriptionType":"query","firesOn":["never"]}}"#,
        #"{"operationType":"delete","subscription":{}}"#,
    ])
    func `a missing or unknown item is a bad request`(operation: String) {
        let failure = failure {
            _ = try [SubscriptionOperation](wire: bytes(#"{"operations":[\#(operation)]}"#), limits: .web)
        }
        #expect(failure?.code == .badRequest)
    }

    @Test func `subscriptions/lookup names them by identifier`() throws {
        #expect(try SubscriptionLookup.ids(wire: SubscriptionLookup.wire(["a", "b"]), limits: .web) == ["a", "b"])
    }
}
