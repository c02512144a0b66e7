import Foundation

/// The other end of a connection on the loopback address: which user of the machine opened it.
///
/// Other users of a machine reach its loopback address too, and can read the arguments of `xdg-open`.
enum LoopbackPeer {
    /// Returns whether the user of a connection, as Linux lists it, is the one given; nil where it is not listed.
    ///
    /// - Parameters:
    ///   - table: The text of `/proc/net/tcp` or `/proc/net/tcp6`.
    ///   - port: The port of the listener.
    ///   - peer: The port of the other end.
    static func isUser(_ user: UInt32, in table: String, port: UInt16, peer: UInt16) -> Bool? {
        let (local, remote) = (address(peer), address(port))
        for line in table.split(separator: "\n").dropFirst() {
            let columns = line.split(separator: " ")
            guard columns.count > 7, columns[1].hasSuffix(local), columns[2].hasSuffix(remote) else { continue }
            return UInt32(columns[7]) == user
        }
        return nil
    }

    /// Returns whether a connection is of this process's user. Where the system does not tell, the secret alone decides.
    static func isOwnUser(port: UInt16, peer: UInt16) -> Bool {
        // A list that changes while it is read may lack a line.
        for _ in 0..<10 {
            let tables = ["/proc/net/tcp", "/proc/net/tcp6"].compactMap {
                try? String(contentsOfFile: $0, encoding: .utf8)
            }
            if tables.isEmpty { return true }
            let found = tables.lazy.compactMap { isUser(getuid(), in: $0, port: port, peer: peer) }.first
            if let found { return found }
        }
        return true
    }

    /// 127.0.0.1 and a port as the table writes them, also behind the prefix of a mapped address.
    private static func address(_ port: UInt16) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return "0100007F:" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
