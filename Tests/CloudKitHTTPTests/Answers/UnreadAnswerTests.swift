import Foundation
import Synchronization
import Testing

@testable import CloudKitHTTP

/// Answers that clients do not read.
@Suite(.timeLimit(.minutes(20))) struct UnreadAnswerTests {
    private static let lookup =
        #"{"zoneID":{"zoneName":"_defaultZone"},"records":["#
        + (0..<5).map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ",") + "]}"

    /// Saves five records of 900,000 bytes each, which one answer does not hold.
    private func fill(_ cloud: TestCloud, _ tokens: TestCloud.Tokens) async throws {
        let text = String(repeating: "A", count: 900_000)
        for number in 0..<5 {
            let answer = try await cloud.client.post(
                TestCloud.target("records/modify", "private", tokens),
                #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"r\#(number)","#
                    + #""recordType":"Large","fields":{"data":{"value":"\#(text)","type":"BYTES"}}}}]}"#)
            #expect(answer.status == 200)
        }
    }

    private let rate = MinimumTransferRate()

    private var configuration: CloudConfiguration {
        // One sender may hold 10 MiB: two unread answers and the reservation of a third are more.
        CloudConfiguration(port: 0, answersBytesMax: 20 << 20, minimumTransferRate: rate)
    }

    /// Pauses of the budget end at once: a request that finds no space is refused at once.
    private static let impatient: @Sendable (Duration) async throws -> Void = { duration in
        if duration != .seconds(10) { try await Task.sleep(for: duration) }
    }

    @Test func `answers that are not read hold what they reserved, and others are refused`() async throws {
        try await TestCloud.run(configuration, rest: Self.impatient) { cloud in
            let tokens = try await cloud.signIn()
            try await fill(cloud, tokens)
            let target = TestCloud.target("records/lookup", "private", tokens)
            let first = try await cloud.client.post(target, Self.lookup)
            #expect(first.status == 200)
            #expect(first.body.utf8.count < 5 << 20)
            #expect(first["records", "4", "serverErrorCode"] as? String == "TRY_AGAIN_LATER")
            #expect(first["records", "4", "retryAfter"] as? Int == 0)

            let (unread, refused) = try await fillBudget(cloud, target)
            #expect(refused?.status == 503)
            #expect(refused?.headers["retry-after"] == "2")
            #expect(try await cloud.client.get("/health").status == 200)
            let other = try await cloud.signIn(email: "bob@example.com")
            let saved = try await cloud.client.post(
                TestCloud.target("records/modify", "private", other),
                #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"s","recordType":"S"}}]}"#)
            #expect(saved.status == 200)
            for connection in unread { connection.close() }
            try await expectSpace(cloud, target)
        }
    }

    @Test func `an answer that is read too slowly is ended`() async throws {
        let clock = ManualClock(.now)
        let time = { @Sendable in clock.now }
        try await TestCloud.run(configuration, rest: Self.impatient, connectionTime: time) { cloud in
            let tokens = try await cloud.signIn()
            try await fill(cloud, tokens)
            let target = TestCloud.target("records/lookup", "private", tokens)
            let (unread, refused) = try await fillBudget(cloud, target)
            defer { for connection in unread { connection.close() } }
            #expect(refused?.status == 503)
            // Between requests: none of these is too slow.
            try await expectSpace(cloud, target) { clock.advance(by: rate.interval) }
        }
    }

    @Test func `a cloud that stops does not wait for a client that does not read its answer`() async throws {
        let clock = SteppingClock(by: rate.interval)
        let unread = Mutex<[UnreadConnection]>([])
        defer { for connection in unread.withLock(\.self) { connection.close() } }
        try await TestCloud.run(configuration, rest: Self.impatient, connectionTime: clock.look) { cloud in
            let tokens = try await cloud.signIn()
            try await fill(cloud, tokens)
            let filled = try await fillBudget(cloud, TestCloud.target("records/lookup", "private", tokens))
            unread.withLock { $0 = filled.unread }
            clock.start()
        }
    }

    /// Opens connections that do not read their answers until a further request is refused.
    private func fillBudget(
        _ cloud: TestCloud, _ target: String
    ) async throws -> (unread: [UnreadConnection], refused: RawClient.Answer?) {
        var unread: [UnreadConnection] = []
        let request = RawClient.request("POST", target, body: Self.lookup)
        for _ in 0..<20 {
            unread.append(
                try await UnreadConnection(
                    port: cloud.client.port, request: Array([request, request, request, request].joined())))
            let answer = try await cloud.client.post(target, Self.lookup)
            if answer.status != 200 { return (unread, answer) }
        }
        return (unread, nil)
    }

    /// Expects that the space of answers that ended is given back, once the cloud has noticed their end.
    ///
    /// - Parameter pass: Lets time pass between requests.
    private func expectSpace(_ cloud: TestCloud, _ target: String, passing pass: () -> Void = {}) async throws {
        while try await cloud.client.post(target, Self.lookup).status != 200 {
            try Task.checkCancellation()
            pass()
        }
    }
}
