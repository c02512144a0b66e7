import ArgumentParser
import CloudKitDevice
import Foundation
import HTTPTransfer
import IdentityDirectory

/// Follows a cloud's directory of identities from another machine.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Verify that a cloud's directory of identities only ever grew.",
        discussion: """
            Fetches the heads of the directory since the last audit, with all changes, recomputes each root, and verifies signatures \
            and history. Run it regularly, on a machine that the cloud's operator does not control. The state file has the newest head; \
            without it the audit begins at the first head. Ends with status 1 when the directory is not what it was.
            """)

    @Argument(help: "The cloud's address, such as https://cloud.example.org.") var url: String
    @Option(help: ArgumentHelp("The file that keeps the state of the audit.", valueName: "file"))
    var state = "welkin-audit.json"

    private struct StateFile: Codable {
        var url: String
        var audit: Data
    }

    func run() async throws {
        let url = url.hasSuffix("/") ? String(url.dropLast()) : url
        let earlier = try earlierAudit(of: url)
        let audit: DirectoryAudit
        do {
            audit = try await DirectoryAudit.following(from: earlier) { try await Self.fetch(url, from: $0) }
        } catch let error as DirectoryError {
            throw CommandFailure(
                "\(error). Keep \(state) as evidence, tell the cloud's users, and do not trust new identities from it.")
        }
        guard let head = audit.head else { return }
        let file = StateFile(url: url, audit: Data(audit.bytes))
        try PrivateFile.replace(state, with: Array(try JSONEncoder().encode(file)))
        let hash = head.hash.bytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        Output.result(
            "Head \(head.number) (\(hash)…) with \(head.count) entries: "
                + "verified \(audit.next - (earlier?.next ?? 0)) new heads since \(earlier == nil ? "the first one" : "the last audit")."
        )
    }

    private func earlierAudit(of url: String) throws -> DirectoryAudit? {
        guard let bytes = try PrivateFile.read(state) else { return nil }
        do {
            let file = try JSONDecoder().decode(StateFile.self, from: Data(bytes))
            guard file.url == url else {
                throw CommandFailure("\(state) belongs to \(file.url). Give another file with --state.")
            }
            return try DirectoryAudit(bytes: Array(file.audit))
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure("\(state) is damaged. Restore it, or give another file with --state to begin again.")
        }
    }

    private static func fetch(_ url: String, from number: UInt64) async throws -> DirectoryHistoryAnswer {
        let request = DeviceRequest(
            method: "GET", url: "\(url)/directory/history?from=\(number)", headers: [:], body: [])
        let response = try await WebSend.send(request)
        guard response.status == 200,
            let answer = try? JSONDecoder().decode(DirectoryHistoryAnswer.self, from: Data(response.body))
        else {
            throw CommandFailure("\(url) did not answer with a directory (HTTP \(response.status)). Check the address.")
        }
        return answer
    }
}
