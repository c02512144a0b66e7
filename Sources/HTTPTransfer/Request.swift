extension HTTPClient {
    /// One HTTP request.
    package struct Request: Sendable {
        /// The HTTP method.
        package var method: String
        /// Absolute, of scheme `http` or `https`, percent-encoded.
        package var url: String
        /// The header, by name.
        package var headers: [String: String]
        /// The body; empty for none.
        package var body: [UInt8]
        /// The time for which no byte may move, in either direction, from the moment the request's turn has come.
        package var timeLimit: Duration
        /// Whether it does no harm when the other side gets the request twice.
        ///
        /// A connection that was used before may turn out to be dead only when the request was already written to it. A
        /// repeatable request is then sent once more; for any other, the failure is reported.
        package var isRepeatable: Bool
        /// Whether the server takes its time to answer: such a request does not keep others from being sent.
        package var isLongPoll: Bool
        /// An answer with a larger body fails.
        package var answerBytesMax: Int
        /// The addresses, among those that the host's name resolves to, that may be connected to.
        package var reach: Reach

        /// The addresses that a request may be sent to.
        package enum Reach: Hashable, Sendable {
            case anywhere
            /// Public addresses only, whatever the name resolves to at the moment of connecting: for addresses that others
            /// chose. Nothing is sent to this machine or a private network, and no proxy is used.
            case publicOnly
        }

        /// The largest answer that is needed: 400 records of 1 MB (B-LIM-01, B-LIM-05), with space for their notation.
        package static let answerBytesMaxDefault = 512 << 20

        /// - Parameter isRepeatable: nil: by the method, as RFC 9110 §9.2.2 has it.
        package init(
            method: String, url: String, headers: [String: String] = [:], body: [UInt8] = [],
            timeLimit: Duration = .seconds(60), isRepeatable: Bool? = nil, isLongPoll: Bool = false,
            answerBytesMax: Int = answerBytesMaxDefault, reach: Reach = .anywhere
        ) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
            self.timeLimit = timeLimit
            self.isRepeatable = isRepeatable ?? (method == "GET" || method == "HEAD")
            self.isLongPoll = isLongPoll
            self.answerBytesMax = answerBytesMax
            self.reach = reach
        }
    }
}

extension HTTPClient.Request {
    /// Scheme, host and port: what connections are shared by.
    package var origin: Substring {
        var slashes = 0
        return url.prefix { character in
            if character == "/" { slashes += 1 }
            return slashes < 3 && character != "?"
        }
    }

    /// Whether the request stays on this machine: then no proxy has any part in it.
    var isLocal: Bool {
        let host = origin.drop { $0 != "/" }.drop { $0 == "/" }
        return ["127.0.0.1", "localhost", "[::1]"].contains { host == $0 || host.hasPrefix($0 + ":") }
    }

    /// Refuses what would be another request once it is written down.
    func check() throws(HTTPClient.Failure) {
        guard url.hasPrefix("http://") || url.hasPrefix("https://"), url.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw HTTPClient.Failure(.requestUnusable, reason: "The address is not one of the web")
        }
        let words = [method] + headers.keys
        guard words.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isOfToken) }),
            headers.values.allSatisfy({ $0.utf8.allSatisfy { $0 >= 32 && $0 != 127 || $0 == 9 } })
        else {
            throw HTTPClient.Failure(.requestUnusable, reason: "A header has characters that no header can have")
        }
    }
}

extension UInt8 {
    /// Whether a name of a method or header may have this byte (RFC 9110 §5.6.2).
    fileprivate var isOfToken: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }
}
