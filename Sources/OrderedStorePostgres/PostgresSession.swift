import CPostgres
import OrderedStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One connection of libpq, in its non-blocking pipeline mode: several statements travel together, and their answers as well.
///
/// Its functions wait for the server, at most as long as the options say. They run on a thread of the connection's own.
struct PostgresSession: ~Copyable {
    private var connection: OpaquePointer?
    /// Counts the server's warnings; libpq writes to it.
    private let warnings: UnsafeMutablePointer<CInt>
    private let configuration: PostgresConfiguration
    private let options: PostgresStore.Options
    private var prepared: Set<String> = []
    /// Whether a transaction was begun whose end is not yet known.
    private(set) var isInTransaction = false
    /// Answers of statements that nothing waited for.
    private var unreadSyncs = 0
    /// Raised whenever a transaction begins or ends.
    private var turn = 0

    /// Connects.
    ///
    /// - Throws: `away` when the server cannot be reached or is about to start, `refused` for anything that trying again
    ///   does not change.
    init(_ configuration: PostgresConfiguration, _ options: PostgresStore.Options) throws(PostgresFailure) {
        self.configuration = configuration
        self.options = options
        warnings = .allocate(capacity: 1)
        warnings.initialize(to: 0)
        try connectToAnyHost()
        // Engines that do not know a setting go without it.
        for statement in [PostgresStatement.endIdleTransactions, .awaitDisk, .keepPlans, .useIndexes, .workAlone] {
            try? run(PostgresRequest(statement))
        }
    }

    deinit {
        if let connection { PQfinish(connection) }
        warnings.deallocate()
    }

    /// Whether the connection can be used.
    var isOpen: Bool { connection.map { PQstatus($0) == CONNECTION_OK } ?? false }

    /// The socket; -1 if there is none.
    var descriptor: CInt { connection.map { PQsocket($0) } ?? -1 }

    /// The number of warnings that the server has sent with or before the answers read so far.
    var warningCounter: UnsafePointer<CInt> { UnsafePointer(warnings) }

    /// The values that errors show.
    var details: [String: String] { configuration.details }

    mutating func close() {
        if let connection { PQfinish(connection) }
        connection = nil
    }

    /// A number for what begins now; it is good until `endTurn`.
    mutating func beginTurn() -> Int {
        turn += 1
        return turn
    }

    mutating func endTurn() { turn += 1 }

    /// - Throws: `closed` when what `turn` stands for has ended.
    func check(_ turn: Int) throws(StoreError) {
        if turn != self.turn { throw .transactionEnded }
    }
}

// MARK: Connecting

extension PostgresSession {
    private static func start(_ parameters: [String: String]) -> OpaquePointer? {
        let pairs = parameters.sorted { $0.key < $1.key }
        let keywords = pairs.map { strdup($0.key) }
        let values = pairs.map { strdup($0.value) }
        defer { for text in keywords + values { free(text) } }
        let keywordPointers = keywords.map { UnsafePointer($0) } + [nil]
        let valuePointers = values.map { UnsafePointer($0) } + [nil]
        return PQconnectStartParams(keywordPointers, valuePointers, 0)
    }

    /// Connects to the first of the hosts that takes the connection, beginning with the one that did so last.
    ///
    /// Not left to libpq: without blocking it would wait at a host that takes connections and says nothing, as a frozen one does, and never come
    /// to the others.
    private mutating func connectToAnyHost() throws(PostgresFailure) {
        let hosts = configuration.hosts
        let first = configuration.preferredHost.load()
        var failure: PostgresFailure?
        for offset in hosts.indices {
            let index = (first + offset) % hosts.count
            do throws(PostgresFailure) {
                connection = Self.start(hosts[index])
                try connect(within: options.connectTimeout / hosts.count)
                configuration.preferredHost.store(index)
                return
            } catch {
                close()
                guard case .away = error else { throw error }
                if failure == nil { failure = error }
            }
        }
        throw failure ?? lost()
    }

