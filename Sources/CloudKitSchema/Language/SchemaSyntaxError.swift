import CloudKitModel

/// The first fault of a text in the schema language, with its place.
package struct SchemaSyntaxError: Error, Hashable, Sendable {
    /// The line, from 1.
    package var line: Int
    /// The column, in characters from 1.
    package var column: Int
    /// The fault, with the token that was met and those that were expected.
    package var message: String

    /// Creates an error at a place of the text.
    package init(line: Int, column: Int, message: String) {
        self.line = line
        self.column = column
        self.message = message
    }

    /// The failure of a request with the text.
    package var failure: RequestFailure {
        RequestFailure(
            .badRequest, "line \(line), column \(column): \(message)", remedy: "Correct the schema and try again.")
    }
}
