import Foundation
import Synchronization

/// A mail server on a port of this machine, which takes messages, one connection at a time, on a thread of its own.
package final class MailReceiver: Sendable {
    /// The port that the system chose.
    package let port: Int
    private let text = Mutex("")
    private let messages = Mutex<[Message]>([])
    private let isRefusing = Mutex(false)

    /// A message that was taken.
    package struct Message: Hashable, Sendable {
        /// The address of the envelope.
        package var receiver: String
        /// Header and text, as they came.
        package var content: String
    }

    /// Everything that clients have sent.
    package var received: String { text.withLock { $0 } }

    /// The messages that were taken, oldest first.
    package var taken: [Message] { messages.withLock { $0 } }

    /// Refuses every receiver from now on, or takes them again.
    package func refuse(_ refuses: Bool) { isRefusing.withLock { $0 = refuses } }

    /// The error of a socket that could not be opened.
    package struct NoSocket: Error {}

    /// Opens the port.
    package init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isOpen else {
            close(listener)
            throw NoSocket()
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        // The thread holds the receiver weakly between two connections: it ends with the connection after the last use.
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                guard let receiver = self else {
                    close(connection)
                    break
                }
                receiver.serve(connection)
                close(connection)
            }
            close(listener)
        }
    }

    private func serve(_ connection: Int32) {
        func say(_ line: String) {
            _ = line.withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        }
        say("220 test\r\n")
        var pending = ""
        var receiver = ""
        var isData = false
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            let part = String(decoding: buffer[..<count], as: UTF8.self)
            text.withLock { $0 += part }
            pending += part
            if isData {
                guard pending.hasSuffix("\r\n.\r\n") else { continue }
                isData = false
                messages.withLock { $0.append(Message(receiver: receiver, content: pending)) }
                pending = ""
                say("250 taken\r\n")
                continue
            }
            while let end = pending.range(of: "\r\n") {
                let line = String(pending[..<end.lowerBound])
                pending = String(pending[end.upperBound...])
                if line == "DATA" {
                    isData = true
                    say("354 go on\r\n")
                } else if line == "QUIT" {
                    say("221 bye\r\n")
                    return
                } else if line.hasPrefix("RCPT TO:<") {
                    receiver = String(line.dropFirst(9).prefix { $0 != ">" })
                    say(isRefusing.withLock { $0 } ? "550 no such mailbox\r\n" : "250 ok\r\n")
                } else {
                    say("250 ok\r\n")
                }
            }
        }
    }
}
