import CCurl

/// Moves all transfers of one client along, on the thread that runs it.
final class TransferLoop {
    private let mailbox: Mailbox
    private let multi: UnsafeMutableRawPointer
    private let authoritiesFile: String?
    /// By libcurl's handle.
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    private var admission: Admission<Order>
    /// No transfer is overdue before.
    private var nextLook: ContinuousClock.Instant?
    /// Whether mail interrupts the wait.
    private let canBeWoken: Bool

    /// Connections that are kept for later, of all origins together.
    private static let idleConnectionsMax = 64

    /// Done once in a process, before anything else.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    /// nil when libcurl gives nothing.
    init?(mailbox: Mailbox, authoritiesFile: String?, requestsPerOriginMax: Int) {
        guard Self.isReady, let multi = curl_multi_init() else { return nil }
        admission = Admission(max: requestsPerOriginMax)
        self.mailbox = mailbox
        self.multi = multi
        self.authoritiesFile = authoritiesFile
        canBeWoken = curl_multi_wakeup(multi) == CURLM_OK
        mailbox.open(multi)
    }

    deinit {
        mailbox.retire()
        curl_multi_cleanup(multi)
    }

    /// Works until the mailbox is closed.
    func run() {
        while let mail = mailbox.take() {
            for order in mail.orders { receive(order) }
            for id in mail.cancelled { cancel(id) }
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            endDone()
            endOverdue()
            curl_multi_poll(multi, nil, 0, pause, nil)
        }
        for transfer in transfers.values { end(transfer, .failure(CancellationError()), isLast: true) }
        for order in admission.clear() + mailbox.rest() { settle(order, .failure(CancellationError())) }
    }

    // MARK: Beginning

    private func receive(_ order: Order) {
        if order.request.isLongPoll || admission.enter(order, to: order.request.origin) { begin(order) }
    }

    private func begin(_ order: Order) {
        guard let transfer = Transfer(order, authoritiesFile: authoritiesFile),
            curl_multi_add_handle(multi, transfer.handle) == CURLM_OK
        else {
            settle(order, .failure(HTTPClient.Failure(.unreachable, reason: "libcurl does not take the request")))
            admitNext(after: order)
            return
        }
        transfers[transfer.handle] = transfer
        boundConnections()
        nextLook = min(nextLook ?? transfer.due, transfer.due)
    }

    private func admitNext(after order: Order) {
        guard !order.request.isLongPoll, let next = admission.leave(order.request.origin) else { return }
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

    private func endOverdue() {
        let now = ContinuousClock.now
        guard let look = nextLook, look <= now else { return }
        for transfer in transfers.values where transfer.due <= now {
            end(transfer, .failure(HTTPClient.Failure(overdueAt: transfer.progress)))
        }
        nextLook = transfers.values.map(\.due).min()
    }

    private func cancel(_ id: Int) {
        if let waiting = admission.withdraw(where: { $0.id == id }) {
            settle(waiting, .failure(CancellationError()))
        } else if let transfer = transfers.values.first(where: { $0.order.id == id }) {
            end(transfer, .failure(CancellationError()))
        }
    }

    /// - Parameter isLast: Whether nobody else gets a turn after it.
    private func end(_ transfer: Transfer, _ outcome: Result<HTTPClient.Answer, any Error>, isLast: Bool = false) {
        curl_multi_remove_handle(multi, transfer.handle)
        transfers[transfer.handle] = nil
        boundConnections()
        settle(transfer.order, outcome)
        if !isLast { admitNext(after: transfer.order) }
    }

    /// libcurl counts connections in use and idle ones together.
    private func boundConnections() {
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.idleConnectionsMax + transfers.count)
    }

    private func settle(_ order: Order, _ outcome: Result<HTTPClient.Answer, any Error>) {
        mailbox.settle(order.id)
        order.continuation.resume(with: outcome)
    }

    // MARK: Waiting

    /// Milliseconds until there may be something to do that neither network nor mail announces.
    private var pause: Int32 {
        Pause(
            look: nextLook.map { $0 - ContinuousClock.now }, canBeWoken: canBeWoken,
            awaitsAnswer: transfers.values.contains { !$0.order.request.isLongPoll }
        ).milliseconds
    }
}
