import CloudKitModel
import FaultyNetwork
import Foundation
import ScriptedCloud
import Testing

@testable import CloudKit
@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct CloudCallTests {
    @Test func `A request goes to the databases address with escaped tokens and the SDKs headers`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.findsAll)
        let container = CKContainer.scripted(transport, account: ScriptedAccount(tokens: ["147__54__+/="]))
        _ = try await container.privateCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
        let request = try #require(transport.requests.first)
        #expect(
            request.url.absoluteString
                == "https://cloud.test/database/1/iCloud.com.example.app/development/private/records/lookup"
                + "?ckAPIToken=api&ckWebAuthToken=147__54__%2B%2F%3D")
        #expect(request.headers["X-Welkin-Client"] == "sdk/1")
        #expect(request.headers["X-Welkin-Operation"] != nil)
        #expect(request.method == .post)
        #expect(request.timeout == 60)
    }

    @Test func `B-ACC-09 the token that comes with an answer is kept, also with a refusal`() async throws {
        let headers = ["X-Apple-CloudKit-Web-Auth-Token": "next"]
        let account = ScriptedAccount()
        let transport = ScriptedTransport { _ in .refusal(RequestFailure(.internalError, "x"), headers: headers) }
        let database = CKContainer.scripted(transport, account: account).privateCloudDatabase
        await #expect(throws: CKError.self) { _ = try await database.allRecordZones() }
        #expect(account.kept == ["next"])
    }

    @Test func `A refused token is replaced once and the request sent again`() async throws {
        let transport = ScriptedTransport(
            { _ in .refusal(RequestFailure(.authenticationRequired, "request needs authorization")) },
            ScriptedTransport.findsAll)
        let container = CKContainer.scripted(transport, account: ScriptedAccount(tokens: ["old", "new"]))
        _ = try await container.privateCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
        #expect(transport.requests.map { $0.item("ckWebAuthToken") } == ["old", "new"])
    }

    @Test func `B-ACC-02 an account may be disabled while its token is replaced`() async throws {
        let answers: [ScriptedTransport.Answer] = [
            { _ in .refusal(RequestFailure(.authenticationRequired, "request needs authorization")) },
            { _ in .refusal(RequestFailure(.accountRestricted, "this account is disabled")) },
        ]
        let id = CKRecord.ID(recordName: "a")
        func account() -> ScriptedAccount { ScriptedAccount(tokens: ["old", "new"]) }
        let transport = ScriptedTransport(answers[0], answers[1])
        let error = await #expect(throws: CKError.self) {
            _ = try await CKContainer.scripted(transport, account: account()).privateCloudDatabase.record(for: id)
        }
        #expect(error?.code == .notAuthenticated)
        #expect(transport.requests.map { $0.item("ckWebAuthToken") } == ["old", "new"])
        let reading = ScriptedTransport(answers[0], answers[1], ScriptedTransport.findsAll)
        _ = try await CKContainer.scripted(reading, account: account()).publicCloudDatabase.record(for: id)
        #expect(reading.requests.map { $0.item("ckWebAuthToken") } == ["old", "new", nil])
    }

    @Test func `B-ACC-02 signed out, private and shared requests fail without contact`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.findsAll)
        let container = CKContainer.scripted(transport, account: .signedOut)
        for database in [container.privateCloudDatabase, container.sharedCloudDatabase] {
            let error = await #expect(throws: CKError.self) {
                _ = try await database.record(for: CKRecord.ID(recordName: "a"))
            }
            #expect(error?.code == .notAuthenticated)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func `B-DB-03 signed out, the public database is read and not written`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.findsAll)
        let database = CKContainer.scripted(transport, account: .signedOut).publicCloudDatabase
        _ = try await database.record(for: CKRecord.ID(recordName: "a"))
        #expect(transport.requests.first?.item("ckWebAuthToken") == nil)
        let error = await #expect(throws: CKError.self) { _ = try await database.save(CKRecord(recordType: "Note")) }
        #expect(error?.code == .notAuthenticated)
        #expect(transport.requests.count == 1)
    }

    @Test func `B-THR-03 while a retry-after is running, requests fail without contact`() async throws {
        let clock = ScriptedClock()
        let transport = ScriptedTransport(
            { _ in .refusal(RequestFailure(.throttled, "too many", retryAfter: 30)) }, ScriptedTransport.findsAll)
        let database = CKContainer.scripted(transport, clock: clock).privateCloudDatabase
        let first = await #expect(throws: CKError.self) {
            _ = try await database.record(for: CKRecord.ID(recordName: "a"))
        }
        #expect(first?.code == .serviceUnavailable)
        #expect(first?.retryAfterSeconds == 30)
        clock.advance(by: .seconds(10))
        let second = await #expect(throws: CKError.self) {
            _ = try await database.record(for: CKRecord.ID(recordName: "a"))
        }
        #expect(second?.code == .requestRateLimited)
        #expect(second?.retryAfterSeconds == 20)
        #expect(transport.requests.count == 1)
        clock.advance(by: .seconds(20))
        _ = try await database.record(for: CKRecord.ID(recordName: "a"))
    }

    @Test func `B-OPS-04 discretionary work retries, with the same operation identifier`() async throws {
        let clock = ScriptedClock()
        let transport = ScriptedTransport(
            { _ in throw TransportFailure.connectionLost },
            { _ in .refusal(RequestFailure(.zoneBusy, "busy", retryAfter: 3)) }, ScriptedTransport.findsAll)
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        try await CKContainer.scripted(transport, clock: clock).privateCloudDatabase
            .configuredWith(configuration: configuration) { database in
                _ = try await database.record(for: CKRecord.ID(recordName: "a"))
            }
        #expect(clock.slept == [.milliseconds(500), .seconds(3)])
        #expect(Set(transport.requests.compactMap { $0.headers["X-Welkin-Operation"] }).count == 1)
        #expect(transport.requests.count == 3)
    }

    @Test func `B-OPS-04 a user's work waits for a cloud that starts again, not for one that was never there`()
        async throws
    {
        let clock = ScriptedClock()
        let closed: ScriptedTransport.Answer = { _ in throw TransportFailure.refused }
        let transport = ScriptedTransport(
            closed, ScriptedTransport.findsAll, closed, closed, closed, ScriptedTransport.findsAll)
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .userInitiated
        try await CKContainer.scripted(transport, clock: clock).privateCloudDatabase
            .configuredWith(configuration: configuration) { database in
                let error = await #expect(throws: CKError.self) {
                    try await database.record(for: CKRecord.ID(recordName: "a"))
                }
                #expect(error?.code == .networkUnavailable)
                #expect(clock.slept == [])
                _ = try await database.record(for: CKRecord.ID(recordName: "a"))
                _ = try await database.record(for: CKRecord.ID(recordName: "a"))
            }
        #expect(clock.slept == [.milliseconds(250), .milliseconds(500), .seconds(1)])
    }

    @Test func `B-OPS-04 a user's work waits for each of several restarts in a row`() async throws {
        let clock = ScriptedClock()
        let closed: ScriptedTransport.Answer = { _ in throw TransportFailure.refused }
        let lost: ScriptedTransport.Answer = { _ in throw TransportFailure.answerLost }
        let transport = ScriptedTransport(
            ScriptedTransport.findsAll, lost, closed, closed, closed, lost, closed, closed, lost, lost, lost, closed,
            ScriptedTransport.findsAll)
        let database = CKContainer.scripted(transport, clock: clock).privateCloudDatabase
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .userInitiated
        try await database.configuredWith(configuration: configuration) { database in
            for _ in 0..<2 { _ = try await database.record(for: CKRecord.ID(recordName: "a")) }
        }
        #expect(clock.slept.reduce(.zero, +) > RetryPolicy.failFast.restartPatience)
        #expect(transport.requests.count == 13)
    }

    @Test(arguments: [TransportFailure.unreachable, nil])
    func `B-THR-07 a repeated change that may have taken effect is not reported as one that was never sent`(
        last: TransportFailure?
    ) async throws {
        let transport = ScriptedTransport(
            { _ in throw TransportFailure.answerLost },
            { _ in
                if let last { throw last }
                return .refusal(RequestFailure(.throttled, "too many", retryAfter: 90))
            }, { _ in throw TransportFailure.unreachable })
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        let record = CKRecord(recordType: "Note")
        let error = await #expect(throws: CKError.self) {
            try await CKContainer.scripted(transport, clock: ScriptedClock()).privateCloudDatabase
                .configuredWith(configuration: configuration) { database in
                    _ = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
                        .saveResults[record.recordID]?.get()
                }
        }
        #expect(error?.code == .serverResponseLost)
        #expect(transport.requests.count >= 2)
    }

    @Test(arguments: [TransportFailure.answerLost, .connectionLost])
    func `B-THR-07 a change whose answer was lost is sent again under its identifier`(
        failure: TransportFailure
    ) async throws {
        let header = "X-Welkin-Request"
        let record = CKRecord(recordType: "Note")
        let transport = ScriptedTransport(
            { _ in throw failure },
            { request in
                var answer = TransportResponse.records([
                    .deleted(RecordTombstone(recordName: record.recordID.recordName))
                ])
                answer.headers[header.lowercased()] = request.headers[header]
                return answer
            })
        try await CKContainer.scripted(transport).privateCloudDatabase.deleteRecord(withID: record.recordID)
        let attempts = transport.requests.compactMap { $0.headers[header].flatMap { RequestAttempt($0) } }
        #expect(attempts.map(\.number) == [1, 2])
        #expect(Set(attempts.map(\.id)).count == 1)
    }

    @Test func `B-THR-07 a cloud that does not remember requests leaves the outcome unknown`() async throws {
        let record = CKRecord(recordType: "Note")
        for answer in [
            TransportResponse.records([.deleted(RecordTombstone(recordName: record.recordID.recordName))]),
            .refusal(RequestFailure(.badRequest, "no")),
        ] {
            let transport = ScriptedTransport({ _ in throw TransportFailure.answerLost }, { _ in answer })
            let database = CKContainer.scripted(transport).privateCloudDatabase
            let error = await #expect(throws: CKError.self) {
                _ = try await database.modifyRecords(saving: [record], deleting: [])
            }
            #expect(error?.code == .serverResponseLost)
        }
    }

    @Test(arguments: [
        (TransportFailure.unreachable, CKError.Code.networkUnavailable), (.connectionLost, .networkFailure),
        (.timedOut, .networkFailure), (.notTrusted, .networkFailure), (.answerLost, .serverResponseLost),
    ])
    func `A missing response is reported by its cause`(failure: TransportFailure, code: CKError.Code) async throws {
        let transport = ScriptedTransport { _ in throw failure }
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let error = await #expect(throws: CKError.self) { _ = try await database.save(CKRecord(recordType: "Note")) }
        #expect(error?.code == code)
    }

    @Test func `A page that is no CloudKit answer is an error, not a trap`() async throws {
        for response in [
            TransportResponse(status: 200, body: Array("<html>".utf8)), TransportResponse(status: 200),
            TransportResponse(status: 502, body: Array("<html>".utf8)), .records([]),
        ] {
            let database = CKContainer.scripted(ScriptedTransport { _ in response }).privateCloudDatabase
            await #expect(throws: CKError.self) { _ = try await database.record(for: CKRecord.ID(recordName: "a")) }
        }
    }

    @Test(arguments: [
        "", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Type: appl",
        "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"rec",
        "garbage\r\n\r\n",
    ])
    func `B-THR-07 a server that hangs up within its answer costs the answer, never the process`(
        answer: String
    ) async throws {
        let code = try await RawServer.run { stream, _ in
            guard try await stream.request() != nil else { return }
            try await stream.send(answer)
        } body: { server in
            let container = CKContainer(
                identifier: "iCloud.com.example.app", endpoint: "http://127.0.0.1:\(server.port)",
                account: ScriptedAccount(), transport: HTTPTransport.shared)
            let error = await #expect(throws: CKError.self) {
                _ = try await container.privateCloudDatabase.modifyRecords(
                    saving: [CKRecord(recordType: "Note")], deleting: [])
            }
            return error?.code
        }
        #expect(code == .serverResponseLost)
    }

    @Test func `B-OPS-04 every timeout that an app sets is a valid time`() {
        let timeLimit = [30, 0, -1, .nan, .infinity, 1e300, 0.5].map(HTTPTransport.timeLimit(seconds:))
        let week = Duration.seconds(7 * 86_400)
        #expect(timeLimit == [.seconds(30), .seconds(60), .seconds(60), .seconds(60), week, week, .milliseconds(500)])
    }

    @Test func `With a closed port, a request fails with a network error`() async throws {
        let container = CKContainer(
            identifier: "iCloud.com.example.app", endpoint: "http://127.0.0.1:9", account: ScriptedAccount(),
            transport: HTTPTransport.shared)
        let error = await #expect(throws: CKError.self) {
            _ = try await container.privateCloudDatabase.modifyRecords(
                saving: [CKRecord(recordType: "Note")], deleting: [])
        }
        #expect(error?.code == .networkUnavailable)
    }

    @Test func `A cancelled task ends with operationCancelled`() async throws {
        let transport = ScriptedTransport { _ in
            try await Task.sleep(for: .seconds(60))
            return .records([])
        }
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let task = Task { _ = try await database.allRecordZones() }
        task.cancel()
        let error = await #expect(throws: CKError.self) { _ = try await task.value }
        #expect(error?.code == .operationCancelled)
    }

    @Test func `An operation that takes too long ends at its resource timeout`() async throws {
        let transport = ScriptedTransport { _ in
            try await Task.sleep(for: .seconds(60))
            return .records([])
        }
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForResource = 5
        let error = await #expect(throws: CKError.self) {
            _ = try await CKContainer.scripted(transport).privateCloudDatabase
                .configuredWith(configuration: configuration) { _ = try await $0.allRecordZones() }
        }
        #expect(error?.code == .networkFailure)
    }
}
