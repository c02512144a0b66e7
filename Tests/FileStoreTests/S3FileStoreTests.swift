import FileStore
import Foundation
import HTTPTransfer
import ObjectServer
import Synchronization
import Testing

@testable import FileStoreS3

@Suite("Files in an object store", .timeLimit(.minutes(20)))
struct S3FileStoreTests {
    private struct Death: Error {}

    private static let content = (0..<60).map { UInt8($0) }

    /// Uploads the content in pieces that become four objects and some bytes in memory, then seals it.
    private func upload(to store: S3FileStore) async throws {
        var offset = Int64(try await store.draftLength(of: id(1)) ?? 0)
        while offset < Int64(Self.content.count) {
            // A small object between larger ones, which no part can be copied from.
            let end = min(offset == 18 ? 21 : offset + 9, Int64(Self.content.count))
            try await store.append(Array(Self.content[Int(offset)..<Int(end)]), to: id(1), at: offset)
            offset = end
            if end == 21 { try await store.synchronize(id(1)) }
        }
        try await store.seal(id(1))
    }

    @Test func `a node that dies at any request leaves a whole file or none, and another one goes on`() async throws {
        let clock = Clock()
        var number = 0
        var hasEnded = false
        while !hasEnded {
            number += 1
            let dying = number
            let isDead = Mutex(false)
            for takesEffect in [false, true] {
                isDead.withLock { $0 = false }
                let service = ObjectService(now: { clock.now })
                let first = service.store(clock) { count, request in
                    if isDead.withLock({ $0 }) { throw Death() }
                    guard count == dying else { return try await service.send(request) }
                    isDead.withLock { $0 = true }
                    if takesEffect { _ = try await service.send(request) }
                    throw Death()
                }
                do {
                    try await upload(to: first)
                    // Deletions of what is left of the draft are tried only.
                    hasEnded = !isDead.withLock { $0 }
                } catch is Death {}
                let second = service.store(clock)
                let length = try await second.length(of: id(1))
                #expect(length == nil || length == 60, "request \(dying)")
                if length == nil { try await upload(to: second) }
                #expect(try await second.read(id(1), at: 0, count: 99) == Self.content, "request \(dying)")
                // The sweep sees no draft of a sealed file, and removes what was left of it.
                #expect(try await second.drafts() == [], "request \(dying)")
                #expect(service.keys == ["some/where/" + S3Key.file(id(1))], "request \(dying)")
                #expect(service.uploadCount == 0, "request \(dying)")
                try await second.delete(id(1))
                #expect(service.keys == [])
            }
        }
        #expect(number > 15)
    }

    @Test func `failures that pass are not seen, with their effect or without`() async throws {
        let clock = Clock()
        for fault in [.refused(503, "SlowDown"), .refused(500, "InternalError"), .lostBefore, .lostAfter]
            as [ObjectService.Fault]
        {
            let service = ObjectService(now: { clock.now }, fault: { number, _ in number % 3 == 0 ? nil : fault })
            let store = service.store(clock)
            try await upload(to: store)
            #expect(try await store.read(id(1), at: 0, count: 99) == Self.content, "\(fault)")
            try await store.delete(id(1))
            #expect(service.keys == [], "\(fault)")
        }
    }

    @Test func `pauses between attempts grow, and there are five of them`() async throws {
        let pauses = Mutex<[Duration]>([])
        let store = S3FileStore(
            try S3Place("s3://files"), settings: try settings(),
            connection: S3FileStore.Connection(
                now: { 0 }, sleep: { pause in pauses.withLock { $0.append(pause) } }, random: { 50 },
                send: { _ in throw HTTPClient.Failure(.unreachable, reason: "Connection refused") }))
        do {
            try await store.check()
            Issue.record("no error")
        } catch let error as FileStoreError {
            #expect(error.code == .unavailable && error.detail.contains("127.0.0.1:1"), "\(error)")
        }
        #expect(pauses.withLock { $0 } == [150, 300, 600, 1200, 2400].map { .milliseconds($0) })
    }

