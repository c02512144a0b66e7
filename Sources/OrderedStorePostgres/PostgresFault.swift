/// A failure that a test injects at a statement.
enum PostgresFault: Hashable, Sendable {
    /// The server answers the statement with this SQLSTATE.
    case refused(String)
    /// The connection is lost before the statement reaches the server.
    case lostBefore
    /// The server runs the statement, and the connection is lost before its answer arrives.
    case lostAfter
}
