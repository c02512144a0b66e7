import CloudKitAccounts
import Synchronization

/// Messages about what was done, each for the next page that its session shows.
///
/// In memory, not in addresses: a link from elsewhere must not put words into the Console.
final class Notices: Sendable {
    private let waiting = Mutex<[String: String]>([:])
    private static let sessionsMax = 1000

    /// Keeps a message for a session's next page.
    func put(_ text: String, for session: ConsoleSession) {
        waiting.withLock { waiting in
            if waiting.count >= Self.sessionsMax { waiting.removeAll() }
            waiting[session.hash] = text
        }
    }

    /// Takes the message for a session's page.
    func take(for session: ConsoleSession) -> String? { waiting.withLock { $0.removeValue(forKey: session.hash) } }
}
