import ArgumentParser
import CloudKitDevice
import Foundation

/// The option for a token on the command line, where other users of the machine can see it.
struct TokenOption: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help:
            "The token for this call. Other users of this machine can see arguments; a variable or save-token is safer."
    )
    var token: String?

    /// Finds the token of a kind: the option, the environment variable, the saved one.
    ///
    /// - Throws: `ValidationError` where there is none.
    func find(_ kind: TokenKind, for endpoint: String) throws -> String {
        guard let token = try findOptional(kind, for: endpoint) else {
            throw ValidationError(
                "No \(kind.rawValue) token found in arguments, \(kind.variable) environment variable, or built-in "
                    + "methods. (See: save-token)")
        }
        return token
    }

    /// Finds the token of a kind; nil where there is none.
    func findOptional(_ kind: TokenKind, for endpoint: String) throws -> String? {
        let variables = ProcessInfo.processInfo.environment
        let given = token ?? variables[kind.variable].flatMap { $0.isEmpty ? nil : $0 }
        guard let found = try given ?? TokenFile(variables: variables).token(kind, for: endpoint) else { return nil }
        return try Self.check(found)
    }

    /// Returns a token without space around it.
    ///
    /// - Throws: `ValidationError` for what cannot be a token.
    static func check(_ text: String) throws -> String {
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !token.isEmpty, token.utf8.count <= 4096, token.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw ValidationError(
                "That is not a token: it is empty, too long, or has spaces or other characters in it.")
        }
        return token
    }
}
