import CloudUnderTest
import FaultyNetwork
import Foundation
import PushReceiver
import Testing

/// Tests of Web Push from a save to the decrypted message, with a cloud process, a local push service and a simulated browser.
@Suite(.timeLimit(.minutes(20))) struct WebPushTests {
    private static let container = "iCloud.com.example.push"

    private static func object(_ bytes: [UInt8]) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    private static func ask(_ cloud: CloudProcess, _ request: RawRequest) throws -> [String: Any] {
        let answer = try RawExchange(port: cloud.port, connections: 1).ask(request)
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try object(answer.body)
    }

    private static func json(_ path: String, _ body: String) -> RawRequest { .post(path, body: Array(body.utf8)) }

    private static func save(_ name: String, as user: SignedInUser, _ cloud: CloudProcess) throws {
        _ = try ask(
            cloud,
            user.post(
                "records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note","#
                    + #""fields":{"title":{"value":"Milk \#(name)"}}}}]}"#, database: "public"))
    }

    private static func metrics(_ cloud: CloudProcess) throws -> String {
        let answer = try RawExchange(port: cloud.port, connections: 1).ask(.get("/metrics"))
        return String(decoding: answer.body, as: UTF8.self)
    }

    private static func wait(_ until: () throws -> Bool) async throws {
        while try !until() { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test func `a save reaches a browser encrypted and signed, also after failures of push service and cloud`()
        async throws
    {
        try await PushServer.run { server in
            let cloud = try CloudProcess(arguments: [
                "--web-push", "on", "--web-push-allow-host", "127.0.0.1:\(server.port)",
                "--web-push-contact", "mailto:operator@example.com",
            ])
            defer { cloud.end() }
            let ada = try cloud.signIn(container: Self.container, profile: "ada")
            let bob = try cloud.signIn(container: Self.container, profile: "bob")
            let browser = Browser()

            let services = try Self.ask(cloud, Self.json(ada.devicePath("tokens/services", isUser: true), "{}"))
            let offered = try #require((services["services"] as? [[String: String]])?.first)
            #expect(offered["service"] == "webPush")
            let mode = try FileManager.default.attributesOfItem(atPath: cloud.data + "/web-push-key.pem")
            #expect(mode[.posixPermissions] as? Int == 0o600)

            // Creates the record type first: a subscription to an unknown type is an error.
            try Self.save("R0", as: bob, cloud)
            let subscription = browser.subscription(endpoint: server.origin + "/push/ada")
            let made = try Self.ask(
                cloud,
                Self.json(
                    ada.devicePath("tokens/create", isUser: true),
                    #"{"clientId":"b","push":{"service":"webPush","subscription":\#(subscription)}}"#))
            #expect(made["apnsToken"] is String && made["webcourierURL"] == nil)
            let subscribed = try Self.ask(
                cloud,
                ada.post(
                    "subscriptions/modify",
                    #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"S","subscriptionType":"query","#
                        + #""query":{"recordType":"Note"},"firesOn":["create"],"notificationInfo":{"alertBody":"A note","#
                        + #""additionalFields":["title"]}}}]}"#, database: "public"))
            #expect("\(subscribed)".contains("serverErrorCode") == false, "\(subscribed)")

            try Self.save("R1", as: bob, cloud)
            try await Self.wait { server.received.count == 1 }
            // Waits until the cloud has recorded the delivery, which would otherwise be repeated after a crash.
            try await Self.wait { try Self.metrics(cloud).contains("\nwelkin_notifications_sent_total 1\n") }
            let first = server.received[0]
            let signature = try Signature(try #require(first.header("authorization")))
            #expect(signature.key == offered["applicationServerKey"] && signature.audience == server.origin)
            #expect(signature.contact == "mailto:operator@example.com")
            #expect(first.firstLine == "POST /push/ada HTTP/1.1" && first.header("urgency") == "high")
            #expect(!String(decoding: first.body, as: UTF8.self).contains("Milk"))
            let payload = try Self.object(try browser.open(first.body))
            #expect((payload["aps"] as? [String: Any])?["alert"] as? String == "A note")
            let query = (payload["ck"] as? [String: Any])?["qry"] as? [String: Any]
            #expect(query?["rid"] as? String == "R1")
            #expect((query?["af"] as? [String: Any])?["title"] as? String == "Milk R1")

            // The service is busy and the cloud is killed; the message still arrives, and the others follow in order.
            server.answer { _ in "503 Busy\r\nRetry-After: 1" }
            try Self.save("R2", as: bob, cloud)
            try await Self.wait { server.received.count >= 2 }
            cloud.kill()
            server.answer { _ in "201 Created" }
            try cloud.restart()
            try Self.save("R3", as: bob, cloud)
            // A message whose answer is lost is sent again, so only first arrivals are compared.
            var records: [String] = []
            try await Self.wait {
                for message in server.received {
                    let payload = try Self.object(try browser.open(message.body))
                    let query = (payload["ck"] as? [String: Any])?["qry"] as? [String: Any]
                    let record = query?["rid"] as? String ?? "?"
                    if !records.contains(record) { records.append(record) }
                }
                return records.last == "R3"
            }
            #expect(records == ["R1", "R2", "R3"])
            let again = try Signature(try #require(server.received.last?.header("authorization")))
            #expect(again.key == signature.key)

            // The browser has unsubscribed.
            server.answer { _ in "410 Gone" }
            try Self.save("R4", as: bob, cloud)
            try await Self.wait {
                try Self.metrics(cloud).contains(#"welkin_push_addresses_removed_total{service="webPush"} 1"#)
            }
        }
    }

    @Test func `a cloud sends to no machine that its operator did not allow, and to none if Web Push is off`()
        async throws
    {
        try await PushServer.run { server in
            let cloud = try CloudProcess(arguments: ["--web-push", "on"])
            defer { cloud.end() }
            let ada = try cloud.signIn(container: Self.container, profile: "ada")
            for endpoint in [server.origin, "https://127.0.0.1:\(server.port)/", "https://localhost/"] {
                let subscription = Browser().subscription(endpoint: endpoint)
                let request = Self.json(
                    ada.devicePath("tokens/create", isUser: true),
                    #"{"push":{"service":"webPush","subscription":\#(subscription)}}"#)
                let answer = try RawExchange(port: cloud.port, connections: 1).ask(request)
                #expect(answer.status == 400)
            }
            #expect(server.received.isEmpty)
        }
        let cloud = try CloudProcess()
        defer { cloud.end() }
        let ada = try cloud.signIn(container: Self.container, profile: "ada")
        let services = try Self.ask(cloud, Self.json(ada.devicePath("tokens/services", isUser: true), "{}"))
        #expect((services["services"] as? [Any])?.isEmpty == true)
        #expect(!FileManager.default.fileExists(atPath: cloud.data + "/web-push-key.pem"))
    }
}
