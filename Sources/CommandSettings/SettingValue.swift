/// A value of a setting, as a file or an environment variable gives it.
package enum SettingValue: Hashable, Sendable {
    /// One text; numbers are the text that they are written as.
    case text(String)
    /// Whether a flag is on.
    case flag(Bool)
    /// Several texts, for an option that may be repeated.
    case list([String])
}
