/// The reason why a card, or a part of the file, was skipped.
struct VCardProblem: Error, Hashable, CustomStringConvertible {
    /// The line of the file, from 1.
    var line: Int
    var reason: String

    var description: String { "line \(line): \(reason)" }
}
