import CCurl

/// Moves all transfers of one client along, on the thread that runs it.
final class TransferLoop {
    private let requestQueue: RequestQueue
    private let multi: UnsafeMutableRawPointer
    private let authoritiesFile: String?
    /// By libcurl's handle.
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    private var limiter: ConnectionLimiter<PendingRequest>
    /// No transfer is overdue before.
    private var nextLook: ContinuousClock.Instant?
    /// Whether submissions interrupt the wait.
    private let canBeWoken: Bool

    /// Connections that are kept for later, of all origins together.
    private static let idleConnectionsMax = 64

    /// Done once in a process, before anything else.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    /// nil when libcurl gives nothing.
    init?(requestQueue: RequestQueue, authoritiesFile: String?, requestsPerOriginMax: Int) {
        guard Self.isReady, let multi = curl_multi_init() else { return nil }
        limiter = ConnectionLimiter(max: requestsPerOriginMax)
        self.requestQueue = requestQueue
        self.multi = multi
        self.authoritiesFile = authoritiesFile
        canBeWoken = curl_multi_wakeup(multi) == CURLM_OK
        requestQueue.open(multi)
    }

    deinit {
        requestQueue.retire()
        curl_multi_cleanup(multi)
    }

    /// Works until the queue is closed.
    func run() {
        while let submissions = requestQueue.take() {
            for pending in submissions.requests { receive(pending) }
            for id in submissions.cancelled { cancel(id) }
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            endDone()
            endExpired()
            curl_multi_poll(multi, nil, 0, pollTimeout, nil)
        }
        for transfer in transfers.values { end(transfer, .failure(CancellationError()), isLast: true) }
        for pending in limiter.clear() + requestQueue.rest() { settle(pending, .failure(CancellationError())) }
    }

    // MARK: Beginning

    private func receive(_ pending: PendingRequest) {
        if pending.request.isLongPoll || limiter.enter(pending, to: pending.request.origin) { begin(pending) }
    }

    private func begin(_ pending: PendingRequest) {
        guard let transfer = Transfer(pending, authoritiesFile: authoritiesFile),
            curl_multi_add_handle(multi, transfer.handle) == CURLM_OK
        else {
            settle(pending, .failure(HTTPClient.Failure(.unreachable, reason: "libcurl does not take the request")))
            admitNext(after: pending)
            return
        }
        transfers[transfer.handle] = transfer
        boundConnections()
        nextLook = min(nextLook ?? transfer.due, transfer.due)
    }

    private func admitNext(after pending: PendingRequest) {
        guard !pending.request.isLongPoll, let next = limiter.leave(pending.request.origin) else { return }
        begin(next)
    }

    // MARK: Ending

    private func endDone() {
        var count: Int32 = 0
        while let message = curl_multi_info_read(multi, &count) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let transfer = transfers[handle]
            else { continue }
            end(transfer, transfer.outcome(ccurl_message_result(message)))
        }
    }

    private func endExpired() {
        let now = ContinuousClock.now
        guard let look = nextLook, look <= now else { return }
        for transfer in transfers.values where transfer.due <= now {
            end(transfer, .failure(HTTPClient.Failure(overdueAt: transfer.progress)))
        }
        nextLook = transfers.values.map(\.due).min()
    }

    private func cancel(_ id: Int) {
        if let waiting = limiter.withdraw(where: { $0.id == id }) {
            settle(waiting, .failure(CancellationError()))
        } else if let transfer = transfers.values.first(where: { $0.pending.id == id }) {
            end(transfer, .failure(CancellationError()))
        }
    }

    /// - Parameter isLast: Whether no other request gets a turn after it.
    private func end(_ transfer: Transfer, _ outcome: Result<HTTPClient.Answer, any Error>, isLast: Bool = false) {
        curl_multi_remove_handle(multi, transfer.handle)
        transfers[transfer.handle] = nil
        boundConnections()
        settle(transfer.pending, outcome)
        if !isLast { admitNext(after: transfer.pending) }
    }

    /// libcurl counts connections in use and idle ones together.
    private func boundConnections() {
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.idleConnectionsMax + transfers.count)
    }

    private func settle(_ pending: PendingRequest, _ outcome: Result<HTTPClient.Answer, any Error>) {
        requestQueue.settle(pending.id)
        pending.continuation.resume(with: outcome)
    }

    // MARK: Waiting

    /// Milliseconds until there may be something to do that neither network nor submissions announces.
    private var pollTimeout: Int32 {
        PollTimeout(
            look: nextLook.map { $0 - ContinuousClock.now }, canBeWoken: canBeWoken,
            awaitsAnswer: transfers.values.contains { !$0.pending.request.isLongPoll }
        ).milliseconds
    }
}
