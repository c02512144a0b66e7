import FaultyNetwork
import Foundation
import HTTPTransfer
import SimulatedSigners
import Synchronization
import TextEncodings

@testable import OpenIDConnect

/// A provider on a socket that answers what its test tells it to.
final class ScriptedProvider: Sendable {
    struct Script: Sendable {
        /// The keys that are published.
        var keys: [(key: SigningKey, id: String?)] = []
        /// Signs the token for a nonce.
        var token: @Sendable (_ issuer: String, _ nonce: String) throws -> String
        /// Replaces the members of the description.
        var description: [String: String] = [:]
        /// Replaces the whole answer to a path.
        var answers: [String: String] = [:]
        /// The nonce, as the browser would have brought it to the provider.
        var nonce = "n-1"
    }

    private let script: Mutex<Script>
    private let seen = Mutex<[RawMessage]>([])

    init(_ script: Script) { self.script = Mutex(script) }

    func change(_ change: (inout Script) -> Void) { script.withLock { change(&$0) } }

    /// The requests, as first lines.
    var requests: [RawMessage] { seen.withLock { $0 } }

    func count(_ path: String) -> Int { requests.filter { $0.firstLine.contains(path) }.count }

    /// Runs a provider while `body` lasts.
    static func run(
        _ script: Script, _ body: @escaping @Sendable (ScriptedProvider, _ issuer: String) async throws -> Void
    ) async throws {
        let provider = ScriptedProvider(script)
        try await RawServer.run { stream, _ in
            while let request = try await stream.request() {
                let port = request.header("host")?.split(separator: ":").last.map(String.init) ?? ""
                try await stream.send(try provider.answer(to: request, issuer: "http://127.0.0.1:\(port)"))
            }
        } body: { server in
            try await body(provider, "http://127.0.0.1:\(server.port)")
        }
    }

    private func answer(to request: RawMessage, issuer: String) throws -> String {
        seen.withLock { $0.append(request) }
        let script = script.withLock { $0 }
        let path = String(request.firstLine.split(separator: " ")[1])
        if let answer = script.answers[path] { return answer }
        switch path {
        case "/.well-known/openid-configuration":
            let description = [
                "issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
                "jwks_uri": issuer + "/keys",
            ].merging(script.description) { $1 }
            return Self.ok(String(decoding: try JSONEncoder().encode(description), as: UTF8.self))
        case "/keys": return Self.ok(String(decoding: try TokenIssuer.keySet(script.keys), as: UTF8.self))
        case "/token":
            return Self.ok(
                #"{"access_token":"a","token_type":"Bearer","id_token":"\#(try script.token(issuer, script.nonce))"}"#)
        default: return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        }
    }

    static func ok(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}
