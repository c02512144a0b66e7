/// The reason why a store of files cannot do what was asked. It never holds a byte of a file.
package struct FileStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failure; a code exists only if a caller would act on it differently.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// There is no such file.
        case missing
        /// The draft does not end where the writer thought.
        case wrongOffset
        case diskFull
        /// Bytes of the file are damaged; other files can be read.
        case damaged
        /// The store of files cannot be read or written: a failing disk, no permission, a service that does not answer.
        case unavailable
    }

    /// The kind of failure.
    package let code: Code
    /// The action that failed.
    package let action: String
    /// The system's number for the reason; 0 where there is none.
    package let number: Int32
    /// The reason and what to do about it, where more is known than the code says; it has no secrets.
    package let detail: String

    /// Creates a failure of an action.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - action: The action that failed, such as "read a file".
    ///   - number: The number of the system's error; 0 where there is none.
    ///   - detail: The reason and what to do about it; empty where the code says all.
    package init(_ code: Code, _ action: String, number: Int32 = 0, detail: String = "") {
        self.code = code
        self.action = action
        self.number = number
        self.detail = detail
    }

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        "could not \(action): \(code.rawValue)" + (number == 0 ? "" : " (error number \(number))")
            + (detail.isEmpty ? "" : ": \(detail)")
    }
}
