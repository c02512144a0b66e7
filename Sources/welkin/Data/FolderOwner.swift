import Foundation

/// The user whom the files of a data folder belong to.
enum FolderOwner {
    /// Makes this process the owner of `folder` if it runs as root and the folder is another user's: files that root creates in it would
    /// be closed to the cloud.
    ///
    /// - Throws: `CommandFailure` if the change fails.
    static func become(ofFolder folder: String) throws {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard stat(folder, &status) == 0, status.st_uid != 0 else { return }
        guard setgroups(0, nil) == 0, setgid(status.st_gid) == 0, setuid(status.st_uid) == 0 else {
            throw CommandFailure("the data folder \(folder) belongs to user \(status.st_uid), who cannot be taken on")
        }
    }
}
