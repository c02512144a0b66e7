#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The thread that does the work of one client.
struct LoopThread: Sendable {
    /// False when the system gave no thread, or libcurl no handle: then the queue is not read.
    let isRunning: Bool

    /// - Parameter requestQueue: Its `close` ends the thread.
    init(requestQueue: RequestQueue, authoritiesFile: String?, requestsPerOriginMax: Int) {
        let loop = TransferLoop(
            requestQueue: requestQueue, authoritiesFile: authoritiesFile, requestsPerOriginMax: requestsPerOriginMax)
        guard let loop else {
            isRunning = false
            return
        }
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        // The thread keeps its loop until the queue is closed.
        let context = Unmanaged.passRetained(loop)
        guard pthread_create(&thread, nil, { runLoop($0) }, context.toOpaque()) == 0 else {
            context.release()
            isRunning = false
            return
        }
        #if canImport(Darwin)
            if let thread { pthread_detach(thread) }
        #else
            pthread_detach(thread)
        #endif
        isRunning = true
    }

    /// Signals are for the app's threads. SIGPIPE above all: TLS writes with `write`, and a connection that the other side has
    /// closed would end the process.
    fileprivate static func blockSignals() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
    }
}

#if canImport(Darwin)
    private func runLoop(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        LoopThread.blockSignals()
        Unmanaged<TransferLoop>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#else
    private func runLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let context else { return nil }
        LoopThread.blockSignals()
        Unmanaged<TransferLoop>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#endif
