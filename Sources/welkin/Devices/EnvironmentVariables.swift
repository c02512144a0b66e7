import Foundation

/// The environment variables of this process; the name does not clash with a container's environment.
enum EnvironmentVariables {
    static var all: [String: String] { ProcessInfo.processInfo.environment }
}
