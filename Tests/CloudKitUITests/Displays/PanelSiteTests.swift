import CloudKit
import Foundation
import Testing

@testable import CloudKitUI

/// Which requests the page of a panel answers.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct PanelSiteTests {
    private static let origin = "http://127.0.0.1:4711"

    private final class Clock {
        var time = Duration.zero
    }

    private let clock = Clock()
    private let panel = SharingPanel(nil, client: RecordingClient(), options: PanelOptions())

    private func makeSite() -> PanelSite {
        var generator = SystemRandomNumberGenerator()
        let clock = clock
        return PanelSite(panel, origin: { Self.origin }, now: { clock.time }, using: &generator)
    }

    private func request(
        _ method: String, _ path: String, body: String = "", headers: [String: String] = [:]
    ) -> LoopbackRequest {
        var all = ["host": "127.0.0.1:4711"]
        if method == "POST" { all["origin"] = Self.origin }
        return LoopbackRequest(
            method: method, path: path, headers: all.merging(headers) { $1 }, body: Array(body.utf8))
    }

    private func secret(_ site: PanelSite) -> String {
        String(site.address.drop { $0 != "#" }.dropFirst())
    }

    /// Exchanges the secret, and returns the header of the session.
    private func session(_ site: PanelSite) async throws -> [String: String] {
        let answer = await site.respond(to: request("POST", "/session", body: #"{"secret":"\#(secret(site))"}"#))
        #expect(answer.status == 200)
        let session = try JSONDecoder().decode([String: String].self, from: Data(answer.body))["session"]
        return ["authorization": "Bearer " + (try #require(session))]
    }

    @Test func `the page and its files are served without the secret, with strict headers`() async throws {
        let site = makeSite()
        for path in ["/", "/panel.css", "/panel.js"] {
            let answer = await site.respond(to: request("GET", path))
            #expect(answer.status == 200)
            #expect(!String(decoding: answer.body, as: UTF8.self).contains(secret(site)))
            #expect(answer.headers["Content-Security-Policy"]?.contains("default-src 'none'") == true)
            #expect(answer.headers["Content-Security-Policy"]?.contains("frame-ancestors 'none'") == true)
            #expect(answer.headers["Cache-Control"] == "no-store")
            #expect(answer.headers["X-Content-Type-Options"] == "nosniff")
        }
        #expect(await site.respond(to: request("GET", "/other")).status == 404)
        #expect(await site.respond(to: request("PUT", "/panel")).status == 405)
        #expect(await site.respond(to: request("GET", "/session")).status == 405)
    }

    @Test func `the secret is exchanged once, and only in the body`() async throws {
        let site = makeSite()
        #expect(secret(site).count == 64)
        let wrong = String(repeating: "0", count: 64)
        #expect(await site.respond(to: request("POST", "/session", body: #"{"secret":"\#(wrong)"}"#)).status == 403)
        #expect(await site.respond(to: request("POST", "/session", body: "{}")).status == 400)
        let headers = try await session(site)
        // A second tab, or another program that saw the link.
        let again = request("POST", "/session", body: #"{"secret":"\#(secret(site))"}"#)
        #expect(await site.respond(to: again).status == 410)
        let body = #"{"action":"refresh"}"#
        #expect(await site.respond(to: request("POST", "/panel", body: body, headers: headers)).status == 200)
    }

    @Test func `nothing is done without the token of the session`() async throws {
        let site = makeSite()
        let body = #"{"action":"close"}"#
        let secret = ["authorization": "Bearer " + secret(site)]
        #expect(await site.respond(to: request("POST", "/panel", body: body)).status == 401)
        #expect(await site.respond(to: request("POST", "/panel", body: body, headers: secret)).status == 401)
        _ = try await session(site)
        #expect(await site.respond(to: request("POST", "/panel", body: body, headers: secret)).status == 401)
        #expect(await site.respond(to: request("POST", "/closing", body: "{}")).status == 401)
        #expect(!panel.isClosed)
    }

    @Test(arguments: [
        (["host": "attacker.example.com:4711"], 421), (["host": "localhost:4711"], 421),
        (["host": "127.0.0.1:4712"], 421), (["origin": "http://attacker.example.com"], 403), (["origin": "null"], 403),
        (["origin": "http://127.0.0.1:4712"], 403), (["sec-fetch-site": "cross-site"], 403),
        (["sec-fetch-site": "same-site"], 403),
    ])
    func `requests for another host and from another origin are refused`(headers: [String: String], status: Int)
        async throws
    {
        let site = makeSite()
        let session = try await session(site)
        let refused = request(
            "POST", "/panel", body: #"{"action":"close"}"#, headers: session.merging(headers) { $1 })
        #expect(await site.respond(to: refused).status == status)
        var bare = refused
        bare.headers["origin"] = nil
        #expect(await site.respond(to: bare).status >= 400)
        #expect(!panel.isClosed)
    }

    @Test func `what is no action is refused, and close closes`() async throws {
        let site = makeSite()
        let session = try await session(site)
        for body in ["", "{", "[]", #"{"action":"drop"}"#, #"{"action":"remove"}"#] {
            #expect(await site.respond(to: request("POST", "/panel", body: body, headers: session)).status == 400)
        }
        let close = request("POST", "/panel", body: #"{"action":"close"}"#, headers: session)
        #expect(await site.respond(to: close).status == 200)
        #expect(panel.isClosed)
    }

    @Test func `a page that is never opened, closed as a tab or silent is over; one that is loaded again is not`()
        async throws
    {
        let site = makeSite()
        clock.time = PageLife.openingMax - .seconds(1)
        #expect(!site.isAbandoned)
        let session = try await session(site)
        clock.time += PageLife.silenceMax - .seconds(1)
        #expect(!site.isAbandoned)
        clock.time += .seconds(1)
        #expect(site.isAbandoned)
        let refresh = request("POST", "/panel", body: #"{"action":"refresh"}"#, headers: session)
        _ = await site.respond(to: refresh)
        #expect(!site.isAbandoned)
        #expect(await site.respond(to: request("POST", "/closing", body: "{}", headers: session)).status == 204)
        _ = await site.respond(to: refresh)
        clock.time += PageLife.closingMax
        #expect(!site.isAbandoned)
        _ = await site.respond(to: request("POST", "/closing", body: "{}", headers: session))
        clock.time += PageLife.closingMax
        #expect(site.isAbandoned)
    }

    @Test func `a page that nobody opens is over after a while`() {
        let site = makeSite()
        clock.time = PageLife.openingMax
        #expect(site.isAbandoned)
    }
}
