import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import FileStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct AssetTransferTests {
    static let content = String(repeating: "The quick brown fox. ", count: 5000)

    @Test func `web services upload, save and download a file`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let url = try await cloud.uploadURL(tokens)
            // No header names the uploader, and the type is that of the client's library.
            let uploaded = try await cloud.client.post(
                url, Self.content, headers: ["Content-Type": "application/x-www-form-urlencoded"])
            #expect(uploaded.status == 200)
            #expect(uploaded["singleFile", "size"] as? Int == Self.content.utf8.count)
            #expect(uploaded["singleFile", "wrappingKey"] == nil)
            let saved = try await cloud.save(uploaded.body, tokens)
            #expect(saved["records", "0", "fields", "photo", "type"] as? String == "ASSETID")
            #expect(saved["records", "0", "fields", "photo", "value", "receipt"] == nil)
            #expect(saved["records", "0", "fields", "photo", "value", "fileID"] == nil)
            #expect(saved["records", "0", "fields", "photo", "value", "wrappingKey"] as? String == "opaque")

            let looked = try await cloud.client.post(
                TestCloud.target("records/lookup", "private", tokens), #"{"records":[{"recordName":"R"}]}"#)
            let target = try looked.downloadTarget()
            #expect(target.hasSuffix("/${f}"))
            // The four characters stay as they are, or percent-encoded, or become a name.
            for path in [
                target, target.replacing("${f}", with: "%24%7Bf%7D"), target.replacing("${f}", with: "My%20photo.png"),
            ] {
                let file = try await cloud.client.get(path)
                #expect(file.status == 200)
                #expect(file.body == Self.content)
                #expect(file.headers["content-type"] == "application/octet-stream")
                #expect(file.headers["content-disposition"] == "attachment")
                #expect(file.headers["x-content-type-options"] == "nosniff")
                #expect(file.headers["content-security-policy"]?.hasPrefix("sandbox") == true)
            }
            let head = try await cloud.head(target)
            #expect(head.headers["content-length"] == "\(Self.content.utf8.count)")
        }
    }

    @Test func `a client that can is led to the object store for a file`() async throws {
        let place: @Sendable (FileID) -> String? = { "https://files.example.com/\($0.name)?X-Amz-Signature=0" }
        try await TestCloud.run(directURL: place) { cloud in
            let tokens = try await cloud.signIn()
            let target = try await cloud.storedFile("0123456789", tokens)
            let asked = ["X-Welkin-Direct-Download": "yes", "Range": "bytes=2-4"]
            let led = try await cloud.client.get(target, headers: asked)
            #expect(led.status == 307)
            #expect(led.body == "")
            #expect(led.headers["location"]?.hasPrefix("https://files.example.com/") == true)
            #expect(led.headers["cache-control"] == "no-store")
            #expect(try await cloud.client.get(target, headers: ["Range": "bytes=2-4"]).body == "234")
            #expect(try await cloud.head(target).status == 200)
            let foreign = target.replacing("/assets/file/", with: "/assets/file/A")
            #expect(try await cloud.client.get(foreign, headers: asked).status == 403)
        }
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let target = try await cloud.storedFile("0123456789", tokens)
            let answer = try await cloud.client.get(target, headers: ["X-Welkin-Direct-Download": "yes"])
            #expect(answer.body == "0123456789", "files are nowhere else")
        }
    }

    @Test func `a range, a tag and a condition are answered`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let target = try await cloud.storedFile("0123456789", tokens)
            func get(_ headers: [String: String]) async throws -> RawClient.Answer {
                try await cloud.client.get(target, headers: headers)
            }
            let part = try await get(["Range": "bytes=2-4"])
            #expect(part.status == 206)
            #expect(part.body == "234")
            #expect(part.headers["content-range"] == "bytes 2-4/10")
            #expect(try await get(["Range": "bytes=7-"]).body == "789")
            #expect(try await get(["Range": "bytes=-2"]).body == "89")
            #expect(try await get(["Range": "bytes=8-99"]).body == "89")
            #expect(try await get(["Range": "bytes=1-2,4-5"]).status == 200)
            #expect(try await get(["Range": "lines=1-2"]).status == 200)
            let beyond = try await get(["Range": "bytes=10-"])
            #expect(beyond.status == 416)
            #expect(beyond.headers["content-range"] == "bytes */10")
            let tag = try #require(part.headers["etag"])
            #expect(try await get(["Range": "bytes=2-4", "If-Range": tag]).status == 206)
            #expect(try await get(["Range": "bytes=2-4", "If-Range": "\"other\""]).status == 200)
            let known = try await get(["If-None-Match": tag])
            #expect(known.status == 304)
            #expect(known.body == "")
        }
    }

    @Test(arguments: [
        ("bytes=0-0", 10, ByteRangeCase.part(0, 1)), ("bytes=0-", 0, .unsatisfiable), ("bytes=-0", 10, .unsatisfiable),
        ("bytes=-20", 10, .part(0, 10)), ("bytes=5-2", 10, .whole), ("bytes=-", 10, .whole), ("bytes=a-b", 10, .whole),
        ("bytes=99999999999999999999-", 10, .unsatisfiable), ("bytes=3-99999999999999999999", 10, .part(3, 10)),
    ])
    func `ranges at their edges`(_ header: String, _ size: Int64, _ expected: ByteRangeCase) async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let target = try await cloud.storedFile(String(repeating: "x", count: Int(size)), tokens)
            let answer = try await cloud.client.get(target, headers: ["Range": header])
            switch expected {
            case .whole: #expect(answer.status == 200)
            case .unsatisfiable: #expect(answer.status == 416)
            case .part(let from, let to):
                #expect(answer.status == 206)
                #expect(answer.headers["content-range"] == "bytes \(from)-\(to - 1)/\(size)")
                #expect(answer.body.utf8.count == to - from)
            }
        }
    }

    @Test func `pieces go on where an upload broke off, and may be repeated`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let url = try await cloud.uploadURL(tokens)
            #expect(try await cloud.head(url).headers["upload-offset"] == "0")
            func patch(_ body: String, at offset: Int) async throws -> RawClient.Answer {
                try await cloud.client.send(
                    "PATCH", url, body: body, headers: ["Upload-Offset": "\(offset)", "Upload-Length": "11"])
            }
            let first = try await patch("hello", at: 0)
            #expect(first.status == 204)
            #expect(first.headers["upload-offset"] == "5")
            let hole = try await patch("ld", at: 9)
            #expect(hole.status == 409)
            #expect(hole.headers["upload-offset"] == "5")
            #expect(try await patch("hello", at: 0).headers["upload-offset"] == "5")
            // A client that disappears in the middle of a piece: the received bytes are kept.
            let broken = RawClient.request(
                "PATCH", url, body: " w", headers: ["Upload-Offset": "5", "Upload-Length": "11"])
            let shown = String(decoding: broken, as: UTF8.self).replacing(
                "Content-Length: 2", with: "Content-Length: 6")
            _ = try await cloud.client.exchange([Array(shown.utf8)], hangsUp: true)
            var offset = ""
            while offset != "7" { offset = try await cloud.head(url).headers["upload-offset"] ?? "" }
            let last = try await patch("orld", at: 7)
            #expect(last.status == 200)
            #expect(last["singleFile", "fileChecksum"] as? String == "AfmD7UtOGIItmXHUm5CO1yik4vxv")
            let done = try await cloud.head(url)
            #expect(done.headers["upload-offset"] == "11")
            #expect(done.headers["upload-complete"] == "?1")
            #expect(try await patch("", at: 11).status == 200)
            #expect(try await cloud.save(last.body, tokens)["records", "0", "recordName"] as? String == "R")
            #expect(try await cloud.client.send("PATCH", url, body: "x").status == 400)
        }
    }

    @Test func `an upload that breaks off leaves nothing`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let url = try await cloud.uploadURL(tokens)
            let request = String(decoding: RawClient.request("POST", url, body: "half"), as: UTF8.self)
                .replacing("Content-Length: 4", with: "Content-Length: 8")
            _ = try await cloud.client.exchange([Array(request.utf8)], hangsUp: true)
            while try await !cloud.files.drafts().isEmpty { await Task.yield() }
            #expect(try await cloud.client.post(url, "whole file").status == 200)
        }
    }

    @Test func `a URL that is forged, changed or too old is worth nothing`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let url = try await cloud.uploadURL(tokens)
            let target = try await cloud.storedFile("secret", tokens)
            for path in ["/assets/file/AAAA/x", "/assets/file/" + url.dropFirst("/assets/upload/".count) + "/x"] {
                let answer = try await cloud.client.get(path)
                #expect(answer.status == 403)
                #expect(answer["serverErrorCode"] as? String == "ACCESS_DENIED")
            }
            let changed = target.replacing("/${f}", with: "A/${f}")
            #expect(try await cloud.client.get(changed).status == 403)
            #expect(try await cloud.client.post("/assets/upload/AAAA", "x").status == 403)
            let downloadAsUpload = target.replacing("/assets/file/", with: "/assets/upload/").replacing(
                "/${f}", with: "")
            #expect(try await cloud.client.post(downloadAsUpload, "x").status == 403)
            #expect(try await cloud.client.get("/assets/other").status == 404)
            #expect(try await cloud.client.get(url).status == 405)
            cloud.clock.advance(15 * 60_000)
            #expect(try await cloud.client.post(url, "x").status == 403)
            #expect(try await cloud.client.get(target).status == 200)
            cloud.clock.advance(6 * 3_600_000)
            #expect(try await cloud.client.get(target).status == 403)
        }
    }

    @Test func `another user can neither save an upload nor find its URL`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.signIn()
            let bob = try await cloud.signIn(email: "bob@example.com")
            let uploaded = try await cloud.client.post(try await cloud.uploadURL(ada), "Ada's")
            let stolen = try await cloud.save(uploaded.body, bob)
            #expect(stolen["records", "0", "serverErrorCode"] as? String == "BAD_REQUEST")
            #expect(stolen["records", "0", "reason"] as? String == "invalid asset receipt")
            let looked = try await cloud.client.post(
                TestCloud.target("records/lookup", "private", bob), #"{"records":[{"recordName":"R"}]}"#)
            #expect(looked["records", "0", "serverErrorCode"] as? String == "NOT_FOUND")
        }
    }

    @Test func `a file that is too large or does not fit is refused with words`() async throws {
        try await TestCloud.run(filesBytesMax: 100) { cloud in
            let tokens = try await cloud.signIn()
            let full = try await cloud.client.post(
                try await cloud.uploadURL(tokens), String(repeating: "x", count: 200))
            #expect(full.status == 503)
            #expect(full.headers["retry-after"] != nil)
            let url = try await cloud.uploadURL(tokens)
            let large = try await cloud.client.send(
                "PATCH", url, body: "x", headers: ["Upload-Offset": "0", "Upload-Length": "\(51 * 1_048_576)"])
            #expect(large.status == 400)
            #expect(large["reason"] as? String == "asset too large: it can have 52428800 bytes")
        }
    }

    @Test func `pages of other origins may upload and download`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let url = try await cloud.uploadURL(tokens)
            let origin = ["Origin": "https://app.example.com"]
            let asked = try await cloud.client.send("OPTIONS", url, headers: origin)
            #expect(asked.status == 204)
            #expect(asked.headers["access-control-allow-origin"] == "https://app.example.com")
            #expect(asked.headers["access-control-allow-methods"]?.contains("PATCH") == true)
            #expect(asked.headers["access-control-allow-headers"]?.contains("upload-offset") == true)
            let posted = try await cloud.client.post(url, "x", headers: origin)
            #expect(posted.headers["access-control-allow-origin"] == "https://app.example.com")
            let target = try await cloud.storedFile("x", tokens)
            let file = try await cloud.client.get(target, headers: origin)
            #expect(file.headers["access-control-allow-origin"] == "https://app.example.com")
            #expect(file.headers["access-control-expose-headers"]?.contains("ETag") == true)
        }
    }

    @Test func `a client that stops sending is cut off`() async throws {
        let rate = MinimumTransferRate(bytesMin: 100, interval: .milliseconds(50))
        let configuration = CloudConfiguration(port: 0, minimumTransferRate: rate)
        let clock = SteppingClock(by: rate.interval)
        try await TestCloud.run(configuration, connectionTime: clock.look) { cloud in
            let url = try await cloud.uploadURL(try await cloud.signIn())
            clock.start()
            let request = String(decoding: RawClient.request("POST", url, body: "half"), as: UTF8.self)
                .replacing("Content-Length: 4", with: "Content-Length: 8")
            let answers = try await cloud.client.exchange([Array(request.utf8)])
            #expect(answers.first?.status == 408)
            #expect(try await cloud.files.drafts() == [])
        }
    }

    @Test func `metrics count files and bytes, and the log has no token`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let target = try await cloud.storedFile("0123456789", tokens)
            _ = try await cloud.client.get(target)
            var page = ""
            while !page.contains("welkin_asset_sent_bytes_total 10") {
                page = try await cloud.client.get("/metrics").body
            }
            #expect(page.contains("welkin_asset_received_bytes_total 10"))
            #expect(page.contains("welkin_assets_uploaded_total 1"))
            #expect(page.contains(#"welkin_requests_total{endpoint="asset/upload",status="200"} 1"#))
            let token = target.split(separator: "/")[2]
            #expect(!cloud.log.lines.contains { $0.metadata.values.contains { $0.contains(token) } })
        }
    }

    @Test func `rereference gives receipts by item`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            _ = try await cloud.storedFile("0123456789", tokens)
            let answer = try await cloud.client.post(
                TestCloud.target("assets/rereference", "private", tokens),
                #"{"assets":[{"recordName":"R","fieldName":"photo"},{"recordName":"S","fieldName":"photo"}]}"#)
            #expect(answer["assets", "0", "size"] as? Int == 10)
            #expect(answer["assets", "0", "receipt"] as? String != nil)
            #expect(answer["assets", "0", "wrappingKey"] as? String == "opaque")
            #expect(answer["assets", "1", "serverErrorCode"] as? String == "NOT_FOUND")
        }
    }
}

