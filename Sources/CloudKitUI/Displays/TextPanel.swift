/// A panel as text: shows what is shared, reads commands, and asks before someone loses access.
@MainActor
struct TextPanel {
    private let panel: SharingPanel
    private let readLine: @Sendable () async -> String?
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - readLine: Returns what the person typed next; nil at the end, which closes the panel.
    ///   - write: Shows text, without a line break at its end.
    init(
        _ panel: SharingPanel, readLine: @escaping @Sendable () async -> String?,
        write: @escaping @Sendable (String) -> Void
    ) {
        self.panel = panel
        self.readLine = readLine
        self.write = write
    }

    /// Shows the panel until the person closes it.
    func run() async {
        await panel.perform(.refresh)
        show(TextPanelLayout(panel.content).lines)
        while !panel.isClosed, panel.content.phase != .ended {
            write("> ")
            guard let line = await readLine() else { break }
            if panel.isClosed { break }
            await follow(line)
        }
        panel.close()
    }

    private func follow(_ line: String) async {
        do {
            switch try TextCommand.parse(line, panel.content) {
            case .nothing: break
            case .help: show(TextPanelLayout(panel.content).help)
            case .code:
                guard let address = panel.content.link?.address, let code = QRCode(Array(address.utf8)) else { return }
                show(code.lines)
            case .action(let action, let question):
                if let question, await !isConfirmed(question) { return show(["Nothing was changed."]) }
                let content = await panel.perform(action)
                if action != .close { show(TextPanelLayout(content).lines) }
            }
        } catch {
            show(["Not done: " + error.reason, error.remedy])
        }
    }

    private func isConfirmed(_ question: String) async -> Bool {
        write(TextPanelLayout.printable(question) + "\nType yes: ")
        return await readLine()?.lowercased() == "yes"
    }

    private func show(_ lines: [String]) { write(lines.joined(separator: "\n") + "\n") }
}
