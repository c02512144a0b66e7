import CloudKitModel
import CloudKitServer
import Foundation
import Testing

/// A device that waits for the notifications of its user.
struct TestDevice {
    let courier: LongPollService
    let path: String
    let caller: Caller
    private(set) var position: String

    init(_ cloud: TestCloud, _ name: String, of user: UserID = TestCloud.ada, courier: LongPollService? = nil)
        async throws
    {
        caller = Caller(user: user, deviceID: name, surface: .native)
        let registration = try await PushTokens(cloud.cloud).create(
            clientID: name, service: "development", in: TestCloud.container, .development, by: caller)
        path = try #require(registration.longPollPath)
        position = registration.position
        self.courier = courier ?? LongPollService(cloud: cloud.cloud, hold: .zero)
    }

    /// Returns the notifications that wait for the device, and confirms them.
    mutating func received() async throws -> [String] {
        let delivery = try await courier.next(path, confirmed: position, max: 100)
        position = delivery.position
        return delivery.payloads.map(TestDevice.mark)
    }

    /// The essence of a payload: subscription, event and record, in short.
    static func mark(_ payload: [UInt8]) -> String {
        let root = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
        let body = root?["ck"] as? [String: Any] ?? [:]
        if let query = body["qry"] as? [String: Any] {
            let event = ["", "+", "~", "-"][query["fo"] as? Int ?? 0]
            return "\(query["sid"] ?? "?") \(event)\(query["rid"] ?? "?")"
        }
        if let zone = body["fet"] as? [String: Any] { return "\(zone["sid"] ?? "?") \(zone["zid"] ?? "?")" }
        if let database = body["met"] as? [String: Any] { return "\(database["sid"] ?? "?")" }
        return "lost"
    }
}

extension TestCloud {
    /// Subscribes, and expects that to work.
    func subscribe(
        _ subscription: Subscription, in scope: DatabaseScope = .private, by user: UserID = ada
    ) async throws {
        let outcome = try await ModifySubscriptions(cloud).run(
            [.create(subscription)], in: Self.address(scope), by: Caller(user: user))[0]
        if case .failed(_, let failure) = outcome { throw failure }
    }

    static func query(
        _ id: String, _ type: String = "Note", _ filters: QueryFilter..., zone: String? = nil,
        firesOn: RecordEvents = .all, once: Bool = false, info: NotificationInfo? = NotificationInfo()
    ) -> Subscription {
        Subscription(
            id: id,
            interest: .query(
                SubscribedQuery(
                    query: Query(recordType: type, filters: filters), zoneID: zone.map { ZoneID(zoneName: $0) },
                    firesOn: firesOn, firesOnce: once)), notificationInfo: info)
    }
}
