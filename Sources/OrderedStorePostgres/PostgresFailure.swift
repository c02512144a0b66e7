import OrderedStore

/// The reason why a transaction did not take effect, by what follows from it.
enum PostgresFailure: Error, Hashable {
    /// The server refuses it beside others of the same time: run it again.
    case conflict(StoreError)
    /// The connection is gone, or the server does not answer or does not accept writes at the moment: connect and run it again.
    case away(StoreError)
    /// No repetition helps.
    case refused(StoreError)

    /// The error to report when the transaction is not run again.
    var error: StoreError {
        switch self {
        case .conflict(let error), .away(let error), .refused(let error): error
        }
    }

    /// Reads a server's error.
    ///
    /// - Parameter state: SQLSTATE, five characters.
    init(state: String, details: [String: String]) {
        let error = StoreError(sqlState: state, details: details)
        switch state {
        case "40001", "40P01": self = .conflict(error)
        case "25006": self = .away(error)
        default: self = Self.endsConnection(state) ? .away(error) : .refused(error)
        }
    }

    /// Whether the server ends the connection with this error, or answers it while it starts or stops.
    static func endsConnection(_ state: String) -> Bool {
        state.hasPrefix("08") || ["57P01", "57P02", "57P03", "57P05", "25P03"].contains(state)
    }
}
