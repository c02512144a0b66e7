import Foundation
import Testing

@testable import CloudKitHTTP

/// Compares the answers of `docs/web-services.md` with those of a cloud. `script/web-services` writes the page again.
@Suite(.timeLimit(.minutes(20))) struct WebServicesPageTests {
    @Test func `every answer of the page is that of a cloud, and every endpoint has an example`() async throws {
        try await ScriptedCloud.run { cloud in
            let page = try WebServicesPage()
            let fresh = try await page.answered(by: &cloud)
            if StoredBytesTests.isRecording {
                try fresh.write(to: WebServicesPage.file, atomically: true, encoding: .utf8)
            } else if let difference = Self.difference(page.text, fresh) {
                Issue.record("docs/web-services.md, \(difference)")
            }
            try await Self.checkEndpoints(&cloud)
        }
    }

    /// The metrics name every endpoint that was asked.
    private static func checkEndpoints(_ cloud: inout ScriptedCloud) async throws {
        guard let step = HTTPScript.Step("GET /metrics\nAuthorization: Bearer $OPERATOR") else { return }
        let metrics = try await cloud.send(step).body
        for endpoint in EndpointName.allCases where ![.unknown, .metrics, .site].contains(endpoint) {
            let isAsked = metrics.contains("welkin_requests_total{endpoint=\"\(endpoint.rawValue)\",status=\"2")
            #expect(isAsked, "docs/web-services.md has no example of \(endpoint.rawValue) that succeeds")
        }
    }

    @Test func `every endpoint of databases, devices and operators has a section`() throws {
        let headings = try WebServicesPage().headings
        for endpoint in EndpointName.allCases where !Self.namedByPath.contains(endpoint) {
            let name = endpoint.rawValue
            #expect(headings.contains { $0.contains("`\(name)`") }, "docs/web-services.md has no section on \(name)")
        }
    }

    /// Endpoints that a path of their own names; examples of them are checked above.
    private static let namedByPath: Set<EndpointName> = [
        .assetUpload, .assetDownload, .courier, .landingPage, .accountPage, .addressPage, .signInPage, .signUpPage,
        .invitationPage, .providerPage,
        .signInScript, .styleSheet, .sharePage, .shareScript, .notificationsPage, .notificationsScript,
        .notificationsWorker, .libraryScript,
        .health, .metrics, .openAPI, .directoryHistory, .site, .unknown,
    ]

    /// The first difference of two texts.
    private static func difference(_ old: String, _ new: String) -> String? {
        let (old, new) = (old.components(separatedBy: "\n"), new.components(separatedBy: "\n"))
        for index in 0..<max(old.count, new.count) {
            let pair = (index < old.count ? old[index] : "", index < new.count ? new[index] : "")
            if pair.0 != pair.1 { return "line \(index + 1), says\n\(pair.0)\nwhere a cloud answers\n\(pair.1)" }
        }
        return nil
    }
}
