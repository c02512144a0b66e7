import Foundation

/// The pages of one panel: what each request of a browser gets.
@MainActor
final class PanelSite {
    private let panel: SharingPanel
    private let origin: @MainActor () -> String
    private let now: @MainActor () -> Duration
    private var access: PageAccess
    private var life: PageLife

    /// - Parameters:
    ///   - origin: Returns the scheme, host and port of the site, once it is served.
    ///   - now: Returns the time on some clock.
    init(
        _ panel: SharingPanel, origin: @escaping @MainActor () -> String, now: @escaping @MainActor () -> Duration,
        using generator: inout some RandomNumberGenerator
    ) {
        self.panel = panel
        self.origin = origin
        self.now = now
        access = PageAccess(using: &generator)
        life = PageLife(at: now())
    }

    /// The page's address with the secret, which works once.
    var address: String { "\(origin())/#\(access.secret)" }

    /// Whether the page has been closed or never opened.
    var isAbandoned: Bool { life.isOver(at: now()) }

    func respond(to request: LoopbackRequest) async -> LoopbackResponse {
        guard let host = request.headers["host"], "http://" + host == origin() else { return .plain(421) }
        // Pages of other origins may neither read nor send anything; navigation has no site.
        if let site = request.headers["sec-fetch-site"], site != "same-origin", site != "none" { return .plain(403) }
        switch (request.method, request.path) {
        case ("GET", "/"): return .content(PackageResources.panel_html, "text/html; charset=utf-8")
        case ("GET", "/panel.css"): return .content(PackageResources.panel_css, "text/css; charset=utf-8")
        case ("GET", "/panel.js"): return .content(PackageResources.panel_js, "text/javascript; charset=utf-8")
        case ("POST", "/session"), ("POST", "/panel"), ("POST", "/closing"):
            guard request.headers["origin"] == origin() else { return .plain(403) }
            return await answer(request)
        case (_, "/"), (_, "/panel.css"), (_, "/panel.js"), (_, "/session"), (_, "/panel"), (_, "/closing"):
            return .plain(405)
        default: return .plain(404)
        }
    }

    private func answer(_ request: LoopbackRequest) async -> LoopbackResponse {
        if request.path == "/session" { return begin(request) }
        guard access.isSession(request.headers["authorization"]) else { return .plain(401) }
        if request.path == "/closing" {
            life.noteClosing(at: now())
            return .plain(204)
        }
        life.noteRequest(at: now())
        guard let form = try? JSONDecoder().decode(PanelAction.Form.self, from: Data(request.body)) else {
            return .plain(400)
        }
        do {
            let content = await panel.perform(try PanelAction(form))
            life.noteRequest(at: now())
            return .json(content)
        } catch {
            return .plain(400)
        }
    }

    private struct Secret: Codable {
        var secret: String
    }

    private struct Session: Codable {
        var session: String
    }

    private func begin(_ request: LoopbackRequest) -> LoopbackResponse {
        guard let offered = try? JSONDecoder().decode(Secret.self, from: Data(request.body)) else { return .plain(400) }
        switch access.exchange(offered.secret) {
        case .granted(let session):
            life.noteRequest(at: now())
            return .json(Session(session: session))
        case .used: return .plain(410)
        case .refused: return .plain(403)
        }
    }
}

extension LoopbackResponse {
    /// Headers of every answer: nothing is kept, framed, sniffed or fetched from elsewhere.
    private static let safety = [
        "Cache-Control": "no-store",
        "Content-Security-Policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    ]

    fileprivate static func plain(_ status: Int) -> LoopbackResponse {
        LoopbackResponse(status: status, headers: safety)
    }

    fileprivate static func content(_ body: [UInt8], _ type: String) -> LoopbackResponse {
        var response = LoopbackResponse(status: 200, headers: safety, body: body)
        response.headers["Content-Type"] = type
        return response
    }

    fileprivate static func json(_ value: some Encodable) -> LoopbackResponse {
        // Values of texts, numbers and truth values always encode.
        content((try? JSONEncoder().encode(value)).map(Array.init) ?? [], "application/json")
    }
}
