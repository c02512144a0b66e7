/// The reason why a store of files cannot do what was asked. It never holds a byte of a file.
package struct FileStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failure; a code exists only if a caller would act on it differently.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// There is no such file.
        case missing
        /// The draft does not end where the writer thought.
        case wrongOffset
        case diskFull
        /// The folder cannot be read or written: a failing disk, no permission.
        case unavailable
    }

    /// The kind of failure.
    package let code: Code
    /// The action that failed.
    package let action: String
    /// The system's number for the reason; 0 where there is none.
    package let number: Int32

    /// Creates a failure of an action, with the number of the system's error.
    package init(_ code: Code, _ action: String, number: Int32 = 0) {
        self.code = code
        self.action = action
        self.number = number
    }

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        "could not \(action): \(code.rawValue)" + (number == 0 ? "" : " (error number \(number))")
    }
}
