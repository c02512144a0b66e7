import CloudKitModel
import TextEncodings

/// The form of a page's path, such as `containers/{container}/{environment}/zones`.
struct PagePath: Hashable, Sendable {
    private let parts: [Part]

    private enum Part: Hashable {
        case literal(String)
        case parameter(String)
    }

    /// - Parameter text: Parts in braces are parameters.
    init(_ text: String) {
        parts = text.split(separator: "/").map { part in
            part.hasPrefix("{") ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }

    /// Whether the page belongs to a container and environment.
    var hasContainer: Bool { parts.contains(.parameter("container")) }

    /// Returns the values of the parameters in a path; nil for a path of another form.
    ///
    /// - Parameter path: What follows the path of the Console, percent-encoded.
    func match(_ path: Substring) -> [String: String]? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: true)
        guard segments.count == parts.count else { return nil }
        var values: [String: String] = [:]
        for (part, segment) in zip(parts, segments) {
            guard let text = String(percentEncoded: segment.utf8) else { return nil }
            switch part {
            case .literal(let literal): guard literal == text else { return nil }
            case .parameter(let name): values[name] = text
            }
        }
        return values
    }

    /// Returns the address with parameters in their places; nil where one is missing.
    func address(_ values: [String: String]) -> Address? {
        var segments: [String] = []
        for part in parts {
            switch part {
            case .literal(let literal): segments.append(literal)
            case .parameter(let name):
                guard let value = values[name] else { return nil }
                segments.append(value)
            }
        }
        return Address(segments: segments)
    }
}
