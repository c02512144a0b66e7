import CloudKit
import CloudKitTesting
import Foundation
import HTTPTransfer
import Testing

@testable import CloudKitUI

/// A browser without script: what the page of a panel sends and gets, over HTTP.
private struct PanelBrowser {
    let origin: String
    private let session: String

    /// Opens the page's address as a browser does.
    init(_ url: URL) async throws {
        let parts = url.absoluteString.components(separatedBy: "/#")
        origin = parts[0]
        let answer = try await Self.post(origin, "/session", #"{"secret":"\#(parts[1])"}"#, nil)
        session = try #require(try JSONDecoder().decode([String: String].self, from: Data(answer.body))["session"])
    }

    static func post(
        _ origin: String, _ path: String, _ body: String, _ session: String?
    ) async throws -> HTTPClient.Answer {
        var headers = ["Origin": origin, "Content-Type": "application/json"]
        headers["Authorization"] = session.map { "Bearer " + $0 }
        // What a person does takes as long as the machine needs for it.
        return try await HTTPClient.shared.send(
            HTTPClient.Request(
                method: "POST", url: origin + path, headers: headers, body: Array(body.utf8),
                timeLimit: .seconds(900)))
    }

    func send(_ form: PanelAction.Form) async throws -> PanelContent {
        let body = String(decoding: try JSONEncoder().encode(form), as: UTF8.self)
        let answer = try await Self.post(origin, "/panel", body, session)
        #expect(answer.status == 200)
        return try JSONDecoder().decode(PanelContent.self, from: Data(answer.body))
    }
}

@MainActor
@Suite(.timeLimit(.minutes(20))) struct PagePanelTests {
    @Test func `B-UI-02 a person shares, invites and stops in a browser, over HTTP`() async throws {
        try await ShoppingHousehold.run { home in
            let delegate = RecordingDelegate()
            let controller = UICloudSharingController(share: try await home.makeShare(), container: home.ada)
            controller.delegate = delegate
            try await controller.present(
                on: .page { url in
                    typealias Form = PanelAction.Form
                    #expect(url.host == "127.0.0.1")
                    let browser = try await PanelBrowser(url)
                    let page = try await HTTPClient.shared.send(
                        HTTPClient.Request(method: "GET", url: browser.origin + "/", headers: [:], body: []))
                    #expect(String(decoding: page.body, as: UTF8.self).contains("<h1 id=\"title\""))
                    let invited = try await browser.send(
                        Form(action: "invite", addresses: "ben@example.com", permission: "readOnly"))
                    let ben = invited.id(of: "ben@example.com")
                    _ = try await browser.send(Form(action: "setPermission", person: ben, permission: "readWrite"))
                    _ = try await browser.send(Form(action: "setInviting", person: ben, isOn: true))
                    let removed = try await browser.send(Form(action: "remove", person: ben))
                    #expect(removed.people.count == 1)
                    let open = try await browser.send(Form(action: "setAccess", access: "readOnly"))
                    #expect(open.link?.path?.isEmpty == false)
                    let asking = try await browser.send(Form(action: "setAccessRequests", isOn: true))
                    #expect(asking.allowsAccessRequests == true)
                    let ended = try await browser.send(Form(action: "stop"))
                    #expect(ended.phase == .ended)
                    _ = try await browser.send(Form(action: "close"))
                })
            #expect(delegate.events.last == "stopped")
            #expect(delegate.events.count == 7)
        }
    }

    @Test func `a browser that cannot be opened is an error, and the panel can be shown elsewhere`() async throws {
        try await ShoppingHousehold.run { home in
            let controller = UICloudSharingController(share: try await home.makeShare(), container: home.ada)
            await #expect(throws: SharingPanelError.pageNotOpened("no browser")) {
                try await controller.present(on: .page { _ in throw SharingPanelError.pageNotOpened("no browser") })
            }
            try await controller.present(on: ScriptedPerson(["done"]).display)
        }
    }
}

/// What a process can show a panel on.
@Suite(.timeLimit(.minutes(20))) struct DesktopSessionTests {
    @Test(arguments: [
        (["DISPLAY": ":0", "PATH": "/bin:/usr/bin"], true, DesktopSession.Kind.desktop),
        (["WAYLAND_DISPLAY": "wayland-0", "PATH": "/usr/bin"], false, .desktop),
        (["DISPLAY": "", "PATH": "/usr/bin"], true, .terminal), (["DISPLAY": ":0", "PATH": "/bin"], true, .terminal),
        (["PATH": "/usr/bin"], false, .none), ([:], false, .none),
    ])
    func `a desktop with xdg-open comes first, then a terminal`(
        variables: [String: String], hasTerminal: Bool, kind: DesktopSession.Kind
    ) {
        let session = DesktopSession(variables: variables, hasTerminal: hasTerminal) { $0 == "/usr/bin/xdg-open" }
        #expect(session.kind == kind)
    }
}
