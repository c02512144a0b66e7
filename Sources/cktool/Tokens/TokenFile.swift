import CloudKitDevice
import Foundation

/// The saved tokens of a person: a file of mode 0600 in the configuration folder.
struct TokenFile {
    /// A saved token.
    struct Entry: Codable {
        var type: TokenKind
        /// The cloud to which the token is sent; nil for one that was saved when no cloud was configured, which goes to any.
        var endpoint: String?
        var token: String
    }

    /// `$XDG_CONFIG_HOME/cktool`, or `~/.config/cktool`.
    let path: String

    init(variables: [String: String] = ProcessInfo.processInfo.environment) {
        func setting(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        let folder = setting("XDG_CONFIG_HOME") ?? (setting("HOME") ?? NSHomeDirectory()) + "/.config"
        path = folder + "/cktool"
    }

    /// Returns the token of a kind for a cloud; nil where none is saved for it.
    func token(_ kind: TokenKind, for endpoint: String?) throws -> String? {
        let entries = try entries().filter { $0.type == kind }
        let match = entries.first { $0.endpoint == endpoint } ?? entries.first { $0.endpoint == nil }
        return match?.token
    }

    /// Saves a token of a kind for a cloud, in place of an older one.
    func save(_ token: String, _ kind: TokenKind, for endpoint: String?) throws {
        let kept = try entries().filter { $0.type != kind || $0.endpoint != endpoint }
        try write(kept + [Entry(type: kind, endpoint: endpoint, token: token)])
    }

    /// Removes the token of a kind that `token(_:for:)` returns.
    ///
    /// - Returns: Whether there was one.
    func remove(_ kind: TokenKind, for endpoint: String?) throws -> Bool {
        var entries = try entries()
        let index =
            entries.firstIndex { $0.type == kind && $0.endpoint == endpoint }
            ?? entries.firstIndex { $0.type == kind && $0.endpoint == nil }
        guard let index else { return false }
        entries.remove(at: index)
        if entries.isEmpty { try PrivateFile.remove(path) } else { try write(entries) }
        return true
    }

    private func entries() throws -> [Entry] {
        guard let bytes = try PrivateFile.read(path) else { return [] }
        do {
            return try JSONDecoder().decode([Entry].self, from: Data(bytes))
        } catch {
            throw ToolFailure("The file \(path) is not one of this tool. Move it away and save the tokens again.")
        }
    }

    private func write(_ entries: [Entry]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        if let slash = path.lastIndex(of: "/") { try PrivateFile.makeFolder(String(path[..<slash])) }
        try PrivateFile.replace(path, with: Array(try encoder.encode(entries)))
    }
}
