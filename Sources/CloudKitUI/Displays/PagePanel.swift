import Foundation

/// A panel as a page in the person's browser, served on this machine until the panel is closed.
@MainActor
struct PagePanel {
    private let panel: SharingPanel

    init(_ panel: SharingPanel) { self.panel = panel }

    /// Serves the page, opens it, and returns when the panel is closed or its tab has gone.
    ///
    /// - Throws: ``SharingPanelError`` if the page can be neither served nor opened; the panel is not closed then.
    func run(opening open: @escaping @Sendable (URL) async throws -> Void) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        var generator = SystemRandomNumberGenerator()
        let place = Place()
        let site = PanelSite(panel, origin: { place.origin }, now: { start.duration(to: clock.now) }, using: &generator)
        let listener: LoopbackListener
        do {
            listener = try LoopbackListener { await site.respond(to: $0) }
        } catch let failure as LoopbackFailure {
            throw SharingPanelError.pageNotServed(failure.reason)
        }
        defer { listener.stop() }
        place.origin = "http://127.0.0.1:\(listener.port)"
        guard let url = URL(string: site.address) else { throw SharingPanelError.pageNotServed("no address") }
        let (events, continuation) = AsyncStream<(any Error)?>.makeStream()
        // xdg-open may return only when the browser ends.
        let opening = Task {
            do { try await open(url) } catch { continuation.yield(error) }
        }
        let watching = Task {
            while !site.isAbandoned { try await Task.sleep(for: .seconds(1), tolerance: .milliseconds(250)) }
            continuation.yield(nil)
        }
        panel.whenClosed { continuation.yield(nil) }
        defer {
            opening.cancel()
            watching.cancel()
        }
        for await error in events {
            if let error { throw error }
            break
        }
        panel.close()
    }

    /// The site's origin, known once its port is.
    private final class Place {
        var origin = ""
    }
}