enum ByteRangeCase: Sendable {
    case whole, unsatisfiable
    case part(Int, Int)
}

extension TestCloud {
    func head(_ target: String) async throws -> RawClient.Answer {
        try await client.send("HEAD", target)
    }

    /// The request target that takes a file for field `photo` of note `R`.
    func uploadURL(_ tokens: Tokens) async throws -> String {
        let answer = try await client.post(
            Self.target("assets/upload", "private", tokens),
            #"{"tokens":[{"recordType":"Note","recordName":"R","fieldName":"photo"}]}"#)
        return try RawClient.Answer.target(answer["tokens", "0", "url"])
    }

    /// Saves the answer of an upload as the photo of note `R`.
    func save(_ uploadAnswer: String, _ tokens: Tokens) async throws -> RawClient.Answer {
        let value = uploadAnswer.dropFirst(#"{"singleFile":{"#.utf8.count).dropLast(2)
        return try await client.post(
            Self.target("records/modify", "private", tokens),
            #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"R","recordType":"Note","#
                + #""fields":{"photo":{"value":{"wrappingKey":"opaque",\#(value)}}}}}]}"#)
    }

    /// Stores a file; the request target of its download.
    func storedFile(_ content: String, _ tokens: Tokens) async throws -> String {
        let uploaded = try await client.post(try await uploadURL(tokens), content)
        return try await save(uploaded.body, tokens).downloadTarget()
    }
}

extension RawClient.Answer {
    func downloadTarget() throws -> String {
        try Self.target(self["records", "0", "fields", "photo", "value", "downloadURL"])
    }

    /// The path of a URL of this cloud.
    static func target(_ url: Any?) throws -> String {
        guard let url = url as? String, let start = url.range(of: "/assets/") else { throw ClientError.noAnswer }
        return String(url[start.lowerBound...])
    }
}
