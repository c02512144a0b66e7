import CEventPoll

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Waits for many sockets at once: for what arrives, and for the possibility to send where that is wanted.
///
/// On Linux a wait takes as long as there are sockets that are ready, and not as there are sockets.
final class SocketWatcher {
    #if os(Linux)
        private let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        private var events = [epoll_event](repeating: epoll_event(), count: 1024)

        deinit { close(descriptor) }

        /// Watches a new socket; a closed one is forgotten.
        ///
        /// - Parameter index: Returned when the socket is ready.
        func add(_ socket: Int32, index: Int) { control(EPOLL_CTL_ADD, socket, index, sends: false) }

        /// Changes whether the possibility to send is waited for.
        func change(_ socket: Int32, index: Int, sends: Bool) { control(EPOLL_CTL_MOD, socket, index, sends: sends) }

        /// Returns the indices of sockets that are ready, none when the time is over.
        func wait(milliseconds: Int32) -> [Int] {
            let count = epoll_wait(descriptor, &events, Int32(events.count), milliseconds)
            return (0..<max(0, Int(count))).map { Int(events[$0].data.u64) }
        }

        private func control(_ operation: Int32, _ socket: Int32, _ index: Int, sends: Bool) {
            let wanted = sends ? EPOLLIN.rawValue | EPOLLOUT.rawValue : EPOLLIN.rawValue
            var event = epoll_event(events: wanted, data: epoll_data_t(u64: UInt64(index)))
            epoll_ctl(descriptor, operation, socket, &event)
        }
    #else
        private var watched: [Int: pollfd] = [:]

        /// Watches a new socket.
        ///
        /// - Parameter index: Returned when the socket is ready.
        func add(_ socket: Int32, index: Int) { change(socket, index: index, sends: false) }

        /// Changes whether the possibility to send is waited for.
        func change(_ socket: Int32, index: Int, sends: Bool) {
            watched[index] = pollfd(fd: socket, events: Int16(POLLIN | (sends ? POLLOUT : 0)), revents: 0)
        }

        /// Returns the indices of sockets that are ready, none when the time is over.
        func wait(milliseconds: Int32) -> [Int] {
            let indices = Array(watched.keys)
            var descriptors = indices.compactMap { watched[$0] }
            guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return [] }
            let ready = zip(indices, descriptors).filter { $1.revents != 0 }
            for (index, descriptor) in ready where descriptor.revents & Int16(POLLNVAL) != 0 { watched[index] = nil }
            return ready.map(\.0)
        }
    #endif
}
