import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What this process can show a panel on.
struct DesktopSession: Hashable {
    enum Kind: Hashable {
        case desktop, terminal, none
    }

    /// Whether a graphical desktop runs whose programs this one can start.
    let hasDesktop: Bool
    /// Whether a person reads this program's output and types its input.
    let hasTerminal: Bool

    /// - Parameters:
    ///   - variables: The environment of the process.
    ///   - isProgram: Returns whether there is a program of this path.
    init(variables: [String: String], hasTerminal: Bool, isProgram: (String) -> Bool) {
        let isGraphical = ["WAYLAND_DISPLAY", "DISPLAY"].contains { variables[$0].map { !$0.isEmpty } ?? false }
        hasDesktop = isGraphical && Self.opener(variables: variables, isProgram: isProgram) != nil
        self.hasTerminal = hasTerminal
    }

    var kind: Kind { hasDesktop ? .desktop : hasTerminal ? .terminal : .none }

    static var current: DesktopSession {
        DesktopSession(
            variables: ProcessInfo.processInfo.environment, hasTerminal: isatty(0) == 1 && isatty(1) == 1,
            isProgram: FileManager.default.isExecutableFile(atPath:))
    }

    private static func opener(variables: [String: String], isProgram: (String) -> Bool) -> String? {
        (variables["PATH"] ?? "").split(separator: ":").map { $0 + "/xdg-open" }.first { isProgram($0) }
    }

    /// Opens a page in the person's browser.
    static func open(_ url: URL) async throws {
        let isProgram = FileManager.default.isExecutableFile(atPath:)
        let opener = opener(variables: ProcessInfo.processInfo.environment, isProgram: isProgram)
        guard let opener else { throw SharingPanelError.pageNotOpened("xdg-open is not installed") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: opener)
        process.arguments = [url.absoluteString]
        // What browsers print is not the app's output.
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: SharingPanelError.pageNotOpened(error.localizedDescription))
            }
        }
        withExtendedLifetime(process) {}
        guard status == 0 else { throw SharingPanelError.pageNotOpened("xdg-open ended with status \(status)") }
    }
}
