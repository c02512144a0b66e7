/// A report of what happened, as it waits in a buffer.
///
/// It holds what was at hand, as it was at hand. The writer makes the entry and the line of it, so that requests do not wait for that.
package protocol LogReport: Sendable {
    /// Returns the entry for the log; nil where none is kept.
    func makeEntry() -> LogEntry?

    /// Returns the line for the operator's log of lines; nil where none is wanted.
    func makeLine() -> ReportLine?
}

extension LogEntry: LogReport {
    /// Returns itself.
    package func makeEntry() -> LogEntry? { self }

    /// Returns nil: whoever reports such an entry has written a line already, where one is wanted.
    package func makeLine() -> ReportLine? { nil }
}

/// A line of the operator's log of lines.
package struct ReportLine: Hashable, Sendable {
    /// The weight of a line.
    package enum Level: Hashable, Sendable {
        case debug, info, error
    }

    /// Milliseconds since 1970.
    package var time: Int64
    /// The weight.
    package var level: Level
    /// The words for what happened.
    package var message: String
    /// Named values, in the order of their names.
    package var values: [Value]

    /// A named value.
    package struct Value: Hashable, Sendable {
        /// The name.
        package var name: String
        /// The value.
        package var text: String

        /// Creates a value.
        package init(_ name: String, _ text: String) {
            self.name = name
            self.text = text
        }
    }

    /// Creates a line.
    package init(time: Int64, level: Level, message: String, values: [Value]) {
        self.time = time
        self.level = level
        self.message = message
        self.values = values
    }
}
