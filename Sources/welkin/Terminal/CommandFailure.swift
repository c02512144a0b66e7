/// What a command could not do, with what to do about it; the way it was called was right.
struct CommandFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
