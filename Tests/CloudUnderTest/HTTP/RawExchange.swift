#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Several connections to one server of this machine, driven by one thread: requests go out as they are given, and what
/// comes back is told in order of arrival.
package final class RawExchange {
    package enum Outcome: Hashable, Sendable {
        case answered(status: Int)
        case lost(RawFailure)
    }

    package struct Event: Hashable, Sendable {
        package var connection: Int
        package var outcome: Outcome
    }

    private let connections: [RawConnection]
    private var descriptors: [pollfd] = []
    private var pending: [Event] = []
    private var firstPending = 0

    package init(port: UInt16, connections count: Int) throws(RawFailure) {
        // A peer that is killed must be an error of `write`, not the end of this process.
        signal(SIGPIPE, SIG_IGN)
        var connections: [RawConnection] = []
        for _ in 0..<count { connections.append(try RawConnection(port: port)) }
        self.connections = connections
    }

    package var connectionCount: Int { connections.count }

    /// Connects all anew, perhaps to another port; what was under way is forgotten.
    package func reconnect(port: UInt16) throws(RawFailure) {
        pending = []
        firstPending = 0
        for connection in connections { try connection.connect(port: port) }
    }

    /// Starts a request on a connection that awaits nothing.
    package func send(_ request: RawRequest, on connection: Int) {
        guard connections[connection].socket >= 0 else {
            pending.append(Event(connection: connection, outcome: .lost(.connectionLost)))
            return
        }
        if case .lost(let failure) = connections[connection].send(request) {
            pending.append(Event(connection: connection, outcome: .lost(failure)))
        }
    }

    /// How many connections await an answer.
    package var awaited: Int { connections.count(where: \.isBusy) + pending.count - firstPending }

    /// The body of the answer last told of this connection; good until its next request.
    package func body(of connection: Int) -> [UInt8] { connections[connection].body }

    /// What happens next; nil when nothing does until the deadline (`Moment.now` counts nanoseconds).
    package func next(until deadline: Moment) -> Event? {
        while true {
            if firstPending < pending.count {
                defer { firstPending += 1 }
                return pending[firstPending]
            }
            pending.removeAll(keepingCapacity: true)
            firstPending = 0
            guard wait(until: deadline) else { return nil }
        }
    }

    /// Sends one request on the first connection and waits for its answer.
    package func ask(_ request: RawRequest, timeout seconds: Double = 300) throws(RawFailure) -> RawResponse {
        send(request, on: 0)
        guard let event = next(until: .now.advanced(bySeconds: seconds)) else { throw .timedOut }
        switch event.outcome {
        case .answered(let status): return RawResponse(status: status, body: body(of: event.connection))
        case .lost(let failure): throw failure
        }
    }

    /// Waits until a socket is ready and takes what is there; false once the deadline has passed.
    private func wait(until deadline: Moment) -> Bool {
        descriptors.removeAll(keepingCapacity: true)
        for connection in connections {
            let wants = Int16(POLLIN) | (connection.wantsToWrite ? Int16(POLLOUT) : 0)
            // poll passes over negative descriptors: connections that await nothing.
            descriptors.append(pollfd(fd: connection.isBusy ? connection.socket : -1, events: wants, revents: 0))
        }
        let left = deadline.nanoseconds - Moment.now.nanoseconds
        guard left > 0 else { return false }
        let ready = poll(&descriptors, nfds_t(descriptors.count), Int32(min(left / 1_000_000 + 1, 60_000)))
        guard ready > 0 else { return ready == 0 ? Moment.now < deadline : true }
        for index in descriptors.indices where descriptors[index].revents != 0 {
            switch connections[index].advance() {
            case .waiting: break
            case .answered(let status):
                pending.append(Event(connection: index, outcome: .answered(status: status)))
            case .lost(let failure): pending.append(Event(connection: index, outcome: .lost(failure)))
            }
        }
        return true
    }
}

/// A point in time of the monotonic clock.
package struct Moment: Comparable, Hashable, Sendable {
    package var nanoseconds: Int64

    package static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package func advanced(bySeconds seconds: Double) -> Moment {
        Moment(nanoseconds: nanoseconds + Int64(seconds * 1e9))
    }

    package func seconds(since other: Moment) -> Double { Double(nanoseconds - other.nanoseconds) / 1e9 }

    package static func < (left: Moment, right: Moment) -> Bool { left.nanoseconds < right.nanoseconds }
}
