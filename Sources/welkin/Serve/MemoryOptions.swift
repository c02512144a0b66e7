import ArgumentParser
import CloudKitHTTP

/// The limits of the memory that requests and answers hold.
struct MemoryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The bytes that all answers under way may hold until clients have read them; 128 MiB by default. One user has half of them.",
            valueName: "n"))
    var answersBytesMax: Int?

    @Option(
        help: ArgumentHelp(
            "The bytes that all bodies of requests under way may hold; 128 MiB by default. One user has a quarter of them, requests without a user an eighth.",
            valueName: "n"))
    var bodiesBytesMax: Int?

    /// Below this the largest answers and bodies would not fit into the part of one user.
    private static let bytesMin = 16 * 1024 * 1024

    func validate() throws {
        for (name, bytes) in [("--answers-bytes-max", answersBytesMax), ("--bodies-bytes-max", bodiesBytesMax)] {
            if let bytes, bytes < Self.bytesMin {
                throw ValidationError("\(name) is \(Self.bytesMin) (16 MiB) or more.")
            }
        }
    }

    /// Sets the limits that the operator gave.
    func apply(to configuration: inout CloudConfiguration) {
        if let answersBytesMax { configuration.answersBytesMax = answersBytesMax }
        if let bodiesBytesMax {
            configuration.bodies.heldBytesMax = bodiesBytesMax
            configuration.bodies.strangerHeldBytesMax = bodiesBytesMax / 8
        }
    }
}
