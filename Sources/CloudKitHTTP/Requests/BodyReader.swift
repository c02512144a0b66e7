import CloudKitModel
import NIOCore

/// Reads a request's body as a whole, within the limits of all bodies.
struct BodyReader: Sendable {
    var limits: BodyLimits
    var budget: BodyBudget

    /// Reads the body into the request; nothing happens when that has been done.
    ///
    /// - Throws: `sizeLimitExceeded`; `tryAgainLater` while too many bodies are under way; `badRequest` for a body that did not
    ///   arrive; `SlowBodyError`.
    func readBody(of request: IncomingRequest, from sender: BodyBudget.Sender, bytesMax: Int) async throws {
        guard !request.isBodyRead else { return }
        if let announced = request.announcedBytes, announced > bytesMax { throw Self.tooLarge }
        guard budget.admits(sender) else { throw Self.tooMany }
        request.connection.bodyBegan()
        defer { request.connection.bodyEnded() }
        let body = try await read(request, from: sender, bytesMax: bytesMax)
        request.isBodyRead = true
        request.body = body
        request.bytesIn = body.count
    }

    /// Lets others have what the request's body has taken.
    func release(_ request: IncomingRequest) {
        guard let (sender, bytes) = request.heldBytes else { return }
        request.heldBytes = nil
        budget.release(bytes, for: sender)
    }

    /// Returns whether the connection of a request should end with its response: too much of the body may be left to be worth
    /// discarding.
    func closesConnection(after request: IncomingRequest) -> Bool {
        guard request.leavesBody else { return false }
        guard let announced = request.announcedBytes else { return true }
        return announced > (request.admission?.user == nil ? limits.strangerBytesMax : limits.heldBytesMax)
    }

    private func read(
        _ request: IncomingRequest, from sender: BodyBudget.Sender, bytesMax: Int
    ) async throws -> [UInt8] {
        var whole: [UInt8] = []
        do {
            for try await part in request.incomingBody {
                request.connection.bodyReceived(part.readableBytes)
                let count = whole.count + part.readableBytes
                guard count <= bytesMax else { throw Self.tooLarge }
                guard budget.reserve(part.readableBytes, for: sender) else { throw Self.tooMany }
                request.heldBytes = (sender, count)
                if whole.isEmpty, let announced = request.announcedBytes, announced > part.readableBytes {
                    whole.reserveCapacity(announced)
                }
                part.withUnsafeReadableBytes { whole.append(contentsOf: $0) }
            }
        } catch let error where error is RequestFailure || error is SlowBodyError {
            throw error
        } catch {
            throw Self.broken
        }
        guard whole.count >= request.announcedBytes ?? 0 else { throw Self.broken }
        return whole
    }

    private static let broken = RequestFailure(.badRequest, "the request's body did not arrive")
    private static let tooMany = RequestFailure(
        .tryAgainLater, "too many requests are being received", retryAfter: 2)
    private static let tooLarge = RequestFailure(
        .sizeLimitExceeded, "request too large", remedy: "Send at most 2 MB in a request; send the halves.")
}
