#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An HTTP/1.1 connection over a non-blocking TCP socket, for one request at a time, with minimal work per request, so that a
/// load generator does not measure itself.
final class RawConnection {
    enum Progress: Hashable {
        case waiting
        case answered(status: Int)
        case lost(RawFailure)
    }

    private(set) var socket: Int32 = -1
    private var outgoing: [UInt8] = []
    private var sent = 0
    private var incoming = [UInt8](repeating: 0, count: 1 << 14)
    private var received = 0
    private var head: ResponseHead?
    /// Whether an answer is expected.
    private(set) var isBusy = false

    init(port: UInt16) throws(RawFailure) { try connect(port: port) }

    deinit { disconnect() }

    /// Connects or reconnects to a local port; discards a request in flight.
    func connect(port: UInt16) throws(RawFailure) {
        disconnect()
        let descriptor = Self.makeSocket()
        guard descriptor >= 0 else { throw .system(call: "socket", code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // Connecting to loopback is immediate, so it may block.
        let outcome = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                #if canImport(Darwin)
                    Darwin.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                #else
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                #endif
            }
        }
        guard outcome == 0 else {
            let code = errno
            close(descriptor)
            throw .system(call: "connect", code: code)
        }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        socket = descriptor
        outgoing = []
        sent = 0
        received = 0
        head = nil
        isBusy = false
    }

    func disconnect() {
        if socket >= 0 { close(socket) }
        socket = -1
        isBusy = false
    }

    /// Starts a request; bytes that the socket does not accept immediately are sent by `advance`.
    func send(_ request: RawRequest) -> Progress {
        outgoing = request.bytes
        sent = 0
        received = 0
        head = nil
        isBusy = true
        return flush()
    }

    var wantsToWrite: Bool { sent < outgoing.count }

    /// Continues until the socket would block.
    func advance() -> Progress {
        if wantsToWrite, case .lost(let failure) = flush() { return .lost(failure) }
        return receive()
    }

    /// The body of the answer that `advance` announced.
    var body: [UInt8] {
        guard let head else { return [] }
        switch head.length {
        case .fixed(let count): return Array(incoming[head.size..<head.size + count])
        case .chunked: return ResponseHead.unchunked(incoming[head.size..<received])?.body ?? []
        }
    }

    private func flush() -> Progress {
        while sent < outgoing.count {
            let count = outgoing.withUnsafeBytes { bytes in
                write(socket, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                return .waiting
            } else if errno != EINTR {
                return lose(.system(call: "write", code: errno))
            }
        }
        return .waiting
    }

    private func receive() -> Progress {
        while true {
            if received == incoming.count { incoming += [UInt8](repeating: 0, count: incoming.count) }
            let count = incoming.withUnsafeMutableBytes { bytes in
                read(socket, bytes.baseAddress.map { $0 + received }, bytes.count - received)
            }
            if count > 0 {
                received += count
                let progress = parse()
                if progress != .waiting { return progress }
                if received < incoming.count { return .waiting }
            } else if count == 0 {
                return lose(.connectionLost)
            } else if errno == EAGAIN {
                return .waiting
            } else if errno != EINTR {
                return lose(.connectionLost)
            }
        }
    }

    private func parse() -> Progress {
        if head == nil {
            switch ResponseHead.find(in: incoming, count: received) {
            case .incomplete: return .waiting
            case .malformed: return lose(.malformedAnswer)
            case .found(let found): head = found
            }
        }
        guard let head else { return .waiting }
        switch head.length {
        case .fixed(let count):
            guard received >= head.size + count else { return .waiting }
        case .chunked:
            guard ResponseHead.unchunked(incoming[head.size..<received]) != nil else { return .waiting }
        }
        isBusy = false
        return .answered(status: head.status)
    }

    private func lose(_ failure: RawFailure) -> Progress {
        disconnect()
        return .lost(failure)
    }

    private static func makeSocket() -> Int32 {
        #if canImport(Darwin)
            Darwin.socket(AF_INET, SOCK_STREAM, 0)
        #else
            Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
    }
}
