/// The version of the program, as `/health`, the metrics and `welkin --version` show it.
package enum BuildVersion {
    /// The version of the newest release, and what was built after it.
    package static let text = "0.1.0-dev"
}
