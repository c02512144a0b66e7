import OrderedStore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Tells the other processes of a database which partitions were changed here, and learns what they changed: on a connection of its
/// own, after the commits, many in one message.
///
/// Nothing depends on a message: one that is lost delays a device until it asks again.
final class HintExchange: Sendable {
    private struct State {
        var outgoing: [Partition] = []
        var known: Set<Partition> = []
        var isClosed = false
        var mark: Int64 = 0
        /// Ended when the exchange is closed.
        var running: Task<Void, Never>?
        /// The pipe whose other end wakes the thread.
        var wakeDescriptor: CInt = -1
        /// Whether the thread waits for the pipe, which nobody has written to.
        var isAsleep = false
    }

    private let options: PostgresStore.Options
    private let channel: String
    /// Tells the messages of this process from those of others.
    private let sender: String
    private let state = Mutex(State())

    init(_ options: PostgresStore.Options) {
        self.options = options
        channel = PostgresStatement.channel(schema: options.configuration.schema)
        sender = String(options.random(), radix: 36)
    }

    /// Changes when other processes may have committed.
    var mark: Int64 { state.withLock { $0.mark } }

    /// Reports commits of this process. Returns at once.
    func send(_ partitions: [Partition]) {
        state.withLock { state in
            if state.isClosed { return }
            for partition in partitions where state.known.insert(partition).inserted {
                state.outgoing.append(partition)
            }
            wake(&state)
        }
    }

    /// Starts the exchange on a thread of its own.
    ///
    /// - Parameters:
    ///   - receive: Called with the partitions that another process reports.
    ///   - paused: Called after each pause.
    func start(receive: @escaping @Sendable ([Partition]) -> Void, paused: @escaping @Sendable () async -> Void) {
        var descriptors: [CInt] = [-1, -1]
        guard pipe(&descriptors) == 0 else { return }
        for descriptor in descriptors {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        }
        let (input, output) = (descriptors[0], descriptors[1])
        let task = Task { [self] in
            await run(waking: input, receive: receive, paused: paused)
            state.withLock { $0.wakeDescriptor = -1 }
            _ = close(input)
            _ = close(output)
        }
        state.withLock { state in
            state.running = task
            state.wakeDescriptor = output
        }
    }

    /// Ends the exchange.
    func end() async {
        let running = state.withLock { state in
            state.isClosed = true
            wake(&state)
            return state.running
        }
        await running?.value
    }

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    private func wake(_ state: inout State) {
        guard state.isAsleep else { return }
        state.isAsleep = false
        var byte: UInt8 = 0
        // A pipe that is full wakes as well.
        if state.wakeDescriptor >= 0 { _ = write(state.wakeDescriptor, &byte, 1) }
    }

    private func run(
        waking input: CInt, receive: @Sendable ([Partition]) -> Void, paused: @Sendable () async -> Void
    ) async {
        var failures = 0
        while !isClosed {
            do {
                let connection = try await PostgresConnection.open(options.configuration, options)
                defer { connection.close() }
                try connection.use { (session) throws(PostgresFailure) in
                    // Engines without notifications refuse it; then the mark changes with each pause.
                    try session.run(PostgresRequest(.listen))
                }
                failures = 0
                var lastPause = options.now()
                var lastMessages: UInt64 = 0
                // What was reported while there was no connection.
                state.withLock { $0.mark += 1 }
                while !isClosed {
                    let received = try await withTaskExecutorPreference(connection.thread) {
                        try wait(on: connection, input, after: lastMessages)
                    }
                    lastMessages = options.now()
                    if let received, !received.isEmpty { receive(received) }
                    // Also while messages keep coming.
                    if received == nil || options.now() &- lastPause >= options.pollInterval.nanoseconds {
                        await paused()
                        lastPause = options.now()
                    }
                }
            } catch {
                failures += 1
                state.withLock { $0.mark += 1 }
                await pause(min(options.pollInterval, .milliseconds(100) * (1 << min(failures, 6))), input)
                await paused()
            }
        }
    }

    /// The least time between messages of a process, and between its looks at those of others, in nanoseconds: what comes faster shares a message,
    /// so that hints cost a process no more than this however many others there are.
    private static let gap: UInt64 = 2_000_000

