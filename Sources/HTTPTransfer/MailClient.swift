import CCurl
import Dispatch

/// Sends mail through the SMTP server that the operator has configured, with libcurl.
package struct MailClient: Sendable {
    /// A server and how it is reached.
    package struct Server: Hashable, Sendable {
        /// `smtps://host:port`, or `smtp://host:port`, where TLS is begun before anything else is sent (STARTTLS).
        package var url: String
        /// The name for signing in; nil for none.
        package var user: String?
        /// The password for signing in.
        package var password: String?
        /// The address that messages come from.
        package var sender: String

        /// Creates a server.
        package init(url: String, user: String? = nil, password: String? = nil, sender: String) {
            self.url = url
            self.user = user
            self.password = password
            self.sender = sender
        }

        /// A Boolean value that indicates whether the address is one of a mail server.
        package var isUsable: Bool {
            (url.hasPrefix("smtp://") || url.hasPrefix("smtps://")) && url.utf8.allSatisfy { $0 > 32 && $0 < 127 }
        }

        /// A Boolean value that indicates whether the server is this machine: then plain connections are good enough.
        var isLocal: Bool {
            let host = url.drop { $0 != "/" }.drop { $0 == "/" }
            return ["127.0.0.1", "localhost", "[::1]"].contains { host == $0 || host.hasPrefix($0 + ":") }
        }
    }

    /// A message of plain text.
    package struct Message: Hashable, Sendable {
        /// The address of the receiver.
        package var receiver: String
        /// The subject, in one line.
        package var subject: String
        /// The text.
        package var text: String
        /// The date in the form of mail (RFC 5322 §3.3).
        package var date: String

        /// Creates a message.
        package init(receiver: String, subject: String, text: String, date: String) {
            self.receiver = receiver
            self.subject = subject
            self.text = text
            self.date = date
        }
    }

    /// The error of a message that was not taken.
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The sentence for the operator; it has no password and no address.
        package var description: String
    }

    private let server: Server
    private static let secondsMax = 60

    /// Creates a client of a server.
    package init(_ server: Server) { self.server = server }

    /// Sends a message and waits until the server has taken it.
    ///
    /// - Throws: `Failure`.
    package func send(_ message: Message) async throws(Failure) {
        let result: Result<Void, Failure> = await withCheckedContinuation { continuation in
            // libcurl waits here; a thread of the pool for tasks must not.
            DispatchQueue.global().async { [server] in
                continuation.resume(returning: Result { () throws(Failure) in try Self.deliver(message, server) })
            }
        }
        try result.get()
    }

    private static func deliver(_ message: Message, _ server: Server) throws(Failure) {
        guard server.isUsable, [server.sender, message.receiver].allSatisfy(isAddress) else {
            throw Failure(description: "the mail server or an address is not usable")
        }
        guard let handle = curl_easy_init() else { throw Failure(description: "libcurl cannot be used") }
        defer { curl_easy_cleanup(handle) }
        guard let receivers = curl_slist_append(nil, "<\(message.receiver)>") else {
            throw Failure(description: "there is no memory for a message")
        }
        defer { curl_slist_free_all(receivers) }
        let content = MailContent(message.bytes(from: server.sender))
        var codes = [
            ccurl_set_text(handle, CURLOPT_URL, server.url),
            ccurl_set_text(handle, CURLOPT_MAIL_FROM, "<\(server.sender)>"),
            ccurl_set_pointer(handle, CURLOPT_MAIL_RCPT, receivers),
            ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1),
            ccurl_set_long(handle, CURLOPT_TIMEOUT, secondsMax),
            ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 1),
            ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 2),
            ccurl_set_long(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
            ccurl_set_text(handle, CURLOPT_NOPROXY, "*"),
            ccurl_set_long(handle, CURLOPT_UPLOAD, 1),
            ccurl_set_pointer(handle, CURLOPT_READDATA, Unmanaged.passUnretained(content).toOpaque()),
            ccurl_set_bytes_callback(handle, CURLOPT_READFUNCTION) { buffer, size, count, owner in
                guard let buffer, let owner else { return 0 }
                let content = Unmanaged<MailContent>.fromOpaque(owner).takeUnretainedValue()
                return content.read(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
            },
        ]
        if !server.isLocal { codes.append(ccurl_set_long(handle, CURLOPT_USE_SSL, Int(CURLUSESSL_ALL.rawValue))) }
        if let user = server.user {
            codes.append(ccurl_set_text(handle, CURLOPT_USERNAME, user))
            codes.append(ccurl_set_text(handle, CURLOPT_PASSWORD, server.password ?? ""))
        }
        guard codes.allSatisfy({ $0 == CURLE_OK }) else {
            throw Failure(description: "this libcurl cannot send mail")
        }
        let result = withExtendedLifetime(content) { curl_easy_perform(handle) }
        guard result == CURLE_OK else {
            throw Failure(
                description: "the mail server took no message: \(String(cString: curl_easy_strerror(result)))")
        }
    }

    /// Nothing that could end a line of the protocol.
    private static func isAddress(_ text: String) -> Bool {
        text.contains("@")
            && text.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">") }
    }
}

/// The bytes of a message while libcurl reads them; used by one transfer.
private final class MailContent {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let part = rest.prefix(buffer.count)
        buffer.copyBytes(from: part)
        rest = rest.dropFirst(part.count)
        return part.count
    }
}

extension MailClient.Message {
    /// The message with its header, lines ended as mail has them.
    func bytes(from sender: String) -> [UInt8] {
        let header = [
            "From: <\(sender)>", "To: <\(receiver)>", "Subject: \(Self.oneLine(subject))",
            "Date: \(Self.oneLine(date))",
            "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit",
            "Auto-Submitted: auto-generated",
        ]
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.filter { $0 != "\r" } }
        return Array((header + [""] + lines).joined(separator: "\r\n").utf8) + [13, 10]
    }

    private static func oneLine(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 >= 32 && $0 < 127 ? $0 : UInt8(ascii: " ") }, as: UTF8.self)
    }
}
