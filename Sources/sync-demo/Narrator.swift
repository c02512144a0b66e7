import CloudKit

/// The output of the demo, and its requests to stop and start the cloud.
enum Narrator {
    static func heading(_ text: String) { write("== \(text)\n", to: .standardOutput) }
    static func report(_ text: String) { write("   \(text)\n", to: .standardOutput) }
    static func fail(_ text: String) { write("sync-demo: \(text)\n", to: .standardError) }

    /// Prints a label and a duration, in columns.
    static func report(_ label: String, after duration: Duration) {
        let time = (duration / .seconds(1)).formatted(.number.precision(.fractionLength(2)))
        report(label.padding(toLength: max(56, label.count), withPad: " ", startingAt: 0) + " \(time) s")
    }

    /// Asks for the cloud to be stopped or started, and waits until that is done.
    static func askFor(_ order: String, _ explanation: String) throws {
        write("@\(order) \(explanation), then press return\n", to: .standardOutput)
        guard readLine() != nil else {
            throw Unexpected("Standard input is closed; the cloud cannot be asked to \(order).")
        }
    }

    private static func write(_ text: String, to handle: FileHandle) { handle.write(Data(text.utf8)) }
}

/// An unexpected state, which ends the demo.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
