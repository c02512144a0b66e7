import CloudUnderTest
import Foundation

/// A person who signs up and signs in, each from an address of their own, because sign-ups of one address are limited.
struct Newcomer {
    /// Distinguishes people of one cloud.
    let number: Int
    /// A user of the app, whose token the requests have.
    let app: SignedInUser

    private var email: String { "person\(number)@example.com" }
    private var proof: String {
        Data((0..<32).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) }).base64EncodedString()
    }
    private var address: (String, String) {
        ("X-Forwarded-For", "10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)")
    }

    var signUp: RawRequest {
        post(
            "accounts/create",
            #"{"email":"\#(email)","proof":"\#(proof)","salt":"AAAAAAAAAAAAAAAAAAAAAA==","rounds":600000}"#)
    }

    func signIn(deviceName: String) -> RawRequest {
        post(
            "sessions/create",
            #"{"email":"\#(email)","proof":"\#(proof)","deviceName":"\#(deviceName)","lifetime":"device"}"#)
    }

    /// Returns the user of an answer to `signIn`.
    func user(in answer: RawResponse) throws -> SignedInUser {
        let session = try JSONDecoder().decode(Session.self, from: Data(answer.body))
        return SignedInUser(
            container: app.container, userRecordName: session.userRecordName, apiToken: app.apiToken,
            webAuthToken: session.ckWebAuthToken)
    }

    private struct Session: Decodable {
        var ckWebAuthToken: String
        var userRecordName: String
    }

    private func post(_ endpoint: String, _ body: String) -> RawRequest {
        .post(app.devicePath(endpoint), headers: [address], body: Array(body.utf8))
    }
}
