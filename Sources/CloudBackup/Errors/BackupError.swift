import Foundation

/// The reason why a backup cannot be taken, read or restored. It holds no content of a backup and no secrets.
package struct BackupError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failure; a code exists only if a caller would act on it differently.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The place holds something else.
        case notABackup
        /// A later version of Welkin wrote the backup.
        case newerFormat
        /// The backup is sealed, and no passphrase was given.
        case passphraseMissing
        /// The passphrase is another one.
        case passphraseWrong
        /// A passphrase or key was given for a backup that is not sealed with one.
        case notSealed
        /// The backup is sealed to a recipient, and its private key was not given.
        case keyMissing
        /// The private key is another one.
        case keyWrong
        /// The file is no private key.
        case keyUnusable
        /// The text is no recipient, or not that of the backup.
        case recipientUnusable
        /// There is no such moment.
        case noSuchMoment
        /// Something in the backup is missing or changed.
        case damaged
        case diskFull
        case noPermission
        /// Another process works on the backup, or backs up the same cloud.
        case busy
        /// The folder to restore to is not empty.
        case notEmpty
        /// The backup and the data folder lie one in the other.
        case insideData
        /// The newest moment is of another cloud.
        case otherCloud
        /// The system refused something else.
        case unavailable
    }

    /// The kind of failure.
    package let code: Code
    /// A fixed sentence that says what happened.
    package let reason: String
    /// An action that solves the problem.
    package let remedy: String
    /// Values that belong to the reason, such as a path.
    package let details: [String: String]

    /// Creates a value with the given properties.
    package init(_ code: Code, reason: String, remedy: String, details: [String: String] = [:]) {
        self.code = code
        self.reason = reason
        self.remedy = remedy
        self.details = details
    }

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        let values = details.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
        return "\(reason)\(values.isEmpty ? "" : " (\(values))"): \(remedy)"
    }
}

extension BackupError {
    /// The error of a call that the system refused.
    ///
    /// - Parameter number: The number of the system's error.
    init(system number: Int32, _ action: String, path: String) {
        let details = ["path": path, "error": String(cString: strerror(number))]
        switch number {
        case ENOSPC, EDQUOT:
            self.init(
                .diskFull, reason: "the disk is full, could not \(action)",
                remedy: "free space, or remove old moments with welkin backup prune; finished moments are whole",
                details: details)
        case EACCES, EPERM, EROFS:
            self.init(
                .noPermission, reason: "could not \(action)",
                remedy: "give this user permission to the folder, or run the command as its owner", details: details)
        default:
            self.init(
                .unavailable, reason: "could not \(action)", remedy: "check the disk and the path, then try again",
                details: details)
        }
    }

    static func notABackup(_ path: String, remedy: String = "name the place of a backup") -> Self {
        Self(.notABackup, reason: "the place is not a backup of Welkin", remedy: remedy, details: ["path": path])
    }

    static func newerFormat(_ format: Int, path: String) -> Self {
        Self(
            .newerFormat, reason: "a later version of Welkin wrote the backup",
            remedy: "use that version or a later one", details: ["path": path, "format": String(format)])
    }

    static func passphraseMissing(_ path: String) -> Self {
        Self(
            .passphraseMissing, reason: "the backup is sealed with a passphrase",
            remedy: "name the file that holds it with --passphrase-file", details: ["path": path])
    }

    static func passphraseWrong(_ path: String) -> Self {
        Self(
            .passphraseWrong, reason: "the passphrase does not open the backup",
            remedy: "use the passphrase with which the backup was begun", details: ["path": path])
    }

    static func notSealed(_ path: String) -> Self {
        Self(
            .notSealed, reason: "the backup was begun without a passphrase and is not sealed",
            remedy: "leave --passphrase-file out, or begin a sealed backup at another place", details: ["path": path])
    }

    static func keyMissing(_ path: String, _ action: String) -> Self {
        Self(
            .keyMissing, reason: "the backup is sealed to a recipient, and cannot be \(action) without the private key",
            remedy: "name the file that welkin backup key new made with --key-file", details: ["path": path])
    }

    static func keyWrong(_ path: String) -> Self {
        Self(
            .keyWrong, reason: "the private key does not open the backup",
            remedy: "use the key of the recipient with which the backup was begun", details: ["path": path])
    }

    static func noWritingKey(_ path: String) -> Self {
        Self(
            .keyMissing,
            reason:
                "this machine has no writing key of the backup, which another one began, or its header was exchanged",
            remedy: "name the private key with --key-file once, or begin a backup at another place",
            details: ["path": path])
    }

    static func otherRecipient(_ path: String) -> Self {
        Self(
            .recipientUnusable, reason: "the backup was begun for another recipient, or for none",
            remedy: "leave --recipient out, or begin a backup at another place", details: ["path": path])
    }

    static func noSuchMoment(_ name: String, path: String) -> Self {
        Self(
            .noSuchMoment, reason: "the backup has no such moment",
            remedy: "list the moments with: welkin backup list \(path)", details: ["moment": name])
    }

    static func damaged(_ part: String, _ problem: String) -> Self {
        Self(
            .damaged, reason: "the backup is damaged",
            remedy: "restore another moment, or from another backup; welkin backup verify names all that is damaged",
            details: ["part": part, "problem": problem])
    }

    /// The error of a backup that another process changes.
    package static func busy(_ path: String) -> Self {
        Self(
            .busy, reason: "another process works on the backup",
            remedy: "wait until it has finished; in a bucket its lease ends ten minutes after it died",
            details: ["path": path])
    }

    static func notEmpty(_ path: String) -> Self {
        Self(
            .notEmpty, reason: "the folder to restore to is not empty",
            remedy: "name an empty or new folder; move the old one away first", details: ["path": path])
    }
}
