import CloudKit

/// A bar that grows in place on a terminal, and a line every quarter elsewhere.
struct ProgressBar {
    private let terminal: Terminal
    private let label: String
    private let total: Int
    private var done = 0
    private let start = ContinuousClock.now

    init(_ terminal: Terminal, _ label: String, total: Int) {
        self.terminal = terminal
        self.label = label
        self.total = max(1, total)
        if terminal.isInteractive { draw() }
    }

    mutating func advance(by count: Int = 1) {
        let before = done
        done = min(total, done + count)
        if terminal.isInteractive {
            draw()
        } else if done * 4 / total != before * 4 / total {
            terminal.row(label, "\(done.grouped) of \(total.grouped)", percent)
        }
    }

    /// Ends the bar's line.
    func finish() {
        if terminal.isInteractive { terminal.line() }
    }

    private var percent: String { "\(done * 100 / total) %" }

    private func draw() {
        let seconds = (ContinuousClock.now - start).seconds
        let rate = seconds > 0 ? Int(Double(done) / seconds).grouped + "/s" : ""
        let layout = Layout(columns: terminal.columns)
        terminal.write("\r\u{1B}[2K" + layout.progress(label, done: done, total: total, rate: rate))
    }
}
