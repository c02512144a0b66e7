/// Why a store of files cannot do what was asked. It never holds a byte of a file.
package struct FileStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// There is no such file.
        case missing
        /// The draft does not end where the writer thought.
        case wrongOffset
        case diskFull
        /// The folder cannot be read or written: a failing disk, no permission.
        case unavailable
    }

    package let code: Code
    /// What was being done.
    package let action: String
    /// The system's number for the reason; 0 where there is none.
    package let number: Int32

    package init(_ code: Code, _ action: String, number: Int32 = 0) {
        self.code = code
        self.action = action
        self.number = number
    }

    package var description: String {
        "could not \(action): \(code.rawValue)" + (number == 0 ? "" : " (error number \(number))")
    }
}
