import CloudKitAccounts
import CloudKitServer
import Crypto
import PushReceiver
import Testing

@testable import WebPush

@Suite(.timeLimit(.minutes(20))) struct MessageEncryptionTests {
    /// RFC 8291, section 5 and appendix A.
    private enum Example {
        static let message = Array("When I grow up, I want to be a watermelon".utf8)
        static let senderKey = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
        static let browserKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
        static let browserPublicKey =
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        static let authentication = "BTBZMqHH6r4Tts7J_aSIgg"
        static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
        static let body =
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
            + "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    }

    private static func encryption(for browser: Browser) throws -> MessageEncryption {
        let json = browser.subscription(endpoint: "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV")
        return MessageEncryption(subscription: try WebPushSubscription(Array(json.utf8), rules: WebPushEndpointRules()))
    }

    @Test func `The example of RFC 8291 is encrypted to the byte`() throws {
        let browser = try Browser(privateKey: Example.browserKey, authentication: Example.authentication)
        #expect(Base64.text(Array(browser.key.publicKey.x963Representation)) == Example.browserPublicKey)
        let body = try Self.encryption(for: browser).seal(
            Example.message, key: .init(rawRepresentation: Base64.bytes(Example.senderKey)),
            salt: Base64.bytes(Example.salt), isPadded: false)
        #expect(Base64.text(body) == Example.body)
    }

    @Test func `The example of RFC 8291 is decrypted by the simulated browser`() throws {
        let browser = try Browser(privateKey: Example.browserKey, authentication: Example.authentication)
        #expect(try browser.open(Base64.bytes(Example.body)) == Example.message)
    }

    @Test(arguments: [0, 1, 255, 256, 257, 1000, 3839, 3840, 3841, 3992, 3993])
    func `Encrypted messages can be decrypted, have at most 4096 bytes, and hide their length`(count: Int) throws {
        let browser = Browser()
        let message = (0..<count).map { UInt8($0 % 251) }
        let salt = ServerEnvironment.systemRandom(16)
        let body = try Self.encryption(for: browser).seal(message, key: .init(), salt: salt)
        #expect(try browser.open(body) == message)
        #expect(body.count <= 4096)
        let hidden = (body.count - 103)
        #expect(hidden % 256 == 0 || hidden == 3993)
        #expect(hidden - count < 256)
        #expect(Array(body[..<16]) == salt)
        #expect(throws: (any Error).self) { try Browser().open(body) }
    }

    @Test func `A message that is too long is refused`() throws {
        #expect(MessageEncryption.plainBytesMax == 3993)
        let encryption = try Self.encryption(for: Browser())
        #expect(throws: MessageTooLong.self) {
            try encryption.seal(
                [UInt8](repeating: 1, count: 3994), key: .init(), salt: [UInt8](repeating: 1, count: 16))
        }
    }
}
