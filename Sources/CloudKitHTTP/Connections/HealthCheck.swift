import CloudKitServer

/// Whether the cloud can answer: it lives, and its store can be read.
struct HealthCheck {
    var book: Book

    func answer() async -> Answer {
        do {
            _ = try await book.get("health")
            return Answer(body: Array(#"{"status":"ok","store":"readable"}"#.utf8))
        } catch {
            return Answer(status: .serviceUnavailable, body: Array(#"{"status":"failing","store":"unreadable"}"#.utf8))
        }
    }
}
