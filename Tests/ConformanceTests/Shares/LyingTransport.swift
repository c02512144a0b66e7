import Foundation
import Synchronization

@testable import CloudKit
@testable import CloudKitClient

/// A cloud that answers honestly, except that texts in its answers are replaced by others.
final class LyingTransport: Transport {
    /// A replacement in the answers of endpoints whose path does or does not end with a text.
    struct Lie: Sendable {
        var text: String
        var replacement: String
    }

    private let lies = Mutex<[Lie]>([])
    private let silenced = Mutex(false)
    private let sent = Mutex<[(path: String, body: String)]>([])

    /// Replaces a text in each answer from now on, those of the directory apart.
    func replace(_ text: String, by replacement: String) {
        lies.withLock { $0.append(Lie(text: text, replacement: replacement)) }
    }

    /// Refuses every look-up in the directory from now on.
    func silenceDirectory() { silenced.withLock { $0 = true } }

    /// The bodies of requests that were sent to an endpoint.
    func bodies(to path: String) -> [String] {
        sent.withLock { $0.filter { $0.path.hasSuffix(path) }.map(\.body) }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        sent.withLock { $0.append((request.url.path, String(decoding: request.body, as: UTF8.self))) }
        if request.url.path.hasSuffix("/directory/lookup") {
            if silenced.withLock({ $0 }) { return TransportResponse(status: 404, body: Array("{}".utf8)) }
            return try await HTTPTransport.shared.send(request)
        }
        var response = try await HTTPTransport.shared.send(request)
        var text = String(decoding: response.body, as: UTF8.self)
        for lie in lies.withLock({ $0 }) { text = text.replacing(lie.text, with: lie.replacement) }
        if response.status == 200, !text.isEmpty { response.body = Array(text.utf8) }
        return response
    }
}
