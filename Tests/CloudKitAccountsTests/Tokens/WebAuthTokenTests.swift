import CloudKitModel
import Testing

@testable import CloudKitAccounts

@Suite(.timeLimit(.minutes(20))) struct WebAuthTokenTests {
    private let serverEnvironment = ServerEnvironment(
        secret: Array(0..<32), now: { 0 }, random: { count in (0..<count).map { UInt8(100 + $0) } })
    private let container = ContainerID("iCloud.com.example.app")

    @Test func `with one secret and one nonce a token stays the same`() throws {
        let tokens = WebAuthTokens(serverEnvironment)
        let row = APIToken(
            hash: String(repeating: "ab", count: 32), container: container.name, environment: "development", name: "",
            allowedOrigins: [], callback: nil, created: 0, isRevoked: false)
        let token = WebAuthToken(
            account: String(repeating: "1a", count: 16), device: String(repeating: "2b", count: 16),
            lifetime: .persistent, issued: 1_700_000_000_000)
        let text = try tokens.seal(token, container: container, environment: .development, apiToken: row)
        #expect(
            text == """
                ZGVmZ2hpamtsbW5vuwvssj9yjgtS7Ij3oGaNU9Zj8hPck9cW_GF_UOyD1WlurFaHgIN5Q1spkTlrPoAHZ8C1Ccr2QXE9nbbU\
                b8ntiKRf4u_ygUyWv91uTTAP8GYQXkt0_7oUea8x
                """)
        #expect(tokens.open(text, container: container, environment: .development, apiToken: row) == token)
    }
}
