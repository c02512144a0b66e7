import Foundation

/// Where a sharing panel is shown.
public struct SharingPanelDisplay: Sendable {
    /// Shows the panel until it is closed.
    let show: @MainActor @Sendable (SharingPanel) async throws -> Void

    /// The browser where there is a desktop, else the terminal that the app runs in.
    public static let automatic = SharingPanelDisplay { panel in
        switch DesktopSession.current.kind {
        case .desktop:
            do {
                try await browser.show(panel)
            } catch let error as SharingPanelError {
                // A desktop without a browser may still have a terminal.
                guard DesktopSession.current.hasTerminal else { throw error }
                try await terminal.show(panel)
            }
        case .terminal: try await terminal.show(panel)
        case .none: throw SharingPanelError.noDisplay
        }
    }

    /// A page that `xdg-open` opens in the person's browser.
    public static let browser = page { try await DesktopSession.open($0) }

    /// Text in the terminal that the app runs in.
    public static let terminal = text(
        readLine: { await Terminal.readLine() }, write: { Terminal.write($0) })

    /// A page on this machine's loopback address.
    ///
    /// - Parameter open: Opens the URL in a browser of the same user on the same machine. Its fragment is a secret that works once: do not
    ///   print it into logs.
    public static func page(opening open: @escaping @Sendable (URL) async throws -> Void) -> SharingPanelDisplay {
        SharingPanelDisplay { panel in
            try await PagePanel(panel).run(opening: open)
        }
    }

    /// Text that another part of the app reads and writes.
    ///
    /// - Parameters:
    ///   - readLine: Returns the next line of the person; nil closes the panel.
    ///   - write: Shows text, which has its own line breaks.
    public static func text(
        readLine: @escaping @Sendable () async -> String?, write: @escaping @Sendable (String) -> Void
    ) -> SharingPanelDisplay {
        SharingPanelDisplay { panel in
            await TextPanel(panel, readLine: readLine, write: write).run()
        }
    }
}

/// The terminal of this process.
private enum Terminal {
    private static let queue = DispatchQueue(label: "org.welkin.CloudKitUI.terminal")

    static func readLine() async -> String? {
        await withCheckedContinuation { continuation in
            // Waits for the person on a thread of its own.
            queue.async { continuation.resume(returning: Swift.readLine()) }
        }
    }

    static func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
