import Dispatch
import Foundation
import Synchronization

/// The reason why the system does not let this process listen.
struct LoopbackFailure: Error, Hashable {
    let reason: String
}

/// A small HTTP server on 127.0.0.1, for a few requests of one browser: one request a connection.
///
/// Sockets of the system instead of a server of a package, so that apps get no dependencies by it (decision 0015).
final class LoopbackListener: Sendable {
    private static let connectionsMax = 32
    private static let secondsMax = 10

    /// The port.
    let port: UInt16

    private let handler: @Sendable (LoopbackRequest) async -> LoopbackResponse
    private let sent: @Sendable (LoopbackRequest, LoopbackResponse) -> Void
    // Dispatch's objects may be used from any thread, which their types do not say on Linux.
    private nonisolated(unsafe) let source: any DispatchSourceRead
    private let connections = Mutex(0)
    private let queue = DispatchQueue(label: "org.welkin.CloudKitUI.loopback", attributes: .concurrent)

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - port: 0: the system chooses one.
    ///   - sent: Receives each request of the handler and its answer, when the system has the whole answer.
    ///   - handler: Answers a request.
    /// - Throws: `LoopbackFailure`.
    init(
        port wanted: UInt16 = 0, sent: @escaping @Sendable (LoopbackRequest, LoopbackResponse) -> Void = { _, _ in },
        handler: @escaping @Sendable (LoopbackRequest) async -> LoopbackResponse
    ) throws {
        let (descriptor, port) = try Self.openSocket(wanted)
        self.port = port
        self.handler = handler
        self.sent = sent
        source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor, queue: DispatchQueue(label: "org.welkin.CloudKitUI.accept"))
        source.setCancelHandler { close(descriptor) }
        source.setEventHandler { [weak self] in self?.acceptAll(from: descriptor) }
        source.resume()
    }

    /// Stops listening; answers that are being sent are sent.
    func stop() { source.cancel() }

    deinit { source.cancel() }

    // MARK: Sockets

    private static func openSocket(_ port: UInt16) throws -> (Int32, UInt16) {
        #if os(Linux)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw failure() }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard isListening, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
            let error = failure()
            close(descriptor)
            throw error
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private static func failure() -> LoopbackFailure { LoopbackFailure(reason: String(cString: strerror(errno))) }

    private func acceptAll(from listener: Int32) {
        while true {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { accept(listener, $0, &size) }
            }
            guard descriptor >= 0 else { return }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let hasRoom = connections.withLock { count in
                guard count < Self.connectionsMax else { return false }
                count += 1
                return true
            }
            guard hasRoom else {
                close(descriptor)
                continue
            }
            let peer = UInt16(bigEndian: address.sin_port)
            queue.async { [self] in serve(descriptor, peer: peer) }
        }
    }

    private func end(_ descriptor: Int32) {
        close(descriptor)
        connections.withLock { $0 -= 1 }
    }

    private func serve(_ descriptor: Int32, peer: UInt16) {
        guard LoopbackPeer.isOwnUser(port: port, peer: peer) else { return end(descriptor) }
        var limit = timeval(tv_sec: Self.secondsMax, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        switch Self.receive(from: descriptor) {
        case .incomplete: end(descriptor)
        case .refused(let status):
            Self.transmit(LoopbackResponse(status: status).bytes, to: descriptor)
            end(descriptor)
        case .request(let request):
            Task { [self] in
                let response = await handler(request)
                queue.async { [self] in
                    Self.transmit(response.bytes, to: descriptor)
                    end(descriptor)
                    sent(request, response)
                }
            }
        }
    }

    private static func receive(from descriptor: Int32) -> LoopbackRequest.Reading {
        let deadline = DispatchTime.now() + .seconds(secondsMax)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while DispatchTime.now() < deadline {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return .incomplete }
            bytes += buffer[..<count]
            let reading = LoopbackRequest.read(bytes)
            if reading != .incomplete { return reading }
        }
        return .incomplete
    }

    private static func transmit(_ bytes: [UInt8], to descriptor: Int32) {
        #if os(Linux)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
