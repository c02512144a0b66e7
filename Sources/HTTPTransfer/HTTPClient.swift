#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Sends HTTP requests with libcurl.
///
/// Connections are kept and used again, HTTP/2 is spoken where the server offers it, certificates are always verified with the
/// system's authorities. Nothing is followed, stored or added: no redirects, cookies, cache or `.netrc`. Proxies are those of the
/// usual environment variables (`https_proxy`, `no_proxy`…), but never for this machine's own addresses. Whatever the other
/// side does, the worst that comes of it is a `Failure`.
package final class HTTPClient: Sendable {
    /// One for the process, so that everything in it shares connections. It trusts the certificates of the file that
    /// `CLOUDKIT_CA_FILE` names instead of the system's.
    package static let shared = HTTPClient(authoritiesFile: namedAuthoritiesFile)

    /// The file of the environment variable `CLOUDKIT_CA_FILE`; nil: not set, or empty.
    package static var namedAuthoritiesFile: String? {
        getenv("CLOUDKIT_CA_FILE").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Requests that are under way at one origin at a time, long polls apart, unless a client says otherwise; others wait their
    /// turn.
    package static let requestsPerOriginMax = 6

    private let requestQueue: RequestQueue
    private let loop: LoopThread

    /// - Parameters:
    ///   - authoritiesFile: Certificates, in PEM, that are trusted instead of the system's; nil: the system's.
    ///   - requestsPerOriginMax: Requests that are under way at one origin at a time, long polls apart.
    package init(authoritiesFile: String? = nil, requestsPerOriginMax: Int = requestsPerOriginMax) {
        requestQueue = RequestQueue()
        loop = LoopThread(
            requestQueue: requestQueue, authoritiesFile: authoritiesFile, requestsPerOriginMax: requestsPerOriginMax)
    }

    deinit { requestQueue.close() }

    /// Sends a request and waits for the whole answer, whatever its status.
    ///
    /// - Throws: `Failure`; `CancellationError` as soon as the task is cancelled.
    package func send(_ request: Request) async throws -> Answer {
        try request.check()
        guard loop.isRunning else {
            throw Failure(.unreachable, reason: "This process can start no thread, or libcurl not at all")
        }
        let id = requestQueue.nextID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                requestQueue.post(PendingRequest(id: id, request: request, continuation: continuation))
            }
        } onCancel: {
            requestQueue.cancel(id)
        }
    }
}
