import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension HTTPClient {
    /// The reason why no answer came.
    package struct Failure: Error, Hashable, Sendable {
        /// The kinds of failure, by what is known of the request.
        package enum Kind: Hashable, Sendable {
            /// The request cannot be written down as HTTP. Nothing was sent.
            case requestUnusable
            /// No connection was made. The request has had no effect.
            case unreachable
            /// The other side could not prove its identity. The request has had no effect.
            case notTrusted
            /// The connection broke while the request was written. Whether it had an effect is unknown.
            case connectionLost
            /// The request was written as a whole, then no answer came, or not all of one. Whether it had an effect is unknown.
            case answerLost
            /// Nothing moved for too long. Whether the request had an effect is unknown.
            case timedOut
            /// There is more of the answer than was asked for at most.
            case answerTooLarge
        }

        /// The kind of failure.
        package var kind: Kind
        /// A fixed sentence for users.
        package var reason: String
        /// Whether the host refused the connection: it is there, and nothing listens at the port.
        package var isRefused = false

        /// Creates a failure.
        package init(_ kind: Kind, reason: String) {
            self.kind = kind
            self.reason = reason
        }
    }
}

extension HTTPClient.Failure: CustomStringConvertible {
    /// A textual form of the value, for logs and debugging.
    package var description: String { reason }
}

/// The progress of a request when it failed.
enum RequestProgress: Hashable {
    /// No byte of it was written.
    case notBegun
    case begun
    /// The last byte of it was written.
    case written
}

extension HTTPClient.Failure {
    /// Puts a name to libcurl's.
    ///
    /// - Parameter systemError: The error number of the last attempt to connect; 0: none.
    init(_ code: CURLcode, at progress: RequestProgress, systemError: Int = 0) {
        let kind: Kind =
            switch (code, progress) {
            case (CURLE_PEER_FAILED_VERIFICATION, _), (CURLE_SSL_CACERT_BADFILE, _), (CURLE_SSL_ISSUER_ERROR, _),
                (CURLE_SSL_INVALIDCERTSTATUS, _), (CURLE_SSL_CERTPROBLEM, _), (CURLE_SSL_CRL_BADFILE, _):
                .notTrusted
            case (CURLE_URL_MALFORMAT, .notBegun), (CURLE_UNSUPPORTED_PROTOCOL, .notBegun):
                .requestUnusable
            case (_, .notBegun): .unreachable
            case (CURLE_OPERATION_TIMEDOUT, _): .timedOut
            case (_, .begun): .connectionLost
            case (_, .written): .answerLost
            }
        if code == CURLE_SSL_CACERT_BADFILE {
            self.init(
                kind,
                reason:
                    "The file of trusted certificates cannot be used: it is missing, or holds none in PEM form (CLOUDKIT_CA_FILE)"
            )
        } else {
            self.init(kind, reason: String(cString: curl_easy_strerror(code)))
            isRefused = kind == .unreachable && code == CURLE_COULDNT_CONNECT && systemError == Int(ECONNREFUSED)
        }
    }

    /// Nothing moved for as long as the request allows.
    init(overdueAt progress: RequestProgress) {
        self.init(progress == .notBegun ? .unreachable : .timedOut, reason: "Nothing came for too long")
    }
}
