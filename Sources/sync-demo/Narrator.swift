import CloudKit

/// Tells what happens, and asks whoever runs the cloud to stop and start it.
enum Narrator {
    static func heading(_ text: String) { write("== \(text)\n", to: .standardOutput) }
    static func tell(_ text: String) { write("   \(text)\n", to: .standardOutput) }
    static func complain(_ text: String) { write("sync-demo: \(text)\n", to: .standardError) }

    /// `label` and what it took, below one another.
    static func tell(_ label: String, after duration: Duration) {
        let time = (duration / .seconds(1)).formatted(.number.precision(.fractionLength(2)))
        tell(label.padding(toLength: max(56, label.count), withPad: " ", startingAt: 0) + " \(time) s")
    }

    /// Has the cloud stopped or started, and waits until that is done.
    static func askFor(_ order: String, _ explanation: String) throws {
        write("@\(order) \(explanation), then press return\n", to: .standardOutput)
        guard readLine() != nil else { throw Unexpected("Nobody is there to \(order) the cloud.") }
    }

    private static func write(_ text: String, to handle: FileHandle) { handle.write(Data(text.utf8)) }
}

/// Something that should not be.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