    private mutating func connect(within timeout: Duration) throws(PostgresFailure) {
        guard let connection else {
            throw .away(
                StoreError(
                    code: .unavailable, reason: "there is not enough memory for a connection",
                    remedy: "free memory, then try again"))
        }
        // So that the kind of an error can be told from libpq's text, in every language of the server.
        PQsetErrorVerbosity(connection, PQERRORS_SQLSTATE)
        cpostgres_count_warnings(connection, warnings)
        let deadline = deadline(after: timeout)
        var events = Int16(POLLOUT)
        var state = PQstatus(connection) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK, state != PGRES_POLLING_FAILED {
            guard wait(for: events, until: deadline) else { throw .away(.noAnswer(configuration.details)) }
            state = PQconnectPoll(connection)
            events = Int16(state == PGRES_POLLING_READING ? POLLIN : POLLOUT)
        }
        if state == PGRES_POLLING_OK, PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 {
            return
        }
        if message.hasPrefix("invalid ") { throw .refused(.invalidParameter(message, configuration.details)) }
        let error = StoreError.noConnection(message, configuration.details)
        // Without SQLSTATE it is the network, or TLS, which may be a server that has just been replaced.
        guard let sqlState = error.details["sqlstate"] else { throw .away(error) }
        throw PostgresFailure.endsConnection(sqlState) || sqlState == "53300" ? .away(error) : .refused(error)
    }

    /// libpq's last message without the password.
    private var message: String {
        var text = connection.flatMap { PQerrorMessage($0) }.map { String(cString: $0) } ?? ""
        if let password = configuration.password, !password.isEmpty { text = text.replacing(password, with: "…") }
        return text.split(separator: "\n").joined(separator: " ")
    }
}

// MARK: Statements

extension PostgresSession {
    /// Sends a statement and waits for its end.
    mutating func run(_ request: PostgresRequest) throws(PostgresFailure) {
        try exchange([request]) { _, _ in }
    }

    /// Sends statements together and waits for all of their answers. After an error the server ignores those behind it.
    ///
    /// - Parameter visit: Called with the index of each statement that succeeded, and its answer.
    mutating func exchange(
        _ requests: [PostgresRequest], _ visit: (Int, borrowing PostgresAnswer) -> Void
    ) throws(PostgresFailure) {
        guard isOpen else { throw lost() }
        var expected: [Expected] = []
        var injected: PostgresFault?
        for (index, request) in requests.enumerated() {
            if let fault = options.fault?(request.statement) {
                injected = fault
                if fault == .lostBefore {
                    close()
                    throw lost()
                }
                if fault != .lostAfter { break }
            }
            try send(request, index, &expected)
            if request.statement.beginsTransaction { isInTransaction = true }
        }
        try sync()
        var hasEnded = false
        defer { if hasEnded { isInTransaction = false } }
        try receive(expected) { index, answer in
            if requests[index].statement.endsTransaction { hasEnded = true }
            visit(index, answer)
        }
        if let injected {
            if case .refused(let state) = injected {
                throw PostgresFailure(state: state, details: configuration.details)
            }
            close()
            throw lost()
        }
    }

    /// Sends a statement without waiting for its answer, which the next exchange skips.
    mutating func runLater(_ request: PostgresRequest) {
        guard isOpen else { return }
        var expected: [Expected] = []
        do throws(PostgresFailure) {
            if options.fault?(request.statement) != nil { throw lost() }
            try send(request, 0, &expected)
            try sync()
            unreadSyncs += 1
            if request.statement.endsTransaction { isInTransaction = false }
            // What does not fit into the socket at once goes with the next exchange.
            if let connection, PQflush(connection) < 0 { throw lost() }
        } catch {
            close()
        }
    }

    private enum Expected {
        case prepared(String)
        case answer(Int)
    }

    private mutating func send(
        _ request: PostgresRequest, _ index: Int, _ expected: inout [Expected]
    ) throws(PostgresFailure) {
        let statement = request.statement
        let types = statement.parameterTypes.map(\.rawValue)
        let name = statement.name
        let isPrepared = configuration.preparesStatements && statement.scope != .opening
        var sent: CInt = 1
        if isPrepared, !prepared.contains(name) {
            sent = PQsendPrepare(
                connection, name, statement.sql(schema: configuration.schema), CInt(types.count), types)
            // Good until an answer says otherwise.
            prepared.insert(name)
            expected.append(.prepared(name))
        }
        var buffer: Bytes = []
        let ends = request.parameters.map { parameter in
            parameter.append(to: &buffer)
            return buffer.count
        }
        // So that an empty value has an address: without one it would be NULL.
        buffer.append(0)
        let formats = [CInt](repeating: 1, count: ends.count)
        let lengths = ends.indices.map { CInt(ends[$0] - ($0 == 0 ? 0 : ends[$0 - 1])) }
        let connection = connection
        let schema = configuration.schema
        let sentQuery = buffer.withUnsafeBytes { bytes in
            let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = ends.indices.map { index in start.map { $0 + (index == 0 ? 0 : ends[index - 1]) } }
            return isPrepared
                ? PQsendQueryPrepared(connection, name, CInt(ends.count), values, lengths, formats, 1)
                : PQsendQueryParams(
                    connection, statement.sql(schema: schema), CInt(ends.count), types, values, lengths, formats, 1)
        }
        expected.append(.answer(index))
        guard sent == 1, sentQuery == 1 else {
            close()
            throw lost()
        }
    }

