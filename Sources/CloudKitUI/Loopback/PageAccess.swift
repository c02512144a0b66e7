/// Which requests of a page are let in: those of the one browser tab that brought the secret first.
struct PageAccess {
    /// What comes of a secret.
    enum Exchange: Hashable {
        /// The token of the session, for the tab alone.
        case granted(String)
        /// Another tab has brought it.
        case used
        case refused
    }

    /// In the fragment of the page's address, which browsers do not send.
    let secret: String
    private let session: String
    private var isUsed = false

    private static let secretBytes = 32

    init(using generator: inout some RandomNumberGenerator) {
        func token(_ generator: inout some RandomNumberGenerator) -> String {
            (0..<Self.secretBytes).map { _ in
                let digits = String(UInt8.random(in: 0...255, using: &generator), radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
        }
        secret = token(&generator)
        session = token(&generator)
    }

    /// Exchanges the secret for the token of a session, once.
    mutating func exchange(_ offered: String) -> Exchange {
        guard Self.isSame(offered, secret) else { return .refused }
        guard !isUsed else { return .used }
        isUsed = true
        return .granted(session)
    }

    /// Returns whether a request has the token of the session.
    func isSession(_ authorization: String?) -> Bool {
        guard isUsed, let authorization else { return false }
        return Self.isSame(authorization, "Bearer " + session)
    }

    /// Compares in a time that does not depend on where the texts differ.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// When a page that is not closed with its button has gone.
struct PageLife: Hashable {
    /// Until a browser has opened the page.
    static let openingMax: Duration = .seconds(600)
    /// Between requests of an open page; hidden tabs ask once a minute.
    static let silenceMax: Duration = .seconds(180)
    /// After the tab was closed, or is loaded again.
    static let closingMax: Duration = .seconds(3)

    private var end: Duration

    /// - Parameter time: The time on some clock, for all functions.
    init(at time: Duration) { end = time + Self.openingMax }

    /// Notes a request of the page.
    mutating func noteRequest(at time: Duration) { end = time + Self.silenceMax }

    /// Notes that the tab is closed or loaded again.
    mutating func noteClosing(at time: Duration) { end = time + Self.closingMax }

    func isOver(at time: Duration) -> Bool { time >= end }
}
