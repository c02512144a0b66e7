import Foundation

/// The variables of this process; a name that does not clash with a cloud's environment.
enum EnvironmentVariables {
    static var all: [String: String] { ProcessInfo.processInfo.environment }
}
