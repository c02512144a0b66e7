import Foundation
import Synchronization

/// Waits on this machine for the person's browser, which a page sends back with an answer (RFC 8252, §7.3).
package final class BrowserReturn: Sendable {
    private let listener: LoopbackListener
    private let answers: AsyncStream<[String: String]>
    private let expectation: Expectation

    /// The `state` with which the browser left; requests with another are from elsewhere.
    private final class Expectation: Sendable {
        let state = Mutex<String?>(nil)
    }

    /// Begins to listen on 127.0.0.1.
    ///
    /// - Parameter port: 0: the system chooses one.
    /// - Throws: `BrowserReturnError`.
    package init(port: UInt16 = 0) throws(BrowserReturnError) {
        let (answers, continuation) = AsyncStream<[String: String]>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let expectation = Expectation()
        self.answers = answers
        self.expectation = expectation
        do {
            // The program may end as soon as it has the answer: the browser has its page before.
            listener = try LoopbackListener(port: port) { request, response in
                if response == Self.page, let values = Self.values(of: request.path) { continuation.yield(values) }
            } handler: { request in
                guard request.method == "GET", let state = Self.values(of: request.path)?["state"],
                    expectation.state.withLock({ $0 == state })
                else { return LoopbackResponse(status: 404) }
                return Self.page
            }
        } catch {
            throw BrowserReturnError(reason: (error as? LoopbackFailure)?.reason ?? "\(error)")
        }
    }

    /// The port on which it listens.
    package var port: UInt16 { listener.port }

    /// Returns what the browser brings: the values of its query.
    ///
    /// - Parameter state: Of which one value has to be `state`.
    /// - Throws: `CancellationError`.
    package func values(state: String) async throws -> [String: String] {
        expectation.state.withLock { $0 = state }
        defer { listener.stop() }
        for await values in answers { return values }
        throw CancellationError()
    }

    /// Opens a page in the person's browser.
    ///
    /// - Returns: Whether there is a desktop to open it on, and it took the page.
    package static func open(_ url: String) async -> Bool {
        guard DesktopSession.current.hasDesktop, let url = URL(string: url) else { return false }
        return (try? await DesktopSession.open(url)) != nil
    }

    /// Returns the values of a query at the path `/`; nil for another path, and for a name that comes twice.
    static func values(of path: String) -> [String: String]? {
        guard let components = URLComponents(string: path), components.path == "/" else { return nil }
        var values: [String: String] = [:]
        for item in components.queryItems ?? [] {
            guard values.updateValue(item.value ?? "", forKey: item.name) == nil else { return nil }
        }
        return values
    }

    private static let page = LoopbackResponse(
        status: 200,
        headers: [
            "Content-Type": "text/html; charset=UTF-8", "Content-Security-Policy": "default-src 'none'",
            "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        ],
        body: Array(
            "<!doctype html><html lang=\"en\"><title>Welkin</title><h1>Go on in the terminal</h1><p>You can close this window.</p></html>"
                .utf8))
}

/// The error of a port on which this process cannot listen.
package struct BrowserReturnError: Error, CustomStringConvertible {
    /// The reason that the system gives.
    package let reason: String

    /// A textual form of the value, for logs and debugging.
    package var description: String { "This program cannot listen on 127.0.0.1 (\(reason)). Choose another --port." }
}
