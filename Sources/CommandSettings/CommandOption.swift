/// An option of a command, as far as settings need to know it.
package struct CommandOption: Hashable, Sendable {
    /// The kinds of options.
    package enum Kind: Hashable, Sendable {
        /// Given or not, without a value.
        case flag
        /// With one value.
        case value
        /// With one value each time that it is given.
        case repeated
    }

    /// The name without the two hyphens before it.
    package var name: String
    /// The kind.
    package var kind: Kind
    /// The value that applies when nothing sets the option; nil: none.
    package var defaultValue: String?

    /// Creates a value with the given properties.
    package init(name: String, kind: Kind, defaultValue: String? = nil) {
        self.name = name
        self.kind = kind
        self.defaultValue = defaultValue
    }

    /// The environment variable that sets the option: `WELKIN_LOG_DAYS` for `log-days`.
    package var variable: String {
        "WELKIN_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }
}