    @Test(arguments: [
        (403, "SignatureDoesNotMatch", FileStoreError.Code.unavailable, "secret key"),
        (403, "InvalidAccessKeyId", .unavailable, "access key"), (403, "RequestTimeTooSkewed", .unavailable, "clock"),
        (404, "NoSuchBucket", .unavailable, "bucket"), (301, "PermanentRedirect", .unavailable, "region"),
        (507, "", .diskFull, "quota"),
    ])
    func `an error says what to do and has no keys`(
        _ status: Int, _ word: String, _ code: FileStoreError.Code, _ hint: String
    ) async throws {
        let clock = Clock()
        let service = ObjectService(now: { clock.now }, fault: { _, _ in .refused(status, word) })
        let store = service.store(clock)
        do {
            try await store.check()
            Issue.record("no error")
        } catch let error as FileStoreError {
            #expect(error.code == code && error.detail.contains(hint), "\(error)")
            #expect(!"\(error)".contains("hidden"))
        }
        #expect(service.requestCount == 1)
        let settings = try settings()
        #expect(!"\(settings)".contains("hidden") && !String(reflecting: settings).contains("hidden"))
    }

    @Test func `a file that a service lists late is sealed with all of its bytes`() async throws {
        let clock = Clock()
        let service = ObjectService(now: { clock.now })
        try await service.store(clock).append(Array(Self.content[..<20]), to: id(1), at: 0)
        let store = service.store(clock)
        try await store.append(Array(Self.content[20..<40]), to: id(1), at: 20)
        try await store.synchronize(id(1))
        service.hideFromLists { $0.hasSuffix("14") || $0.hasSuffix("00") }
        #expect(try await service.store(clock).draftLength(of: id(1)) == 40)
        try await service.store(clock).seal(id(1))
        #expect(try await store.read(id(1), at: 0, count: 99) == Array(Self.content[..<40]))
    }

    @Test func `large objects are put together by the service, and a small file is one request`() async throws {
        let clock = Clock()
        let service = ObjectService(now: { clock.now })
        let store = service.store(clock)
        try await upload(to: store)
        let bytesRead = service.log.filter { $0.hasPrefix("GET some/where/drafts") }
        #expect(bytesRead.count == 2, "only the small object and the next are read: \(service.log)")
        let before = service.requestCount
        try await store.append([1, 2], to: id(2), at: 0)
        try await store.seal(id(2))
        // Is it there, is there a draft, put.
        #expect(service.log.suffix(service.requestCount - before).filter { $0.hasPrefix("PUT") }.count == 1)
    }

    @Test func `a file that a service put together wrongly is not acknowledged`() async throws {
        let clock = Clock()
        let service = ObjectService(now: { clock.now })
        let store = service.store(clock) { _, request in
            let answer = try await service.send(request)
            if request.url.contains("uploadId"), request.method == "POST" {
                service.replace("some/where/" + S3Key.file(id(1)), [1])
            }
            return answer
        }
        await expect(.damaged) { try await upload(to: store) }
    }

    @Test func `an answer of another form is an error`() async throws {
        for body in [
            "", "<html>", "<a><b></a>", "<!DOCTYPE x><ListBucketResult/>", "<Other></Other>",
            "<ListBucketResult><Contents></Contents></ListBucketResult>",
        ] {
            let store = S3FileStore(
                try S3Place("s3://files"), settings: try settings(),
                connection: S3FileStore.Connection(
                    now: { 0 }, sleep: { _ in },
                    send: { _ in HTTPClient.Answer(status: 200, headers: [:], body: Array(body.utf8)) }))
            await expect(.unavailable) { _ = try await store.files(inFolder: 1) }
        }
    }