    /// Sends what there is to send, and waits for messages, for a call to `send`, or until the pause is over.
    ///
    /// - Parameter last: When it last returned.
    /// - Returns: The partitions that others report; nil: the pause is over.
    private func wait(
        on connection: PostgresConnection, _ input: CInt, after last: UInt64
    ) throws(PostgresFailure) -> [Partition]? {
        let passed = options.now() &- last
        if passed < Self.gap { usleep(UInt32((Self.gap - passed) / 1000)) }
        let texts = try connection.use { (session) throws(PostgresFailure) -> [String]? in
            let (outgoing, isClosed) = state.withLock { state in
                defer { (state.outgoing, state.known) = ([], []) }
                state.isAsleep = state.outgoing.isEmpty && !state.isClosed
                return (state.outgoing, state.isClosed)
            }
            if isClosed, outgoing.isEmpty { return [] }
            for text in HintMessage.texts(of: outgoing, from: sender) {
                try session.run(PostgresRequest(.notify, .text(channel), .text(text)))
            }
            // Some may have come with the answers.
            let early = try session.takeNotifications(isReadable: false)
            if !early.isEmpty || !outgoing.isEmpty { return early }
            var descriptors = [
                pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: input, events: Int16(POLLIN), revents: 0),
            ]
            let milliseconds = CInt(clamping: options.pollInterval.nanoseconds / 1_000_000)
            let count = poll(&descriptors, 2, milliseconds)
            state.withLock { $0.isAsleep = false }
            guard count > 0 else { return nil }
            if descriptors[1].revents != 0 { Self.drain(input) }
            return try session.takeNotifications(isReadable: descriptors[0].revents != 0)
        }
        guard let texts else { return nil }
        let messages = texts.compactMap { HintMessage($0) }.filter { $0.sender != sender }
        let partitions = messages.flatMap(\.partitions)
        let isMarked = partitions.contains { options.markedPartitions?.contains($0) ?? true }
        if isMarked { state.withLock { $0.mark += 1 } }
        return partitions
    }

    /// Waits for a time, or until the exchange is closed.
    private func pause(_ duration: Duration, _ input: CInt) async {
        let end = options.now() &+ duration.nanoseconds
        while !isClosed, options.now() < end {
            guard (try? await options.sleep(min(duration, .milliseconds(100)))) != nil else { return }
        }
        Self.drain(input)
    }

    private static func drain(_ input: CInt) {
        var buffer = [UInt8](repeating: 0, count: 256)
        while read(input, &buffer, buffer.count) > 0 {}
    }
}

/// A message between processes: who sends it and which partitions changed.
struct HintMessage: Hashable {
    let sender: String
    let partitions: [Partition]

    /// PostgreSQL refuses messages of 8,000 bytes.
    private static let bytesMax = 7900

    private init(sender: String, partitions: [Partition]) {
        self.sender = sender
        self.partitions = partitions
    }

    /// Reads a message; nil if it is none.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let sender = lines.first, lines.count > 1 else { return nil }
        self.init(sender: String(sender), partitions: lines.dropFirst().map { Partition(Self.unescaped($0)) })
    }

    /// Returns the messages that name partitions, none of them too long.
    static func texts(of partitions: [Partition], from sender: String) -> [String] {
        var texts: [String] = []
        var text = sender
        for partition in partitions {
            let line = "\n" + escaped(partition.name)
            if text.utf8.count + line.utf8.count > bytesMax, text != sender {
                texts.append(text)
                text = sender
            }
            text += line
        }
        return text == sender ? texts : texts + [text]
    }

    private static func escaped(_ name: String) -> String {
        // Almost none has any of them, and replacing is slow.
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "\n") || $0 == 0 }) else {
            return name
        }
        return name.replacing("%", with: "%25").replacing("\n", with: "%0A").replacing("\0", with: "%00")
    }

    private static func unescaped(_ line: Substring) -> String {
        guard line.utf8.contains(UInt8(ascii: "%")) else { return String(line) }
        return String(line).replacing("%0A", with: "\n").replacing("%00", with: "\0").replacing("%25", with: "%")
    }
}
