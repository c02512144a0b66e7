/// The error of a command that was called correctly but failed, with what to do.
struct ToolFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
