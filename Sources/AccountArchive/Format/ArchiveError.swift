import CloudKitClient
import CloudKitDevice

/// The reason why an export or an import stops.
package enum ArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The folder of the export exists already.
    case folderExists(String)
    /// There is no manifest: the folder is no export, or one that was not finished.
    case notAnExport(String)
    /// The manifest cannot be read, or a later version wrote it.
    case manifestUnreadable(String)
    case versionUnknown(Int)
    /// The earlier export is one of another account.
    case otherAccount(String)
    /// A file is missing, or has other bytes than the manifest says.
    case damaged(file: String, reason: String)
    /// A file of the folder could not be read or written.
    case fileFailed(path: String, FileFailure)
    /// The cloud to import into lacks containers.
    case containersMissing([String])
    /// The account has no more space.
    case quotaExceeded(container: String, imported: Int)
    /// The cloud did not answer, or refused everything.
    case failed(container: String, reason: String)

    /// What happened, and what to do.
    package var description: String {
        switch self {
        case .folderExists(let path):
            "\(path) exists already; name a folder that does not exist, nothing is overwritten"
        case .notAnExport(let path):
            "\(path) has no manifest.json: it is no export, or one that was not finished; export again into another folder"
        case .manifestUnreadable(let reason): "manifest.json cannot be read: \(reason)"
        case .versionUnknown(let version):
            "the export has the format \(version), which this program does not know; use a newer version of welkin"
        case .otherAccount(let other): "the earlier export is that of \(other); name one of this account at this cloud"
        case .damaged(let file, let reason): "the export is damaged: \(file) \(reason); nothing was imported"
        case .fileFailed(let path, let failure): "\(path): \(failure)"
        case .containersMissing(let names):
            "the cloud does not have \(names.joined(separator: ", ")); ask its operator to create "
                + "\(names.count == 1 ? "it" : "them") with welkin token create, or leave "
                + "\(names.count == 1 ? "it" : "them") out with --skip-missing"
        case .quotaExceeded(let container, let imported):
            "the storage of the account is full: \(imported) records of \(container) were imported before; make room or ask the operator "
                + "for more, then import again, which goes on"
        case .failed(let container, let reason): "\(container): \(reason)"
        }
    }
}

extension ArchiveError {
    /// The error of a call about a container.
    init(_ error: any Error, container: String) {
        switch error {
        case let error as ArchiveError: self = error
        case let error as CallFailure: self = .failed(container: container, reason: error.sentence)
        default: self = .failed(container: container, reason: "\(error)")
        }
    }
}

extension CallFailure {
    /// The failure in words for people; it holds no values of fields.
    var sentence: String {
        switch self {
        case .refused(let failure):
            [failure.reason, failure.remedy].compactMap(\.self).joined(separator: "; ") + " (\(failure.code.rawValue))"
        case .limitExceeded(let reason), .invalidArguments(let reason), .beyondWebServices(let reason),
            .misconfigured(let reason), .accountUnusable(let reason), .keysMissing(let reason),
            .waitingForKey(let reason), .tampered(let reason), .identityUnconfirmed(let reason),
            .accountVerificationRequired(let reason),
            .assetFileNotFound(let reason), .assetFileModified(let reason), .assetNotAvailable(let reason),
            .assetDamaged(let reason):
            reason
        case .notSignedIn: "nobody is signed in on this device; sign in with welkin login"
        case .accountChanged: "another user has signed in meanwhile; begin again"
        case .keysReplaced: "the account's keys were reset meanwhile; begin again"
        case .lostVersion(let record, _): "the restored cloud has an older version of the record \(record)"
        case .earlierState(let item): "the restored cloud has an earlier state than this device has seen: \(item)"
        case .rateLimited(let time): "the cloud asks to wait for \(time.components.seconds) seconds"
        case .transport(let failure, _): "the cloud did not answer (\(failure)); try again"
        case .deadlineExceeded: "it took too long"
        case .cancelled: "it was cancelled"
        case .profileUnusable(let failure): "the profile of this device cannot be used: \(failure)"
        case .assetCacheUnusable(let failure): "the folder for files that are fetched cannot be used: \(failure)"
        case .answerMalformed(let status): "the answer was not one of a cloud (HTTP status \(status))"
        }
    }
}