    @Test(.enabled(if: ObjectServer.missing == nil, "OpenStack Swift is not installed"))
    func `a URL of the service gives a file to anyone, and nothing else`() async throws {
        let server = try await ObjectServer.shared()
        let store = try server.store(prefix: UUID().uuidString, isPublic: true)
        let id = try #require(FileID(bytes: [UInt8](repeating: 7, count: 20)))
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try await store.append(bytes, to: id, at: 0)
        try await store.seal(id)
        let url = try #require(store.directURL(of: id))
        let client = HTTPClient()
        func get(_ url: String, _ headers: [String: String] = [:]) async throws -> HTTPClient.Answer {
            try await client.send(
                HTTPClient.Request(
                    method: "GET", url: url, headers: headers, timeLimit: .seconds(60), isRepeatable: true,
                    answerBytesMax: 10_000))
        }
        let whole = try await get(url)
        #expect(whole.status == 200)
        #expect(whole.body == bytes)
        #expect(whole.headers["content-disposition"] == "attachment")
        let part = try await get(url, ["Range": "bytes=10-19"])
        #expect(part.status == 206)
        #expect(part.body == Array(bytes[10..<20]))
        #expect(part.headers["content-range"] == "bytes 10-19/1000")
        #expect(try await get(url.replacing("X-Amz-Expires=300", with: "X-Amz-Expires=301")).status == 403)
        #expect(try await get(url.replacing(id.name, with: String(id.name.reversed()) + "0")).status == 403)
        #expect(try server.store(prefix: "x").directURL(of: id) == nil, "no address for devices is named")
    }

    @Test func `places and settings that cannot be used are refused`() throws {
        #expect(try S3Place("s3://files/a/b/").prefix == "a/b/")
        #expect(try S3Place("s3://files").description == "s3://files")
        for text in [
            "s3://", "s3://a", "s3://Files", "s3://files/../x", "s3://files//x", "s3://files/ä", "/files",
            "s3://files/a?b",
        ] {
            #expect(throws: FileStoreError.self, "\(text)") { try S3Place(text) }
        }
        for (endpoint, isUsable) in [
            ("https://s3.example.com", true), ("https://s3.example.com:9000/", true), ("http://127.0.0.1:9", true),
            ("http://s3.example.com", false), ("ftp://x", false), ("https://u:p@host", false),
            ("https://host/path", false),
        ] {
            let settings = try? S3Settings(endpoint: endpoint, region: nil, accessKey: "A", secretKey: "B")
            #expect((settings != nil) == isUsable, "\(endpoint)")
        }
        #expect(throws: FileStoreError.self) {
            try S3Settings(
                endpoint: nil, publicEndpoint: "http://files.example.com", region: nil, accessKey: "A", secretKey: "B")
        }
        #expect(throws: FileStoreError.self) {
            try S3Settings(endpoint: nil, region: nil, accessKey: nil, secretKey: "B")
        }
        #expect(
            try S3Settings(endpoint: "https://A.example:443", region: nil, accessKey: "A", secretKey: "B").host
                == "a.example")
    }

    @Test func `times are read and written`() {
        #expect(S3Time("2013-05-24T00:00:00.000Z")?.milliseconds == 1_369_353_600_000)
        #expect(S3Time("2024-02-29T23:59:59Z").map { "\($0.stamp)" } == "20240229T235959Z")
        #expect(S3Time("2000-03-01T00:00:00.5Z")?.milliseconds == 951_868_800_500)
        #expect(S3Time(milliseconds: 1_369_353_600_000).stamp == "20130524T000000Z")
        #expect(S3Time(milliseconds: -1).stamp == "19691231T235959Z")
        for text in ["", "2013-05-24", "yesterday, at about noonZ", "2013-13-24T00:00:00Z"] {
            #expect(S3Time(text) == nil)
        }
    }

    private func settings() throws -> S3Settings {
        try S3Settings(endpoint: "http://127.0.0.1:1", region: nil, accessKey: "A", secretKey: "hidden")
    }
}

extension ObjectService {
    /// Files in this service, through a connection of the test's own.
    fileprivate func store(
        _ clock: Clock, send: @escaping @Sendable (Int, HTTPClient.Request) async throws -> HTTPClient.Answer
    ) -> S3FileStore {
        var sizes = S3FileStore.Sizes()
        (sizes.segmentBytes, sizes.partBytesMin) = (8, 5)
        let count = RequestCount()
        return S3FileStore(
            try! S3Place("s3://files/some/where"),  // A place that is one.
            settings: try! S3Settings(endpoint: "http://127.0.0.1:1", region: nil, accessKey: "A", secretKey: "hidden"),
            connection: S3FileStore.Connection(
                now: { clock.now }, sleep: { _ in }, random: { 0 }, send: { try await send(count.next(), $0) }),
            sizes: sizes)
    }
}

private final class RequestCount: Sendable {
    private let held = Mutex(0)

    func next() -> Int {
        held.withLock { held in
            held += 1
            return held
        }
    }
}
