import CloudKitModel
import CloudKitServer
import SeededChance
import Testing

@testable import CloudKitHTTP

/// Files that arrive as a part of `multipart/form-data`, as browsers and some clients of the web services send them.
@Suite(.timeLimit(.minutes(20))) struct MultipartUploadTests {
    private static func body(_ content: String, boundary: String = "b0undary") -> String {
        """
        --\(boundary)\r
        Content-Disposition: form-data; name="comment"\r
        \r
        not the file\r
        --\(boundary)\r
        Content-Disposition: form-data; name="files"; filename="photo.jpg"\r
        Content-Type: image/jpeg\r
        \r
        \(content)\r
        --\(boundary)--\r

        """
    }

    @Test func `the part of the file is stored, its checksum and size are those of the file`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let content = String(repeating: "--b0undar\r\n--b0", count: 40_000)
            let plain = try await cloud.client.post(try await cloud.uploadURL(tokens), content)
            let wrapped = try await cloud.client.post(
                try await cloud.uploadURL(tokens), Self.body(content),
                headers: ["Content-Type": #"multipart/form-data; boundary="b0undary""#])
            #expect(wrapped.status == 200)
            #expect(wrapped["singleFile", "size"] as? Int == content.utf8.count)
            let checksum = wrapped["singleFile", "fileChecksum"] as? String
            #expect(checksum != nil && checksum == plain["singleFile", "fileChecksum"] as? String)
            _ = try await cloud.save(wrapped.body, tokens)
            let looked = try await cloud.client.post(
                TestCloud.target("records/lookup", "private", tokens), #"{"records":[{"recordName":"R"}]}"#)
            #expect(try await cloud.client.get(try looked.downloadTarget()).body == content)
        }
    }

    @Test func `a body without a file, without its end or without a boundary is refused`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            func post(_ body: String, type: String = "multipart/form-data; boundary=b") async throws -> Int {
                let url = try await cloud.uploadURL(tokens)
                return try await cloud.client.post(url, body, headers: ["Content-Type": type]).status
            }
            let form = Self.body("content", boundary: "b")
            #expect(try await post(form) == 200)
            #expect(try await post(String(form.prefix(form.count - 9))) == 400)
            #expect(try await post(form.replacing("filename", with: "title")) == 400)
            #expect(try await post(form, type: "multipart/form-data") == 400)
            #expect(try await post("content") == 400)
            #expect(try await post("--b\r\n" + String(repeating: "x", count: 20_000)) == 400)
        }
    }

    @Test func `a body gives the same file however it is cut`() throws {
        var random = SplitMix64(seed: 15)
        for content in ["", "\r\n", "--b", "\r\n--", "\r\n--c", String(repeating: "\r\n--", count: 50)] {
            let bytes = Array(Self.body(content, boundary: "b").utf8)
            for _ in 0..<50 {
                var reader = try #require(try MultipartFileBody(contentType: "Multipart/Form-Data;boundary=b"))
                var file: [UInt8] = []
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = Int.random(in: 1...12, using: &random)
                    file += try reader.take(Array(rest.prefix(count)))
                    rest = rest.dropFirst(count)
                }
                try reader.finish()
                #expect(String(decoding: file, as: UTF8.self) == content)
            }
        }
        for type in ["image/jpeg", nil] {
            let reader = try MultipartFileBody(contentType: type)
            #expect(reader == nil)
        }
    }
}
