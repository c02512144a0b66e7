import Crypto
import Foundation
import Testing

@testable import CloudKitClient

/// Signed requests (docs/web-services.md §2.4).
@Suite(.timeLimit(.minutes(20))) struct ServerKeySignerTests {
    private static let target = "/database/1/iCloud.com.example.app/development/public/records/query"

    @Test func `the signed text is the date, the hash of the body and the path`() {
        #expect(
            ServerKeySigner.text(
                date: "2016-01-25T22:15:43Z", body: Array(#"{"query":{"recordType":"Note"}}"#.utf8), target: Self.target
            )
                == "2016-01-25T22:15:43Z:pHA+lOPYejRxN4Iswc9kV8pFFX5glteEnI4oFVFBk9M=:" + Self.target)
    }

    @Test func `the headers are those of a signature that the public key verifies`() throws {
        let key = P256.Signing.PrivateKey()
        let signer = try ServerKeySigner(keyID: "K", pem: key.pemRepresentation)
        let body = Array("{}".utf8)
        let headers = try signer.headers(for: body, to: Self.target, now: 1_453_760_143_999)
        #expect(headers["X-Apple-CloudKit-Request-KeyID"] == "K")
        #expect(headers["X-Apple-CloudKit-Request-ISO8601Date"] == "2016-01-25T22:15:43Z")
        let text = ServerKeySigner.text(date: "2016-01-25T22:15:43Z", body: body, target: Self.target)
        let sent = try #require(headers["X-Apple-CloudKit-Request-SignatureV1"].flatMap { Data(base64Encoded: $0) })
        let signature = try P256.Signing.ECDSASignature(derRepresentation: sent)
        #expect(key.publicKey.isValidSignature(signature, for: Data(text.utf8)))
    }

    @Test func `a file as openssl writes it is read, another one is refused`() throws {
        #expect(throws: CallFailure.self) { try ServerKeySigner(keyID: "K", pem: "no key") }
        let key = P256.Signing.PrivateKey()
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        _ = try ServerKeySigner(keyID: "K", pem: parameters + Self.sec1(of: key))
    }

    /// The private key in the form that `openssl ecparam -genkey` writes: without the public key, which is optional there.
    private static func sec1(of key: P256.Signing.PrivateKey) -> String {
        let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        let point = [0xA1, 0x44, 0x03, 0x42, 0x00] + Array(key.publicKey.x963Representation)
        let content = [0x02, 0x01, 0x01, 0x04, 0x20] + Array(key.rawRepresentation) + curve + point
        let bytes = Data([0x30, UInt8(content.count)] + content)
        return "-----BEGIN EC PRIVATE KEY-----\n"
            + bytes.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            + "\n-----END EC PRIVATE KEY-----\n"
    }
}