    private mutating func sync() throws(PostgresFailure) {
        guard let connection, PQpipelineSync(connection) == 1 else {
            close()
            throw lost()
        }
    }

    private mutating func receive(
        _ expected: [Expected], _ visit: (Int, borrowing PostgresAnswer) -> Void
    ) throws(PostgresFailure) {
        let deadline = deadline(after: options.answerTimeout)
        var next = 0
        var failure: PostgresFailure?
        while true {
            guard let pointer = try result(until: deadline) else { continue }
            let answer = PostgresAnswer(pointer)
            if answer.status == PGRES_PIPELINE_SYNC {
                if unreadSyncs == 0 { break }
                unreadSyncs -= 1
                continue
            }
            if unreadSyncs > 0 { continue }
            guard next < expected.count else { continue }
            switch answer.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                if case .answer(let index) = expected[next] { visit(index, answer) }
            default:
                if case .prepared(let name) = expected[next] { prepared.remove(name) }
                if failure == nil, answer.status != PGRES_PIPELINE_ABORTED { failure = self.failure(of: answer) }
            }
            next += 1
        }
        if let failure {
            // What does not accept writes, or is about to stop, is connected to again.
            if case .away = failure { close() }
            throw failure
        }
    }

    private func failure(of answer: borrowing PostgresAnswer) -> PostgresFailure {
        let state = answer.sqlState
        return state.isEmpty ? lost() : PostgresFailure(state: state, details: configuration.details)
    }

    /// Returns the next result; nil at the end of the results of one statement.
    private mutating func result(until deadline: UInt64) throws(PostgresFailure) -> OpaquePointer? {
        guard let connection else { throw lost() }
        while true {
            let flushed = PQflush(connection)
            if flushed == 0, PQisBusy(connection) == 0 { break }
            if flushed < 0, PQstatus(connection) == CONNECTION_BAD, PQisBusy(connection) == 0 { break }
            guard wait(for: Int16(flushed == 1 ? POLLIN | POLLOUT : POLLIN), until: deadline) else {
                close()
                throw .away(.noAnswer(configuration.details))
            }
            if PQconsumeInput(connection) == 0, PQisBusy(connection) != 0 {
                close()
                throw lost()
            }
        }
        let result = PQgetResult(connection)
        if PQstatus(connection) == CONNECTION_BAD {
            // The server may have said why before it went.
            let state = result.flatMap { PQresultErrorField($0, 0x43) }.map { String(cString: $0) } ?? ""
            if let result { PQclear(result) }
            close()
            throw state.isEmpty ? lost() : .away(StoreError(sqlState: state, details: configuration.details))
        }
        return result
    }

    /// The error of a connection that is gone.
    func lost() -> PostgresFailure { .away(.lostConnection(configuration.details)) }

    private func deadline(after duration: Duration) -> UInt64 { options.now() &+ duration.nanoseconds }

    /// Waits until the socket is ready.
    ///
    /// - Returns: false: the time is over.
    private func wait(for events: Int16, until deadline: UInt64) -> Bool {
        while true {
            let now = options.now()
            var socket = pollfd(fd: descriptor, events: events, revents: 0)
            let left = deadline > now ? (deadline - now + 999_999) / 1_000_000 : 0
            let count = poll(&socket, 1, CInt(clamping: left))
            if count > 0 { return true }
            if count == 0, options.now() >= deadline || left == 0 { return false }
            if count < 0, errno != EINTR { return true }
        }
    }
}

// MARK: Notifications

extension PostgresSession {
    /// Takes the notifications that have arrived, as channel and text, without waiting.
    ///
    /// - Parameter isReadable: Whether the socket has something to read.
    mutating func takeNotifications(isReadable: Bool) throws(PostgresFailure) -> [String] {
        guard let connection, isOpen else { throw lost() }
        if isReadable, PQconsumeInput(connection) == 0 {
            close()
            throw lost()
        }
        var texts: [String] = []
        while let notification = PQnotifies(connection) {
            texts.append(String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
        return texts
    }
}

extension Duration {
    /// The whole of the duration in nanoseconds.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(clamping: attoseconds / 1_000_000_000)
    }
}
