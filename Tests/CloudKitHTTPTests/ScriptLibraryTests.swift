import Crypto
import Foundation
import Testing

/// The scripts that pages of any origin load.
@Suite(.timeLimit(.minutes(20))) struct ScriptLibraryTests {
    private struct Line: Decodable {
        var path: String
        var integrity: String
    }

    @Test func `each script is served under its version and under its hash, to pages of every origin`() async throws {
        try await TestCloud.run { cloud in
            let list = try await cloud.client.get("/welkin/1/integrity.json")
            let lines = try JSONDecoder().decode([String: Line].self, from: Data(list.body.utf8))
            #expect(
                lines.keys.sorted() == [
                    "account-approval.js", "account-archive.js", "account-databases.js", "account-devices.js",
                    "account.js", "key-approval.js", "page-elements.js", "passkeys.js", "provider.js",
                    "recovery-words.js", "share-viewer.js",
                    "welkin-encryption.js", "welkin.js",
                ])
            let landing = try await cloud.client.get("/").body
            for (name, line) in lines {
                for path in [line.path, "/welkin/1/" + name] {
                    let script = try await cloud.client.get(path, headers: ["Origin": "https://app.example.com"])
                    #expect(script.headers["content-type"] == "text/javascript; charset=UTF-8")
                    #expect(script.headers["access-control-allow-origin"] == "*")
                    #expect(script.headers["cross-origin-resource-policy"] == "cross-origin")
                    let isForever = script.headers["cache-control"]?.contains("immutable") == true
                    #expect(isForever == (path == line.path))
                    let digest = Data(SHA256.hash(data: Data(script.body.utf8))).base64EncodedString()
                    #expect(line.integrity == "sha256-" + digest)
                }
                if name.hasPrefix("welkin") { #expect(landing.contains(line.integrity)) }
            }
            for wrong in [
                "/welkin/1-0000000000000000/welkin.js", "/welkin/2/welkin.js", "/welkin/1/other.js", "/welkin/",
            ] {
                #expect(try await cloud.client.get(wrong).status == 404)
            }
        }
    }
}
