import Testing

/// Saves that cause notifications, for the tests of their delivery.
extension TestCloud {
    /// A zone, and a subscription to all that happens in it.
    ///
    /// - Parameter alert: What notifications show; nil: nothing.
    func subscribe(alert: String? = nil, by tokens: Tokens) async throws {
        _ = try await client.post(
            Self.target("zones/modify", "private", tokens),
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
        let info = alert.map { #","notificationInfo":{"alertBody":"\#($0)"}"# } ?? ""
        let answer = try await client.post(
            Self.target("subscriptions/modify", "private", tokens),
            #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"S","#
                + #""subscriptionType":"zone","zoneID":{"zoneName":"Z"}\#(info)}}]}"#)
        #expect(answer["subscriptions", "0", "subscriptionID"] as? String == "S")
    }

    /// Makes a record in that zone.
    func save(_ name: String, by tokens: Tokens) async throws {
        let answer = try await client.post(
            Self.target("records/modify", "private", tokens),
            #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","#
                + #""record":{"recordName":"\#(name)","recordType":"Note"}}]}"#)
        #expect(answer.status == 200)
    }
}
